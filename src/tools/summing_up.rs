//! What a plan costs and brings (`--summary`, and on terminals), as several tools print it.

use super::execution::rates;
use super::options::{ExecutionOptions, LoadOptions};
use super::output::Output;
use crate::model::{Cluster, Step};
use crate::plan::checker::CheckOptions;
use crate::plan::jobset::Jobset;
use crate::plan::work::Work;
use crate::report::cluster::summary::{Cost, Moment, PlanTime, summary};
use crate::report::timetable::Timetable;

/// Whether a plan ends with that: if it is asked for, or somebody looks on.
pub(super) fn is_wanted(asked: bool, json: bool, load: &LoadOptions, output: &Output) -> bool {
    !json && (asked || (output.is_shown() && load.verbosity >= 1))
}

/// What moves come to as work. Nothing if a name in them is one that Ganeti cannot have: they are never carried out.
pub(super) fn work_of(before: &Cluster, steps: &[Step], jobsets: &[Jobset]) -> Option<Work> {
    Work::rebuilt(before, steps, jobsets.to_vec(), CheckOptions::default()).ok()
}

/// When some work is done, if there is any; as a stream, too, unless that is not how it would be carried out.
///
/// # Errors
/// A journal that speeds are to be taken from.
pub(super) fn times_of<'w>(
    work: Option<&'w Work>,
    execution: &ExecutionOptions,
    is_streamable: bool,
) -> anyhow::Result<Option<Timetable<'w>>> {
    let table =
        |work| Ok(Timetable { is_streamable, ..Timetable::of(work, rates(execution)?, execution.limits) });
    work.map(table).transpose()
}

/// Prints it of a plan for a whole cluster, nothing of none.
///
/// # Errors
/// Standard output.
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
