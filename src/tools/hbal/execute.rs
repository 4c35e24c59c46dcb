//! `hbal -X`: the plan to execute, and its rules.

use std::ops::ControlFlow::{Break, Continue};

use super::balanced::Balanced;
use super::views::{print_document, wanted_sets};
use super::{ExitStatus, HbalOptions};
use crate::model::{Cluster, Placement};
use crate::plan::checker::CheckOptions;
use crate::plan::names::Impossible;
use crate::plan::work::{Relocation, Task, Work};
use crate::report::form::json::Printout;
use crate::search::Stopped;
use crate::tools::execution::{self, ExecutionContext, Planned, Proposal};
use crate::tools::output::Output;

/// Settings for the execution of plans.
pub(super) fn context(options: &HbalOptions) -> ExecutionContext<'_> {
    ExecutionContext {
        tool: super::SPEC.name,
        deadline: options.execution.window.end_from_now(),
        typed: &options.output.typed,
        load: &options.load,
        execution: &options.execution,
        silent: options.output.json || options.execution.prints_document(),
        takes_back: false,
        ignore_soft_errors: options.balance.rules.ignore_soft_errors,
        detailed_status: false,
        obstacle: execution::violation,
    }
}

/// Turns the results into a proposal. Without `before` there is nothing to execute, and the document is printed.
pub(super) fn proposed(
    options: &HbalOptions,
    found: impl IntoIterator<Item = Balanced>,
    before: Option<Cluster>,
    stopped: Option<Stopped>,
    document: Option<Printout>,
    output: &mut Output,
) -> anyhow::Result<Planned> {
    // The groups have no nodes in common, so their plans can run side by side.
    let mut parts: Vec<Balanced> = found.into_iter().collect();
    let complete = parts.iter().all(Balanced::is_complete);
    parts.retain(|part| !part.steps.is_empty());
    let empties = !options.emptied.is_empty();
    // A node can be switched off only if it is completely empty.
    let Some(before) = before.filter(|_| !parts.is_empty() && (complete || !empties)) else {
        let nothing = parts.is_empty() && options.execution.print_plan.is_some();
        let nothing = nothing
            .then(|| execution::shown(&options.execution, &Work::default(), options.output.json, output));
        print_document(nothing.transpose()?.flatten().map(Printout::Text).or(document), output)?;
        if complete {
            return Ok(Break(ExitStatus::Success));
        }
        output.error_line(incomplete(options, empties))?;
        return Ok(Break(ExitStatus::Failure));
    };
    if !complete {
        output.error_line(incomplete(options, empties))?;
    }
    let check = CheckOptions { ignore_soft_errors: options.balance.rules.ignore_soft_errors };
    let work = |part: &Balanced| Work::of(&before, &part.steps, wanted_sets(options, &part.jobsets), check);
    let work = Work::side_by_side(parts.iter().map(work).collect::<Result<Vec<_>, Impossible>>()?);
    Ok(Continue(Box::new(Proposal {
        groups: parts.iter().map(|part| part.scope.group).collect(),
        group: match &parts[..] {
            [part] => before.group(part.scope.group).uuid.clone(),
            _ => String::new(),
        },
        purpose: "rebalancing via hbal".to_owned(),
        question: question(&work, options.output.json),
        before,
        work,
        stopped,
        document,
        complete,
        status: if complete { ExitStatus::Success } else { ExitStatus::Failure },
    })))
}

/// Message for a plan that achieves only part of the request.
fn incomplete(options: &HbalOptions, empties: bool) -> &'static str {
    match (empties, options.execution.exec) {
        (true, true) => "hbal: nothing was executed, because the nodes cannot be emptied",
        (true, false) => "hbal: the nodes cannot be emptied",
        (false, _) => "hbal: not all that is wrong can be mended",
    }
}

/// The question before execution. `unseen` adds the steps, because the plan has not been printed yet.
fn question(work: &Work, unseen: bool) -> String {
    let place = |place: &Placement<String>| match &place.secondary {
        Some(secondary) => format!("{}:{secondary}", place.primary),
        None => place.primary.clone(),
    };
    let mut text = String::new();
    for (at, step) in work.steps.iter().enumerate().filter(|_| unseen) {
        if let Task::Move(Relocation { from, to, .. }) = &step.task {
            text += &format!("{:3}. {} {} => {}\n", at + 1, step.subject, place(from), place(to));
        }
    }
    text + &match work.steps.len() {
        1 => "Execute this step?".to_owned(),
        count => format!("Execute these {count} steps?"),
    }
}
