//! Executes plans group by group. Each plan is first compared with the current cluster. Nodes that are powered up are
//! balanced once their properties are known.

use std::ops::ControlFlow::{self, Break, Continue};

use anyhow::bail;

use super::HsqueezeOptions;
use super::planning::{Planning, show_text};
use crate::execute::signals::Signals;
use crate::execute::{Ending, JobClient, StepReport, StepState};
use crate::model::shown::shown_name;
use crate::model::{Cluster, NodeIdx};
use crate::plan::durations::{LegKind, ways};
use crate::plan::fresh::{differences, repeated_name};
use crate::plan::graph::StepIdx;
use crate::plan::switching;
use crate::plan::work::{Task, Work, WorkStep};
use crate::report::squeeze::text::GroupResult;
use crate::search::squeeze::{Decision, GroupPlan, Squeeze};
use crate::tools::ExitStatus;
use crate::tools::execution::{
    Confirmation, ExecutionContext, ExecutionOrder, ExecutionStage, FinishedRun, Planner, carry_out,
    conclude, failures, fitting, history, read_again, take_back, violation,
};
use crate::tools::hint::{Complaint, WithHint};
use crate::tools::options::LoadOptions;
use crate::tools::output::Output;

/// Most failed attempts to power up nodes. After each, other nodes are tried.
const POWER_UPS: usize = 3;

/// Results and problems of a run.
#[derive(Default)]
pub(super) struct HsqueezeEnd {
    pub results: Vec<GroupResult>,
    /// One line each.
    pub problems: Vec<Complaint>,
    /// Set if the run was asked to stop.
    pub stopped: Option<ExitStatus>,
}

/// All runs of a command.
pub(super) struct SqueezeRun<'a> {
    options: &'a HsqueezeOptions,
    planning: &'a Planning<'a>,
    client: &'a mut dyn JobClient,
    signals: &'a Signals,
    output: &'a mut Output,
    context: &'a ExecutionContext<'a>,
    silent: bool,
    /// Number of runs begun.
    runs: usize,
    /// Number of nodes switched.
    switched: usize,
    /// Nodes that did not come up.
    failed: Vec<String>,
    /// True if results name the group.
    several: bool,
    outcome: HsqueezeEnd,
}

/// A group's plan, and the cluster that it was made for.
pub(super) struct PlannedGroup {
    before: Cluster,
    plan: GroupPlan,
}

impl<'a> SqueezeRun<'a> {
    /// A run that has done nothing yet. `several` is true if there is more than one group.
    pub(super) fn new(
        planning: &'a Planning<'a>,
        context: &'a ExecutionContext<'a>,
        client: &'a mut dyn JobClient,
        signals: &'a Signals,
        several: bool,
        output: &'a mut Output,
    ) -> SqueezeRun<'a> {
        let options = planning.options;
        SqueezeRun {
            options,
            planning,
            client,
            signals,
            output,
            context,
            silent: context.silent,
            runs: 0,
            switched: 0,
            failed: Vec::new(),
            several,
            outcome: HsqueezeEnd::default(),
        }
    }

    /// Executes plans one after another, until a failure makes it useless to go on.
    pub(super) fn carry_out(mut self, cluster: &Cluster, groups: &[&[GroupPlan]]) -> HsqueezeEnd {
        for plans in groups {
            if self.outcome.stopped.is_some() {
                break;
            }
            if let Err(error) = self.group(cluster, plans) {
                // Earlier results are reported in spite of the error.
                self.outcome.problems.push(Complaint::of(&error));
                break;
            }
        }
        self.outcome
    }

    fn group(&mut self, cluster: &Cluster, plans: &[GroupPlan]) -> anyhow::Result<()> {
        let Some((plan, needless)) = plans.split_first() else { return Ok(()) };
        let needless = needless.iter().flat_map(|plan| &plan.nodes);
        let needless: Vec<&str> = needless.map(|node| cluster.node(*node).spec.name.as_str()).collect();
        let first = PlannedGroup { before: cluster.clone(), plan: plan.clone() };
        let Continue(current) = fitting(self, first)? else { return Ok(()) };
        let Some(next) = self.carry_out_plan(current)?.filter(|_| !needless.is_empty()) else {
            return Ok(());
        };
        let Some(next) = self.plan_anew(&next, read_again(&self.options.load)?) else { return Ok(()) };
        let is_announced = |node: &NodeIdx| needless.contains(&next.before.node(*node).spec.name.as_str());
        if next.plan.decision == Decision::Condense && next.plan.nodes.iter().all(is_announced) {
            self.carry_out_plan(next)?;
        }
        Ok(())
    }

    /// Executes a plan. Returns its final version if all went well.
    fn carry_out_plan(&mut self, mut current: PlannedGroup) -> anyhow::Result<Option<PlannedGroup>> {
        let mut result = self.nothing_yet(&current);
        let problems = self.outcome.problems.len();
        let done = match current.plan.decision {
            Decision::Condense => self.condense(&current, &mut result),
            Decision::Expand => self.expand(&mut current, &mut result),
            Decision::Nothing => Ok(()),
        };
        // The results count even if something failed later.
        self.outcome.results.extend((!result.is_idle()).then_some(result));
        done?;
        let is_well = self.outcome.stopped.is_none() && self.outcome.problems.len() == problems;
        Ok(is_well.then_some(current))
    }

    fn nothing_yet(&self, current: &PlannedGroup) -> GroupResult {
        let group = self.several.then(|| current.before.group(current.plan.group).name.clone());
        let PlannedGroup { plan, .. } = current;
        let (decision, enough) = (plan.decision, plan.enough);
        GroupResult { group, decision, nodes: Vec::new(), moves: 0, copies: 0, enough }
    }

    /// Makes a new plan for the same group on the current cluster. Returns none if the group is gone.
    fn plan_anew(&self, current: &PlannedGroup, now: Cluster) -> Option<PlannedGroup> {
        let uuid = &current.before.group(current.plan.group).uuid;
        let group = now.groups.iter().find(|group| group.uuid == *uuid)?.idx;
        let found = self.planning.squeeze(&now, &[group], self.switched, &self.failed);
        let plan = found.plans.into_iter().next()?;
        Some(PlannedGroup { before: now, plan })
    }

    /// Powers nodes down. If that fails, undoes the steps done so far.
    fn condense(&mut self, current: &PlannedGroup, result: &mut GroupResult) -> anyhow::Result<()> {
        let PlannedGroup { before, plan } = current;
        let work = switching::power_down(
            before,
            &plan.nodes,
            &plan.steps,
            self.planning.switch(),
            self.planning.now(),
        )?;
        let purpose = format!("condensing by {} nodes", plan.nodes.len());
        let finished = self.run(current, purpose, work)?;
        count(&finished, &Task::PowerOff, result);
        self.switched += result.nodes.len();
        if finished.report.ending == Ending::Failed {
            let stage = self.next_stage();
            let taken_back = take_back(&finished, self.client, &stage, self.output)?;
            self.problem(failures(&finished) + &still_powered(&finished) + &taken_back);
        }
        Ok(())
    }

    /// Powers nodes up, with other nodes in place of those that fail; then balances.
    fn expand(&mut self, current: &mut PlannedGroup, result: &mut GroupResult) -> anyhow::Result<()> {
        let mut failures = 0;
        loop {
            if current.plan.nodes.is_empty() {
                return self.balance(current, result);
            }
            let good = self.power_up(current, result)?;
            failures += usize::from(!good);
            if self.outcome.stopped.is_some() || failures >= POWER_UPS {
                return Ok(());
            }
            let now = read_again(&self.options.load)?;
            failures += usize::from(good && !self.are_in_use(current, &now, result));
            let Some(next) = self.plan_anew(current, now) else { return Ok(()) };
            let wants_more = next.plan.decision == Decision::Expand && !next.plan.nodes.is_empty();
            if self.keeps_to_the_approved() && wants_more {
                self.problem("nodes that are not in the plan are needed");
                return Ok(());
            }
            *current = next;
            result.enough = current.plan.enough;
            if current.plan.decision != Decision::Expand || current.plan.is_idle() {
                return Ok(());
            }
        }
    }

    /// Tells if the nodes that came up are in use now. A node that was also drained is not; it is not tried again.
    fn are_in_use(&mut self, current: &PlannedGroup, now: &Cluster, result: &mut GroupResult) -> bool {
        let names = current.plan.nodes.iter().map(|node| &current.before.node(*node).spec.name);
        let is_out = |name: &&String| now.nodes.iter().any(|n| n.spec.name == **name && n.spec.offline);
        let out: Vec<String> = names.filter(is_out).cloned().collect();
        result.nodes.retain(|name| !out.contains(name));
        for name in &out {
            let problem = format!("node {name} was set online but is still not in use");
            self.outcome.problems.push(Complaint::new(problem).hint("check whether the node is drained"));
        }
        self.failed.extend(out.iter().cloned());
        out.is_empty()
    }

    /// Tells if all nodes came up.
    fn power_up(&mut self, current: &PlannedGroup, result: &mut GroupResult) -> anyhow::Result<bool> {
        let PlannedGroup { before, plan } = current;
        let work = switching::power_up(before, &plan.nodes, self.planning.switch(), self.planning.now())?;
        let purpose = format!("expanding by {} nodes", plan.nodes.len());
        let finished = self.run(current, purpose, work)?;
        let known = result.nodes.len();
        count(&finished, &Task::SetOnline, result);
        self.switched += result.nodes.len() - known;
        if finished.report.ending == Ending::Failed {
            self.problem(failures(&finished));
            let failed = finished.header.work.steps.iter().zip(&finished.report.steps);
            let failed = failed.filter(|(_, report)| report.state == StepState::Failed);
            self.failed.extend(failed.map(|(step, _)| step.subject.clone()));
            return Ok(false);
        }
        let missing = finished.arrival.missing_effects().iter().filter(|effect| effect.is_node);
        self.failed.extend(missing.map(|effect| effect.subject.clone()));
        Ok(matches!(finished.arrival, Confirmation::AsPlanned(_)))
    }

    /// Moves instances between nodes that are all in use.
    fn balance(&mut self, current: &PlannedGroup, result: &mut GroupResult) -> anyhow::Result<()> {
        let work = switching::moves(&current.before, &current.plan.steps)?;
        let finished = self.run(current, "expanding by 0 nodes".to_owned(), work)?;
        count(&finished, &Task::SetOnline, result);
        if finished.report.ending == Ending::Failed {
            self.problem(failures(&finished));
        }
        Ok(())
    }

    fn problem(&mut self, problem: impl Into<String>) {
        self.outcome.problems.push(Complaint::new(problem));
    }

    /// Executes steps and records problems.
    fn run(&mut self, current: &PlannedGroup, purpose: String, work: Work) -> anyhow::Result<FinishedRun> {
        let group = current.before.group(current.plan.group).uuid.clone();
        let score = Some(history::score(&current.before, &group));
        let order = ExecutionOrder { purpose, group, score, work };
        let stage = self.next_stage();
        let finished = carry_out(order, self.client, &stage, self.output)?;
        self.outcome.problems.extend(finished.arrival.tell(self.output)?.map(Complaint::new));
        match finished.report.ending {
            Ending::Done | Ending::Failed => {}
            // An early end is an error unless it was requested.
            _ => self.outcome.stopped = Some(conclude(&finished, self.silent, self.output)?),
        }
        Ok(finished)
    }

    /// Tells if only the approved plan may be executed.
    fn keeps_to_the_approved(&self) -> bool {
        self.options.approved.as_ref().is_some_and(|plan| !plan.replan)
    }

    fn next_stage(&mut self) -> ExecutionStage<'a> {
        self.runs += 1;
        self.context.stage(self.signals, self.runs)
    }
}

impl Planner for SqueezeRun<'_> {
    type Plan = PlannedGroup;
    type End = ();

    fn load(&self) -> &LoadOptions {
        &self.options.load
    }

    fn output(&mut self) -> &mut Output {
        self.output
    }

    fn consider(&mut self, current: &mut PlannedGroup) -> anyhow::Result<ControlFlow<()>> {
        let Some(name) = repeated_name(&current.before, current.plan.group) else { return Ok(Continue(())) };
        bail!(
            "nothing was executed in the node group, because two instances are called '{}'",
            shown_name(name)
        );
    }

    fn changes(&mut self, current: &PlannedGroup, now: &Cluster) -> anyhow::Result<Vec<String>> {
        let PlannedGroup { before, plan } = current;
        let changes = differences(before, plan.group, now);
        if !changes.is_empty() || plan.decision == Decision::Expand && !plan.nodes.is_empty() {
            // Moves to nodes that come up are planned only after the nodes are online.
            return Ok(changes);
        }
        let mut switched = now.clone();
        for node in &plan.nodes {
            let name = &before.node(*node).spec.name;
            let there = switched.nodes.iter_mut().filter(|node| node.spec.name == *name);
            there.for_each(|node| node.spec.offline = true);
        }
        let work = switching::moves(before, &plan.steps)?;
        let all: Vec<StepIdx> = work.all().collect();
        Ok(violation(&work, &all, &before.group(plan.group).uuid, false, &switched).into_iter().collect())
    }

    fn show_last(&mut self, _: &mut PlannedGroup) -> anyhow::Result<()> {
        Ok(())
    }

    fn anew(&mut self, current: PlannedGroup, now: Cluster) -> anyhow::Result<ControlFlow<(), PlannedGroup>> {
        if self.keeps_to_the_approved() {
            bail!("nothing was done, because the plan no longer fits the cluster");
        }
        let Some(next) = self.plan_anew(&current, now) else { return Ok(Break(())) };
        if !self.silent {
            let plans = vec![next.plan.clone()];
            let found = Squeeze { plans, after: next.before.clone(), stopped: None, proofs: Vec::new() };
            show_text(self.options, &next.before, &found, self.output)?;
        }
        Ok(if next.plan.is_idle() { Break(()) } else { Continue(next) })
    }
}

/// Counts the results of a run that the cluster confirms: moves, and nodes whose `task` is done.
fn count(finished: &FinishedRun, task: &Task, result: &mut GroupResult) {
    let missing_effects = |step: &WorkStep, is_node: bool| {
        finished
            .arrival
            .missing_effects()
            .iter()
            .any(|effect| effect.is_node == is_node && effect.subject == step.subject)
    };
    let steps = finished.header.work.steps.iter().zip(&finished.report.steps);
    for (step, _) in steps.filter(|(_, report)| report.state == StepState::Done) {
        if matches!(step.task, Task::Move(_)) {
            let made = usize::from(!missing_effects(step, false));
            result.moves += made;
            result.copies += if ways(step).contains(&LegKind::MovesDisks) { made } else { 0 };
        } else if step.task == *task && !missing_effects(step, true) {
            result.nodes.push(step.subject.clone());
        }
    }
}

/// Names the nodes that should have been powered off but may still be on.
fn still_powered(finished: &FinishedRun) -> String {
    let steps = finished.header.work.steps.iter().zip(&finished.report.steps);
    let doubtful = |(step, report): &(&WorkStep, &StepReport)| {
        step.task == Task::PowerOff && report.began && report.state != StepState::Done
    };
    let names: Vec<&str> = steps.filter(doubtful).map(|(step, _)| step.subject.as_str()).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("; {} stays offline and may still have power", names.join(", "))
    }
}
