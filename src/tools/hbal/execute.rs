//! `hbal -X`: what there is to carry out, and by which rules.

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

/// What carrying plans out goes by.
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

/// What was found, as it is to be carried out; `before` is there if that is wanted. If it
/// is not, the document is printed.
pub(super) fn proposed(
    options: &HbalOptions,
    found: impl IntoIterator<Item = Balanced>,
    before: Option<Cluster>,
    stopped: Option<Stopped>,
    document: Option<Printout>,
    output: &mut Output,
) -> anyhow::Result<Planned> {
    // they have no nodes in common
    let mut parts: Vec<Balanced> = found.into_iter().collect();
    let complete = parts.iter().all(Balanced::is_complete);
    parts.retain(|part| !part.steps.is_empty());
    let empties = !options.emptied.is_empty();
    // who wants a node switched off is not helped by one that is half empty
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

/// What is said where a plan does not bring about all that was asked for.
fn incomplete(options: &HbalOptions, empties: bool) -> &'static str {
    match (empties, options.execution.exec) {
        (true, true) => "hbal: the nodes cannot be emptied, so nothing is executed",
        (true, false) => "hbal: the nodes cannot be emptied",
        (false, _) => "hbal: not all that is wrong can be mended",
    }
}

/// What is asked; where the plan is not to be seen yet, with its steps.
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
