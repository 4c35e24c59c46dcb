//! `hgroup -X`: the plan is checked against the cluster as it is now, then carried out.

use std::path::Path;

use anyhow::bail;

use super::Options;
use crate::execute::JobClient;
use crate::model::shown::shown_name;
use crate::model::{Cluster, GroupIdx, Step};
use crate::plan::fresh::{differences, repeated_name};
use crate::plan::jobset::Jobset;
use crate::plan::work::Work;
use crate::tools::ExitStatus;
use crate::tools::execution::{
    self, Consent, ExecutionOrder, Resumption, announce, ask, crossing_violation, read_again,
};
use crate::tools::output::Output;

/// What came of carrying a plan out.
pub enum HgroupEnd {
    /// The run is over.
    Over(ExitStatus),
    /// The cluster has changed, and is like this now: nothing was done yet.
    Changed(Box<Cluster>),
}

/// Carries a plan for a cluster out, unless the cluster has changed; `again` if another plan
/// can be made then. `show` shows what must be shown once, of the last plan.
///
/// # Errors
/// What keeps the plan from being carried out, and what went wrong.
pub fn execute(
    options: &Options,
    cluster: &Cluster,
    steps: &[Step],
    jobsets: &[Jobset],
    again: bool,
    show: impl FnOnce(&mut Output) -> anyhow::Result<()>,
    output: &mut Output,
) -> anyhow::Result<HgroupEnd> {
    let tool = super::SPEC.name;
    output.flush()?;
    let mut client = execution::client(&options.load.source)?;
    let groups = groups(cluster, steps);
    if let Some(name) = groups.iter().find_map(|group| repeated_name(cluster, *group)) {
        show(output)?;
        output.flush()?;
        bail!("{tool}: two instances are called '{}', so nothing is executed", shown_name(name));
    }
    let work = Work::of(cluster, steps, jobsets)?;
    let question = match work.steps.len() {
        1 => "Execute this move?".to_owned(),
        count => format!("Execute these {count} moves?"),
    };
    if !options.execution.yes && ask(&question, output)? == Consent::No {
        show(output)?;
        output.error_line("Nothing was executed.")?;
        return Ok(HgroupEnd::Over(ExitStatus::Failure));
    }
    let now = read_again(&options.load)?;
    let mut changes: Vec<String> =
        groups.iter().flat_map(|group| differences(cluster, *group, &now)).collect();
    if changes.is_empty() {
        let all: Vec<usize> = (0..work.steps.len()).collect();
        changes.extend(crossing_violation(&work, &all, &now));
    }
    if changes.is_empty() || !again {
        show(output)?;
    }
    if !changes.is_empty() {
        announce(&changes, again, output)?;
        return Ok(HgroupEnd::Changed(Box::new(now)));
    }
    carry_out(options, work, &mut *client, output).map(HgroupEnd::Over)
}

/// The groups that a plan touches.
fn groups(cluster: &Cluster, steps: &[Step]) -> Vec<GroupIdx> {
    let mut groups: Vec<GroupIdx> =
        steps.iter().map(|step| step.groups(cluster)).flat_map(<[GroupIdx; 2]>::from).collect();
    groups.sort();
    groups.dedup();
    groups
}

fn carry_out(
    options: &Options,
    work: Work,
    client: &mut dyn JobClient,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let order = ExecutionOrder {
        tool: super::SPEC.name,
        purpose: format!("{} by hgroup", options.group_command.as_str()),
        // several
        group: String::new(),
        ignore_soft_errors: false,
        work,
    };
    let (execution, load) = (&options.execution, &options.load);
    let (ran, status) =
        execution::carry_out_alone(order, client, execution, load, options.is_silent(), output)?;
    let done = ran.report.ending == crate::execute::Ending::Done;
    Ok(if options.detailed_status && done { ExitStatus::Done } else { status })
}

/// Goes on with the run of a journal.
///
/// # Errors
/// Why that is not possible, and what went wrong.
pub fn resume(options: &Options, path: &Path, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let resumption = Resumption {
        tool: super::SPEC.name,
        load: &options.load,
        execution: &options.execution,
        silent: options.is_silent(),
        takes_back: false,
        obstacle: |header, steps, now| crossing_violation(&header.work, steps, now),
    };
    let mut client = resumption.client()?;
    execution::resume(&resumption, &mut *client, path, output)
}
