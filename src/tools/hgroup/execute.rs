//! `hgroup -X`: the plan to execute, and its rules.

use super::HgroupOptions;
use crate::model::{Cluster, Step};
use crate::plan::checker::CheckOptions;
use crate::plan::jobset::Jobset;
use crate::plan::names::Impossible;
use crate::plan::work::Work;
use crate::report::form::json::Printout;
use crate::search::Stopped;
use crate::tools::ExitStatus;
use crate::tools::execution::{ExecutionContext, Proposal, crossing_violation, touched_groups};

/// Settings for the execution of plans.
pub(super) fn context(options: &HgroupOptions) -> ExecutionContext<'_> {
    ExecutionContext {
        tool: super::SPEC.name,
        deadline: options.execution.window.end_from_now(),
        typed: &options.output.typed,
        load: &options.load,
        execution: &options.execution,
        silent: options.output.is_silent(&options.load) || options.execution.prints_document(),
        takes_back: false,
        ignore_soft_errors: false,
        detailed_status: options.output.detailed_status,
        obstacle: crossing_violation,
    }
}

/// Turns a plan into a proposal.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub(super) fn proposed(
    options: &HgroupOptions,
    cluster: &Cluster,
    (steps, jobsets): (&[Step], &[Jobset]),
    (stopped, complete): (Option<Stopped>, bool),
    document: Option<Printout>,
    status: ExitStatus,
) -> Result<Proposal, Impossible> {
    let work = Work::of(cluster, steps, jobsets, CheckOptions::default())?;
    Ok(Proposal {
        before: cluster.clone(),
        groups: touched_groups(cluster, steps),
        group: String::new(),
        purpose: format!("{} by hgroup", options.command.as_str()),
        question: match work.steps.len() {
            1 => "Execute this move?".to_owned(),
            count => format!("Execute these {count} moves?"),
        },
        work,
        stopped,
        document,
        complete,
        status,
    })
}
