//! `htools apply FILE`.

use std::ops::ControlFlow::Continue;
use std::path::Path;

use anyhow::{anyhow, bail, ensure};

use super::*;
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::model::{Cluster, GroupIdx};
use crate::plan::checker::CheckOptions;
use crate::plan::fresh::{broken_steps, fingerprint};
use crate::plan::graph::StepIdx;
use crate::plan::work::{Task, Work};
use crate::tools::execution::{
    self, ApprovedPlan, ExecutionContext, Planned, Proposal, options_of, plan_and_execute, takes_jobs,
};
use crate::tools::hint::WithHint;
use crate::tools::hroller::HrollerOptions;
use crate::tools::hroller::options::{MaintainOptions, NODE_COMMANDS};
use crate::tools::hsqueeze::HsqueezeOptions;
use crate::tools::options::measured::LOAD_SOURCE;
use crate::tools::{ahead, hroller, hsqueeze, source};

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ApplyOptions {
    load: LoadOptions,
    output: OutputOptions,
    execution: ExecutionOptions,
    maintain: MaintainOptions,
    /// True to make another plan if this one does not fit.
    replan: bool,
}

tool_options!(ApplyOptions { execution: ExecutionOptions, maintain: MaintainOptions });

/// Name, purpose and options.
pub(super) const SPEC: Spec<ApplyOptions> = Spec {
    name: "htools apply",
    summary: "check whether a saved plan still fits, and with --exec carry it out",
    forms: &["[OPTION...] FILE"],
    examples: &[
        example("htools apply -L plan.json", "check whether the plan still fits"),
        example("htools apply -L -X plan.json", "carry it out"),
        example("htools apply -L -X --replan plan.json", "carry it out, or another one like it"),
    ],
    options: &[
        &[TEXT_DATA, MASTER],
        &RAPI_ACCESS,
        &LOAD_SOURCE,
        &LUXI,
        &EXEC,
        &OptionDef::<ApplyOptions>::added_flag(
            "replan",
            "make another plan if this one no longer fits",
            |o| o.replan = true,
        ).more("It is made with the same options.").common(),
        &[YES, POWER_COMMAND, JOURNAL, RESUME, JSON_EVENTS, PRINT_PLAN],
        &NODE_COMMANDS,
        &STREAMING,
        &ON_FAILURE
            .says("choose what follows when a step fails, with --stream").more("stop begins no more steps; continue goes on with those that need not follow it. Other plans are not made: see --replan."),
        &WINDOW,
        &SPEEDS,
        &[REASON.added(), PRIORITY.added()],
        &[VERBOSE, QUIET],
        &[NO_CONFIG, HELP],
    ],
    words: &[FILE],
    ..Spec::PLAIN
};

/// Checks a saved plan against the cluster and, with `--exec`, executes it.
pub(super) fn run(options: &ApplyOptions, path: PathBuf, output: &mut Output) -> anyhow::Result<ExitStatus> {
    execution::check_pace(&options.execution, &options.output)?;
    execution::never_replans(SPEC.name, &options.execution)?;
    let plan = SavedPlan::read_ours(&path)?;
    if plan.tool == hsqueeze::SPEC.name {
        return SQUEEZE.decide(plan, options, &path, output);
    }
    if plan.tool == hroller::SPEC.name {
        return ROLL.decide(plan, options, &path, output);
    }
    let of_nodes = NODE_COMMANDS.map(|option| option.shape.long);
    options.output.refuse(&of_nodes, &format!("does not apply to a plan of {}", shown_name(&plan.tool)))?;
    let maker = PlanMaker::named(&plan.tool).with_context(|| path.display().to_string())?;
    let load = options.load.keeping(plan.keep_reserve);
    let context = ExecutionContext {
        tool: maker.program.name(),
        deadline: options.execution.window.end_from_now(),
        typed: &options.output.typed,
        load: &load,
        execution: &options.execution,
        silent: options.execution.prints_document(),
        takes_back: false,
        ignore_soft_errors: plan.ignore_soft_errors,
        detailed_status: false,
        obstacle: maker.check,
    };
    if let Some(journal) = &options.execution.resume {
        return execution::resume(&context, journal, output);
    }
    ahead::execution(maker.program.name(), &options.execution, &options.load.source)?;
    is_the_cluster(&plan, options, &path)?;
    let mut cluster = source::load(&load, output)?;
    cluster.keep_reserve(load.nodes.keep_reserve);
    let misfits = misfits(&plan, &context, &cluster);
    if !misfits.is_empty() {
        output.error_line("The plan no longer fits the cluster:")?;
        misfits.iter().try_for_each(|line| output.error_line(&format!("  {line}")))?;
        if options.replan {
            return anew(&plan, &maker, options, &path, output);
        }
        return Err(anyhow!("{}: nothing was done, because the plan no longer fits", path.display())
            .hint("--replan makes another plan"));
    }
    let propose = |cluster: Cluster, output: &mut Output| propose(&plan, &context, cluster, output);
    plan_and_execute(&context, cluster, propose, output)
}

/// Refuses a plan for another cluster, if the source can tell.
fn is_the_cluster(plan: &SavedPlan, options: &ApplyOptions, path: &Path) -> anyhow::Result<()> {
    let source = &options.load.source;
    let Some(its) = plan.cluster.as_ref().filter(|_| takes_jobs(source)) else { return Ok(()) };
    let this = execution::client(source)?.cluster()?;
    if its.uuid != this.uuid {
        let name =
            |id: &crate::execute::ClusterId| format!("{} ({})", shown_name(&id.name), shown_name(&id.uuid));
        bail!(
            "{}: the plan is for cluster {}, but the options name cluster {}",
            path.display(),
            name(its),
            name(&this)
        );
    }
    Ok(())
}

/// The groups of the plan, in the current cluster.
///
/// # Errors
/// The first group that is missing, as a line of text.
fn groups(plan: &SavedPlan, now: &Cluster) -> Result<Vec<GroupIdx>, String> {
    let find = |uuid: &String| now.groups.iter().find(|group| group.uuid == *uuid).map(|group| group.idx);
    let found = |uuid: &String| {
        find(uuid).ok_or_else(|| format!("node group '{}' no longer exists", shown_name(uuid)))
    };
    plan.groups.iter().map(found).collect()
}

/// Steps that do not fit the cluster, with the reasons; empty if the plan can be executed.
fn misfits(plan: &SavedPlan, context: &ExecutionContext<'_>, now: &Cluster) -> Vec<String> {
    let groups = match groups(plan, now) {
        Ok(groups) => groups,
        Err(line) => return vec![line],
    };
    if fingerprint(now, &groups) != plan.fingerprint {
        let broken = broken_steps(&plan.work, now);
        if !broken.is_empty() {
            return broken;
        }
    }
    let all: Vec<StepIdx> = plan.work.all().collect();
    (context.obstacle)(&plan.work, &all, &plan.group, plan.ignore_soft_errors, now).into_iter().collect()
}

/// Proposal to execute the plan on a cluster that it fits.
fn propose(
    plan: &SavedPlan,
    context: &ExecutionContext<'_>,
    now: Cluster,
    output: &mut Output,
) -> anyhow::Result<Planned> {
    let groups = groups(plan, &now).map_err(anyhow::Error::msg)?;
    let wrong = misfits(plan, context, &now);
    if let Some(line) = wrong.first() {
        bail!("nothing was done, because the plan no longer fits the cluster: {line}");
    }
    // The file is not trusted: the jobs are rebuilt from the moves.
    let all: Vec<StepIdx> = plan.work.all().collect();
    let moves = plan.work.steps_on(&now, &all)?;
    let switches = |at: &&StepIdx| {
        let step = plan.work.step(**at);
        step.relocations().is_empty() && !matches!(step.task, Task::Stop | Task::Start)
    };
    if let Some(at) = all.iter().find(switches) {
        bail!("nothing was done, because step {at} of the plan is not a move of an instance");
    }
    let check = CheckOptions { ignore_soft_errors: plan.ignore_soft_errors };
    let work = Work::rebuilt(&now, &moves, plan.work.jobsets.clone(), check)?;
    if let Some(fault) = work.fault() {
        bail!("nothing was done, because the plan no longer fits the cluster: {fault}");
    }
    let steps = counted(work.steps.len(), "step");
    if !context.silent {
        output.line(&format!("The plan fits the cluster: {steps} can be carried out"))?;
    }
    Ok(Continue(Box::new(Proposal {
        before: now,
        groups,
        work,
        purpose: plan.purpose.clone(),
        group: plan.group.clone(),
        question: format!("Execute {steps}?"),
        stopped: None,
        document: None,
        complete: true,
        status: ExitStatus::Success,
    })))
}

/// Command line that makes the plan again: the plan's options, followed by those of this run.
fn words_anew(
    plan: &SavedPlan,
    program: &dyn Program,
    options: &ApplyOptions,
) -> anyhow::Result<Vec<OsString>> {
    let shape = options_of(plan, program)?;
    let is_measured = shape.iter().any(|word| word.starts_with("--load-from="));
    // The file is not trusted: a source that it names gets no password of this user.
    ensure!(
        !is_measured || options.load.measured.from.is_some() || options.load.measured.credentials.is_none(),
        anyhow!("option --load-credentials needs --load-from")
            .hint("the source in the plan gets no password")
    );
    let of_source = |long: &str| LOAD_SOURCE.iter().any(|option| option.shape.long == long);
    let is_own = |long: &str| !matches!(long, "replan" | "no-config") && (is_measured || !of_source(long));
    let own = options.output.typed.iter().filter(|typed| typed.long.is_none_or(is_own));
    // The plan was not made with the current configuration files. Their effect on this run is among its own options
    // already.
    let no_files = format!("--{}", NO_CONFIG.long);
    let words = std::iter::once(no_files).chain(shape).chain(own.map(|typed| typed.again()));
    Ok(words.map(OsString::from).collect())
}

/// Lets the plan's tool make another plan for the current cluster, with the plan's options.
fn anew(
    plan: &SavedPlan,
    maker: &PlanMaker,
    options: &ApplyOptions,
    path: &Path,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let words = words_anew(plan, maker.program, options).with_context(|| path.display().to_string())?;
    (maker.again)(&words, output)
}

/// A tool that decides again when its plan is applied.
struct DecidingTool<O: 'static> {
    spec: &'static Spec<O>,
    run: fn(O) -> anyhow::Result<ExitStatus>,
    /// Adds the approved plan to the options.
    approve: fn(O, ApprovedPlan) -> O,
}

impl<O: ToolOptions + HasPart<LoadOptions>> DecidingTool<O> {
    /// Lets the tool plan again, and execute the result if it equals the approved plan.
    fn decide(
        &self,
        plan: SavedPlan,
        options: &ApplyOptions,
        path: &Path,
        output: &mut Output,
    ) -> anyhow::Result<ExitStatus> {
        if options.execution.resume.is_none() {
            is_the_cluster(&plan, options, path)?;
        }
        let words = words_anew(&plan, self.spec, options).with_context(|| path.display().to_string())?;
        let approved = ApprovedPlan { work: plan.work, replan: options.replan };
        again(self.spec.parse(&words).map(|parsed| (self.approve)(parsed, approved)), self.run, output)
    }
}

/// The nodes that are needed depend on the current load.
const SQUEEZE: DecidingTool<HsqueezeOptions> = DecidingTool {
    spec: &hsqueeze::SPEC,
    run: hsqueeze::run,
    approve: |parsed, plan| HsqueezeOptions { approved: Some(plan), ..parsed },
};

/// Each batch is planned anew in any case.
const ROLL: DecidingTool<HrollerOptions> = DecidingTool {
    spec: &hroller::SPEC,
    run: hroller::run,
    approve: |parsed, plan| HrollerOptions { approved: Some(plan), ..parsed },
};
