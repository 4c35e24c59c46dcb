//! What a plan costs and brings (`--summary`, and on terminals), as several tools print it.

use super::execution::rates;
use super::options::{ExecutionOptions, LoadOptions};
use super::output::Output;
use crate::model::{Cluster, Step};
use crate::plan::checker::CheckOptions;
use crate::plan::jobset::Jobset;
use crate::plan::work::Work;
use crate::report::summary::{Cost, Moment, PlanTime, summary};
use crate::report::timetable::Timetable;

/// Whether a plan ends with that: if it is asked for, or somebody looks on.
pub fn is_wanted(asked: bool, json: bool, load: &LoadOptions, output: &Output) -> bool {
    !json && (asked || (output.is_shown() && load.verbosity >= 1))
}

/// How long these moves take. Nothing if a name in them is one that Ganeti cannot have: they are never carried out.
///
/// # Errors
/// A journal that speeds are to be taken from.
pub fn time_of_moves(
    before: &Cluster,
    steps: &[Step],
    jobsets: &[Jobset],
    execution: &ExecutionOptions,
) -> anyhow::Result<Option<PlanTime>> {
    match Work::rebuilt(before, steps, jobsets.to_vec(), CheckOptions::default()) {
        Ok(work) => Ok(Some(time_of(&work, execution)?)),
        Err(_) => Ok(None),
    }
}

/// How long some work takes.
///
/// # Errors
/// A journal that speeds are to be taken from.
pub fn time_of(work: &Work, execution: &ExecutionOptions) -> anyhow::Result<PlanTime> {
    Ok(PlanTime::of(&Timetable::of(work, rates(execution)?, execution.limits)))
}

/// Prints it of a plan for a whole cluster, nothing of none.
///
/// # Errors
/// Standard output.
pub fn of_moves(
    before: &Cluster,
    after: &Cluster,
    steps: &[Step],
    time: Option<PlanTime>,
    output: &mut Output,
) -> anyhow::Result<()> {
    if steps.is_empty() {
        return Ok(());
    }
    let cost = Cost::of(before, steps);
    let lines = summary(cost, time, &Moment::of_groups(before), &Moment::of_groups(after), &[]);
    Ok(lines.iter().try_for_each(|(tone, line)| output.toned_line(*tone, line))?)
}
