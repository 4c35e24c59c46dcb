//! What `htools exporter` knows of its own work: how the reading of each cluster goes.

use std::time::{Duration, SystemTime};

use crate::report::form::metrics::{Family, Sheet};
use crate::report::runs::{seconds, since_1970};

/// How the readings of a cluster went so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReadingRecord {
    /// Whether the last one was good.
    pub up: bool,
    /// When the last good one ended.
    pub last_good: Option<SystemTime>,
    /// How long the last one took.
    pub took: Option<Duration>,
    /// How long it took to look at what the last good one brought.
    pub survey: Option<Duration>,
    /// Readings that have ended.
    pub readings: u64,
    /// Of these, readings that failed.
    pub failures: u64,
}

impl ReadingRecord {
    /// How old what is known is at a moment; nothing if nothing is.
    pub(crate) fn age(&self, now: SystemTime) -> Option<Duration> {
        // a clock that was set back makes nothing older
        self.last_good.map(|at| now.duration_since(at).unwrap_or_default())
    }
}

/// Tells how the readings go, seen from a moment.
pub(crate) fn tell(sheet: &mut Sheet, record: &ReadingRecord, now: SystemTime) {
    sheet.flag(Family::Up, &[], record.up);
    if let Some(at) = record.last_good {
        sheet.put(Family::ReadingTime, &[], since_1970(at));
    }
    for (family, time) in [
        (Family::ReadingAge, record.age(now)),
        (Family::ReadingDuration, record.took),
        (Family::SurveyDuration, record.survey),
    ] {
        time.into_iter().for_each(|time| sheet.put(family, &[], seconds(time)));
    }
    sheet.put(Family::Readings, &[], record.readings as f64);
    sheet.put(Family::ReadingFailures, &[], record.failures as f64);
}

/// Tells which program this is.
pub(crate) fn tell_build(sheet: &mut Sheet) {
    sheet.flag(Family::BuildInfo, &[env!("CARGO_PKG_VERSION")], true);
}
