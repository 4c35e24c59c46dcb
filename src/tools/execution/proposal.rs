//! A plan before its execution: confirmation by the user, comparison with the current cluster, and a new plan if the
//! cluster has changed.

use std::ops::ControlFlow::{self, Break, Continue};

use anyhow::bail;

use super::fresh::{announce, read_again};
use super::present::shown;
use super::saving::{PlanToSave, save_plan};
use super::{
    Consent, ExecutionContext, ExecutionOrder, FinishedRun, ask, carry_out, client, conclude, failures,
    history, listen,
};
use crate::execute::journal::OnFailure;
use crate::execute::{Ending, JobClient};
use crate::model::shown::shown_name;
use crate::model::{Cluster, GroupIdx, Immobile, Step};
use crate::plan::fresh::{differences, repeated_name};
use crate::plan::graph::StepIdx;
use crate::plan::work::Work;
use crate::report::form::json::Printout;
use crate::search::Stopped;
use crate::tools::ExitStatus;
use crate::tools::options::LoadOptions;
use crate::tools::output::Output;

/// Most plans made because the cluster keeps changing.
const ATTEMPTS: usize = 5;

/// Makes plans, and new ones if the cluster changes.
pub(crate) trait Planner {
    /// A plan, with the cluster that it was made for.
    type Plan;
    /// Outcome if no plan is executed.
    type End;

    /// Options for reading the cluster.
    fn load(&self) -> &LoadOptions;
    fn output(&mut self) -> &mut Output;
    /// Checks whether a plan may be executed at all, and asks the user unless that is switched off.
    fn consider(&mut self, plan: &mut Self::Plan) -> anyhow::Result<ControlFlow<Self::End>>;
    /// Obstacles to a plan on the current cluster, one per line.
    fn changes(&mut self, plan: &Self::Plan, now: &Cluster) -> anyhow::Result<Vec<String>>;
    /// Shows the output that appears only once, for the last plan.
    fn show_last(&mut self, plan: &mut Self::Plan) -> anyhow::Result<()>;
    /// Makes another plan for the same goal.
    fn anew(&mut self, plan: Self::Plan, now: Cluster) -> anyhow::Result<ControlFlow<Self::End, Self::Plan>>;
}

/// Returns a plan that fits the current cluster: the first one, or a replacement.
///
/// # Errors
/// If the cluster keeps changing, and errors of the planner.
pub(crate) fn fitting<P: Planner>(
    planner: &mut P,
    mut plan: P::Plan,
) -> anyhow::Result<ControlFlow<P::End, P::Plan>> {
    for attempt in 1..=ATTEMPTS {
        let again = attempt < ATTEMPTS;
        if let Break(end) = planner.consider(&mut plan)? {
            return Ok(Break(end));
        }
        let now = read_again(planner.load())?;
        let changes = planner.changes(&plan, &now)?;
        if changes.is_empty() || !again {
            planner.show_last(&mut plan)?;
        }
        if changes.is_empty() {
            return Ok(Continue(plan));
        }
        announce(&changes, again, planner.output())?;
        if again {
            plan = match planner.anew(plan, now)? {
                Continue(plan) => plan,
                end => return Ok(end),
            };
        }
    }
    Err(RestlessCluster.into())
}

/// The cluster has changed each time a plan was ready.
#[derive(Debug, thiserror::Error)]
#[error("nothing was executed, because the cluster changed each time a plan was ready")]
struct RestlessCluster;

/// A complete plan of a tool, executed as one run.
pub(crate) struct Proposal {
    /// The cluster before the first step.
    pub before: Cluster,
    /// The groups that it touches.
    pub groups: Vec<GroupIdx>,
    pub work: Work,
    /// Start of the opcodes' comments, in front of the version: `rebalancing via hbal`.
    pub purpose: String,
    /// UUID of the only group whose instances move; empty if there are several.
    pub group: String,
    /// Question to the user on a terminal.
    pub question: String,
    /// Cause of an early end of the search, if any.
    pub stopped: Option<Stopped>,
    /// The document of `--json`. It is printed late because there can be only one, and the plan may be replaced.
    pub document: Option<Printout>,
    /// True if the plan achieves everything that was requested.
    pub complete: bool,
    /// Exit status if the plan is not executed.
    pub status: ExitStatus,
}

/// Outcome of planning: a plan to execute, or the exit status.
pub(crate) type Planned = ControlFlow<ExitStatus, Box<Proposal>>;

impl Proposal {
    fn to_save(&self) -> PlanToSave<'_> {
        let Proposal { before, groups, group, purpose, work, .. } = self;
        PlanToSave { before, groups, group, purpose, work }
    }

    fn show_document(&mut self, output: &mut Output) -> anyhow::Result<()> {
        self.document.take().map_or(Ok(()), |document| Ok(document.print(output.stdout())?))
    }
}

struct Proposing<'a, F> {
    context: &'a ExecutionContext<'a>,
    output: &'a mut Output,
    plan: F,
}

impl<F: FnMut(Cluster, &mut Output) -> anyhow::Result<Planned>> Planner for Proposing<'_, F> {
    type Plan = Box<Proposal>;
    type End = ExitStatus;

    fn load(&self) -> &LoadOptions {
        self.context.load
    }

    fn output(&mut self) -> &mut Output {
        self.output
    }

    fn consider(&mut self, plan: &mut Box<Proposal>) -> anyhow::Result<ControlFlow<ExitStatus>> {
        self.output.flush()?;
        let why = if plan.stopped == Some(Stopped::Interrupt) {
            "Nothing was executed, because the search was interrupted."
        } else if let Some(name) = plan.groups.iter().find_map(|group| repeated_name(&plan.before, *group)) {
            let name = shown_name(name).to_string();
            plan.show_document(self.output)?;
            self.output.flush()?;
            bail!("{}: nothing was executed, because two instances are called '{name}'", self.context.tool);
        } else if !self.context.execution.yes && ask(&plan.question, self.output)? == Consent::No {
            "Nothing was executed."
        } else {
            return Ok(Continue(()));
        };
        plan.show_document(self.output)?;
        self.output.error_line(why)?;
        Ok(Break(ExitStatus::Failure))
    }

    fn changes(&mut self, plan: &Self::Plan, now: &Cluster) -> anyhow::Result<Vec<String>> {
        let Proposal { before, groups, work, group, .. } = &**plan;
        let found: Vec<String> = groups.iter().flat_map(|group| differences(before, *group, now)).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let all: Vec<StepIdx> = work.all().collect();
        let ExecutionContext { obstacle, ignore_soft_errors, .. } = self.context;
        Ok(obstacle(work, &all, group, *ignore_soft_errors, now).into_iter().collect())
    }

    fn show_last(&mut self, plan: &mut Box<Proposal>) -> anyhow::Result<()> {
        plan.show_document(self.output)
    }

    fn anew(&mut self, _: Box<Proposal>, now: Cluster) -> anyhow::Result<Planned> {
        (self.plan)(now, self.output)
    }
}

/// Makes a plan and, with `--exec`, executes it as one run.
///
/// # Errors
/// Obstacles to making or starting it, and failures of the run.
pub(crate) fn plan_and_execute(
    context: &ExecutionContext<'_>,
    cluster: Cluster,
    mut plan: impl FnMut(Cluster, &mut Output) -> anyhow::Result<Planned>,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let ExecutionContext { tool, load, .. } = *context;
    let mut make = |cluster, output: &mut Output| -> anyhow::Result<Planned> {
        let mut planned = plan(cluster, output)?;
        if let Continue(proposal) = &mut planned {
            let ExecutionContext { execution, silent, .. } = context;
            if let Some(document) = shown(execution, &proposal.work, *silent, output)? {
                proposal.document = Some(Printout::Text(document));
            }
            if let Some(path) = &execution.save_plan {
                save_plan(context, &proposal.to_save(), path)?;
                output.error_line(&format!("The plan has been written to '{}'", path.display()))?;
            }
        }
        Ok(planned)
    };
    let mut first = match make(cluster, output)? {
        Continue(first) => first,
        Break(status) => return Ok(status),
    };
    if !context.execution.exec {
        first.show_document(output)?;
        return Ok(first.status);
    }
    output.flush()?;
    let mut client = client(&load.source)?;
    let fits = fitting(&mut Proposing { context, output: &mut *output, plan: &mut make }, first);
    let named =
        |error: anyhow::Error| if error.is::<RestlessCluster>() { error.context(tool) } else { error };
    let plan = match fits.map_err(named)? {
        Continue(plan) => plan,
        Break(status) => return Ok(status),
    };
    let complete = plan.complete;
    let (done, status) = carry_out_and_replan(context, plan, &mut *client, &mut make, output)?;
    Ok(match (done && context.detailed_status, complete) {
        // Everything in the plan is done, but the plan did not cover the whole request.
        (_, false) => ExitStatus::Failure,
        (true, true) => ExitStatus::Done,
        (false, true) => status,
    })
}

/// Executes a plan. If steps fail and `--on-failure=replan` is given, plans the rest again without the instances of
/// the failed steps. Returns whether everything is done, and the exit status.
fn carry_out_and_replan(
    context: &ExecutionContext<'_>,
    mut plan: Box<Proposal>,
    client: &mut dyn JobClient,
    make: &mut impl FnMut(Cluster, &mut Output) -> anyhow::Result<Planned>,
    output: &mut Output,
) -> anyhow::Result<(bool, ExitStatus)> {
    output.flush()?;
    let ExecutionContext { tool, execution, .. } = *context;
    let signals = listen(context.silent)?;
    let replans = if execution.on_failure == Some(OnFailure::Replan) { execution.replans() } else { 0 };
    let (mut failed, mut told): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for number in 1.. {
        let score = Some(history::score(&plan.before, &plan.group));
        let order = ExecutionOrder { purpose: plan.purpose, group: plan.group, score, work: plan.work };
        let finished = carry_out(order, client, &context.stage(&signals, number), output)?;
        if finished.report.ending != Ending::Failed || number > replans {
            if finished.report.ending == Ending::Done && !told.is_empty() {
                conclude(&finished, context.silent, output)?;
                break;
            }
            let status = conclude(&finished, context.silent, output)?;
            return Ok((finished.report.ending == Ending::Done, status));
        }
        told.push(failures(&finished));
        failed.extend(subjects(&finished));
        output.error_line(&format!("{}; making another plan for the rest", failures(&finished)))?;
        let now = excluding(read_again(context.load)?, &failed);
        let Continue(next) = make(now, output)? else { break };
        let mut again = |now, output: &mut Output| make(excluding(now, &failed), output);
        let mut planner = Proposing { context, output: &mut *output, plan: &mut again };
        let Continue(next) = fitting(&mut planner, next)? else { break };
        plan = next;
    }
    bail!("{tool}: Not all jobs completed successfully: {}; the rest was planned again", told.join("; "))
}

/// Subjects of the steps that failed.
fn subjects(finished: &FinishedRun) -> impl Iterator<Item = String> {
    let failed = finished.report.failed(&finished.header.work).map(|(step, ..)| step - 1);
    failed.map(|at| finished.header.work.steps[at].subject.clone())
}

/// A cluster in which the named instances must not move.
fn excluding(mut cluster: Cluster, names: &[String]) -> Cluster {
    let named = cluster.instances.iter_mut().filter(|instance| names.contains(&instance.name));
    named.for_each(|instance| instance.immobile = Some(Immobile::Excluded));
    cluster
}

/// The groups that moves touch.
pub(crate) fn touched_groups(cluster: &Cluster, steps: &[Step]) -> Vec<GroupIdx> {
    let mut groups: Vec<GroupIdx> =
        steps.iter().map(|step| step.groups(cluster)).flat_map(<[GroupIdx; 2]>::from).collect();
    groups.sort();
    groups.dedup();
    groups
}
