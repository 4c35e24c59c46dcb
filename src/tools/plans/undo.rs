//! `htools undo JOURNAL`.

use std::ops::ControlFlow::{Break, Continue};

use anyhow::{anyhow, bail};

use super::*;
use crate::execute::journal::{self, Header};
use crate::execute::maintenance::MaintenanceProgress;
use crate::execute::{Ending, Report};
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::model::{Cluster, GroupIdx};
use crate::plan::back::undo_steps;
use crate::plan::checker::CheckOptions;
use crate::plan::graph::StepIdx;
use crate::plan::jobset::jobsets;
use crate::plan::work::{Work, WorkStep};
use crate::search::maintenance::{held_on_newer, taking_back};
use crate::search::moves::MoveRules;
use crate::tools::execution::{self, ExecutionContext, Planned, Proposal, plan_and_execute};
use crate::tools::hint::WithHint;
use crate::tools::{ahead, hroller, source};

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct UndoOptions {
    load: LoadOptions,
    output: OutputOptions,
    execution: ExecutionOptions,
    rules: MoveRules,
}

tool_options!(UndoOptions { execution: ExecutionOptions, rules: MoveRules });

/// Name, purpose and options.
pub(super) const SPEC: Spec<UndoOptions> = Spec {
    name: "htools undo",
    summary: "plan how a run is taken back, and with --exec take it back",
    forms: &["[OPTION...] JOURNAL"],
    examples: &[
        example("htools undo -L run.journal", "plan how the run is taken back"),
        example("htools undo -L -X run.journal", "take it back"),
        example("htools undo -t now.data run.journal", "plan it for a saved cluster"),
    ],
    options: &[
        &[TEXT_DATA, MASTER],
        &RAPI_ACCESS,
        &LUXI,
        &EXEC,
        &IGNORE_SOFT_ERRORS.added(),
        &YES,
        &JOURNAL
            .says("keep the journal of the new run in FILE, with --exec")
            .more("FILE must not exist.")
            .otherwise("a file in the user's state directory"),
        &[JSON_EVENTS, PRINT_PLAN, SAVE_PLAN],
        &STREAMING,
        &WINDOW,
        &SPEEDS,
        &[REASON.added(), PRIORITY.added()],
        &[VERBOSE, QUIET],
        &[NO_CONFIG, HELP],
    ],
    words: &[JOURNAL_FILE],
    ..Spec::PLAIN
};

/// Plans how to undo a run and, with `--exec`, executes that plan.
pub(super) fn run(options: &UndoOptions, path: PathBuf, output: &mut Output) -> anyhow::Result<ExitStatus> {
    execution::check_pace(&options.execution, &options.output)?;
    let read = journal::read_ours(&path)?;
    if read.header.maintenance.is_some() {
        return undo_maintenance(options, &read, &path, output);
    }
    let journal::Read { header, state, .. } = read;
    let maker = PlanMaker::named(&header.run.tool).with_context(|| path.display().to_string())?;
    let done: Vec<(usize, &WorkStep)> = state
        .steps()
        .filter(|step| state.is_done(*step))
        .map(|step| (step.number(), header.work.step(step)))
        .collect();
    let context = ExecutionContext {
        tool: maker.program.name(),
        deadline: options.execution.window.end_from_now(),
        typed: &[],
        load: &options.load,
        execution: &options.execution,
        silent: options.execution.prints_document(),
        takes_back: false,
        ignore_soft_errors: header.ignore_soft_errors || options.rules.ignore_soft_errors,
        detailed_status: false,
        obstacle: maker.check,
    };
    ahead::execution(maker.program.name(), &options.execution, &options.load.source)?;
    if let Some(step) =
        state.steps().find(|step| state.has_begun(*step) && !state.is_done(*step) && !state.has_failed(*step))
    {
        return Err(anyhow!("{}: step {step} may still be running", path.display()).hint(format!(
            "{} --resume {} finishes it",
            maker.program.name(),
            path.display()
        )));
    }
    execution::tell_cleanup(&header, &Report::of(Ending::Failed, &header.work, &state), &path, output)?;
    let cluster = source::load(&options.load, output)?;
    let propose = |cluster: Cluster, output: &mut Output| {
        propose(&header, &done, &context, cluster, output).with_context(|| path.display().to_string())
    };
    plan_and_execute(&context, cluster, propose, output)
}

/// Takes a maintenance back: nodes that are still marked are used again, and all instances come home.
fn undo_maintenance(
    options: &UndoOptions,
    read: &journal::Read,
    path: &std::path::Path,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let tool = hroller::SPEC.name;
    let (Some(terms), Some(progress)) = (&read.header.maintenance, MaintenanceProgress::of(read)) else {
        bail!("{}: the journal is not of a maintenance", path.display());
    };
    let context = ExecutionContext {
        tool,
        deadline: options.execution.window.end_from_now(),
        typed: &[],
        load: &options.load,
        execution: &options.execution,
        silent: options.execution.prints_document(),
        takes_back: false,
        ignore_soft_errors: options.rules.ignore_soft_errors,
        detailed_status: false,
        // Ganeti itself checks the moves, as a maintenance may have to be taken back whatever the rules say.
        obstacle: |_, _, _, _, _| None,
    };
    ahead::execution(tool, &options.execution, &options.load.source)?;
    let cluster = source::load(&options.load, output)?;
    let propose = |now: Cluster, output: &mut Output| {
        for instance in held_on_newer(&now, terms, &progress) {
            let instance = now.instance(instance);
            output.error_line(&format!(
                "Warning: instance '{}' stays on {}, as its own node is not upgraded",
                shown_name(&instance.name),
                shown_name(&now.node(instance.primary).spec.name)
            ))?;
        }
        let work = taking_back(&now, terms, &progress)?;
        if work.steps.is_empty() {
            output.error_line("No node is marked and no instance is away, so there is nothing to undo")?;
            return Ok(Break(ExitStatus::Success));
        }
        let steps = counted(work.steps.len(), "step");
        if !context.silent {
            output.line(&format!("{steps}:"))?;
            for at in work.all() {
                output.line(&format!("{at:>5}. {}", work.step(at).described()))?;
            }
        }
        Ok(Continue(Box::new(Proposal {
            groups: now.groups_with_nodes(),
            before: now,
            work,
            purpose: format!("taking back run {} of {tool}", read.header.run.began),
            group: String::new(),
            question: format!("Take the maintenance back in {steps}?"),
            stopped: None,
            document: None,
            complete: true,
            status: ExitStatus::Success,
        })))
    };
    plan_and_execute(&context, cluster, propose, output)
}

fn propose(
    header: &Header,
    done: &[(usize, &WorkStep)],
    context: &ExecutionContext<'_>,
    now: Cluster,
    output: &mut Output,
) -> anyhow::Result<Planned> {
    let steps = undo_steps(&now, done)?;
    if steps.is_empty() {
        output.error_line("The run has finished no moves, so there is nothing to undo")?;
        return Ok(Break(ExitStatus::Success));
    }
    let soft = context.ignore_soft_errors;
    let work = Work::of(&now, &steps, &jobsets(&now, &steps), CheckOptions { ignore_soft_errors: soft })?;
    let all: Vec<StepIdx> = work.all().collect();
    if let Some(why) = (context.obstacle)(&work, &all, &header.group, soft, &now) {
        bail!("the moves cannot be undone on the present cluster: {why}");
    }
    let mut groups: Vec<GroupIdx> =
        steps.iter().flat_map(|step| <[GroupIdx; 2]>::from(step.groups(&now))).collect();
    groups.sort();
    groups.dedup();
    let moves = counted(steps.len(), "move");
    if !context.silent {
        output.line(&format!("{moves} taken back:"))?;
        for at in &all {
            let step = work.step(*at);
            if let (Some(first), Some(last)) = (step.relocations().first(), step.relocations().last()) {
                let place = |place: &crate::model::Placement<String>| {
                    place.clone().nodes().collect::<Vec<_>>().join(":")
                };
                output.line(&format!(
                    "{at:>5}. {} {} => {}",
                    step.subject,
                    place(&first.from),
                    place(&last.to)
                ))?;
            }
        }
    }
    Ok(Continue(Box::new(Proposal {
        before: now,
        groups,
        work,
        purpose: format!("taking back run {} of {}", header.run.began, header.run.tool),
        group: header.group.clone(),
        question: format!("Take back {moves}?"),
        stopped: None,
        document: None,
        complete: true,
        status: ExitStatus::Success,
    })))
}
