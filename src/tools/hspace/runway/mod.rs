//! `hspace --runway`: the days until the capacities of a cluster are used up, by the history of their use.
//!
//! A source gives a [`UseHistory`](crate::report::runway::UseHistory) for each group and capacity.

mod prometheus;
mod recorded;

use std::time::Duration;

use super::{ExitStatus, HspaceOptions};
use crate::report::form::json;
use crate::report::runway::{self, ClusterRunway, RunwayRow};
use crate::tools::output::Output;
use crate::tools::source::cluster_label;

/// Usual length of the history.
const HISTORY: Duration = Duration::from_secs(90 * 86_400);

/// Options that only concern counting.
const OF_COUNTING: [&str; 20] = [
    "print-nodes",
    "disk-template",
    "spindle-use",
    "xml-file",
    "live",
    "independent-groups",
    "accept-existing-errors",
    "offline",
    "no-capacity-checks",
    "machine-readable",
    "max-length",
    "standard-alloc",
    "tiered-alloc",
    "proof",
    "make-room",
    "print-commands",
    "save",
    "metrics",
    "report",
    "forecast",
];

/// Refuses options that have no effect.
///
/// # Errors
/// Names the first of them.
pub(super) fn check(options: &HspaceOptions) -> anyhow::Result<()> {
    match options.runway {
        Some(_) => options.output.refuse(&OF_COUNTING, "has no effect with --runway"),
        None => Ok(()),
    }
}

/// Estimates the days, and prints them.
///
/// # Errors
/// Mistakes in the options, faults of the source, and a cluster without a history.
pub(super) fn run(
    options: &HspaceOptions,
    named: Option<&str>,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let cluster = named.map_or_else(|| cluster_label(&options.load.source), str::to_owned);
    let length = options.load.measured.window.unwrap_or(HISTORY);
    let histories = match (&options.load.measured.from, named) {
        (None, None) => recorded::histories(options, length, output)?,
        _ => prometheus::histories(&cluster, length, &options.load, output)?,
    };
    let rows = histories.iter().map(RunwayRow::of).collect();
    let runway = ClusterRunway { cluster, days: length.as_secs().div_ceil(86_400), rows };
    if options.output.json {
        json::write(&runway::json::document(&runway), output.stdout())?;
    } else {
        runway::text::lines(&runway).iter().try_for_each(|line| output.line(line))?;
    }
    Ok(ExitStatus::Success)
}
