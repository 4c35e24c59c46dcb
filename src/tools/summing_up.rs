//! What a plan costs and brings (`--summary`, and on terminals), as several tools print it.

use super::options::LoadOptions;
use super::output::Output;
use crate::model::{Cluster, Step};
use crate::report::summary::{Cost, Moment, summary};

/// Whether a plan ends with that: if it is asked for, or somebody looks on.
pub fn is_wanted(asked: bool, json: bool, load: &LoadOptions, output: &Output) -> bool {
    !json && (asked || (output.is_shown() && load.verbosity >= 1))
}

/// Prints it of a plan for a whole cluster, nothing of none.
///
/// # Errors
/// Standard output.
pub fn of_moves(
    before: &Cluster,
    after: &Cluster,
    steps: &[Step],
    output: &mut Output,
) -> anyhow::Result<()> {
    if steps.is_empty() {
        return Ok(());
    }
    let cost = Cost::of(before, steps);
    let lines = summary(cost, &Moment::of_groups(before), &Moment::of_groups(after), &[]);
    Ok(lines.iter().try_for_each(|line| output.line(line))?)
}
