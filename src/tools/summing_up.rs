//! Summary of a plan's cost and benefit (`--summary`, and on terminals), for several tools.

use super::execution::rates;
use super::options::{ExecutionOptions, LoadOptions};
use super::output::Output;
use crate::model::{Cluster, Step};
use crate::plan::checker::CheckOptions;
use crate::plan::jobset::Jobset;
use crate::plan::work::Work;
use crate::report::cluster::summary::{Cost, Moment, PlanTime, summary};
use crate::report::timetable::Timetable;

/// Tells if a plan ends with the summary: with `--summary`, or on a terminal.
pub(super) fn is_wanted(asked: bool, json: bool, load: &LoadOptions, output: &Output) -> bool {
    !json && (asked || (output.is_shown() && load.verbosity >= 1))
}

/// The moves as a plan. None if a name is not valid in Ganeti, so that they cannot be executed anyway.
pub(super) fn work_of(before: &Cluster, steps: &[Step], jobsets: &[Jobset]) -> Option<Work> {
    Work::rebuilt(before, steps, jobsets.to_vec(), CheckOptions::default()).ok()
}

/// Timetable of a plan, if there is one. `is_streamable` adds the times of a streamed execution.
///
/// # Errors
/// If a journal of `--durations-from` cannot be read.
pub(super) fn times_of<'w>(
    work: Option<&'w Work>,
    execution: &ExecutionOptions,
    is_streamable: bool,
) -> anyhow::Result<Option<Timetable<'w>>> {
    let table =
        |work| Ok(Timetable { is_streamable, ..Timetable::of(work, rates(execution)?, execution.limits) });
    work.map(table).transpose()
}

/// Prints the summary of a plan for the whole cluster; nothing for an empty plan.
///
/// # Errors
/// If standard output cannot be written.
pub(super) fn of_moves(
    before: &Cluster,
    after: &Cluster,
    steps: &[Step],
    table: Option<&Timetable<'_>>,
    output: &mut Output,
) -> anyhow::Result<()> {
    if steps.is_empty() {
        return Ok(());
    }
    let cost = Cost::of(before, steps);
    let time = table.map(PlanTime::of);
    let lines = summary(cost, time, &Moment::of_groups(before), &Moment::of_groups(after), &[]);
    Ok(lines.iter().try_for_each(|(tone, line)| output.toned_line(*tone, line))?)
}
