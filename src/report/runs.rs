//! Metrics of every run: its end, duration and result. These figures differ between runs on the same cluster.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::report::form::metrics::{Family, Sheet};

/// A run that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunRecord<'t> {
    /// Name of the tool, with the command, if it has several.
    pub tool: &'t str,
    pub ended: SystemTime,
    pub took: Duration,
    /// True if it did what it was asked for.
    pub success: bool,
}

/// Adds a run.
pub(crate) fn tell(sheet: &mut Sheet, RunRecord { tool, ended, took, success }: RunRecord<'_>) {
    sheet.put(Family::LastRunTime, &[tool], since_1970(ended));
    sheet.put(Family::LastRunDuration, &[tool], seconds(took));
    sheet.flag(Family::LastRunSuccess, &[tool], success);
}

/// A moment, in seconds since 1970.
pub(crate) fn since_1970(moment: SystemTime) -> f64 {
    seconds(moment.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// A time in seconds, to the millisecond.
pub(crate) fn seconds(time: Duration) -> f64 {
    time.as_millis() as f64 / 1000.0
}
