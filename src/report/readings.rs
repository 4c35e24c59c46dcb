//! Metrics of `htools exporter` about its own work: the readings of each cluster.

use std::time::{Duration, SystemTime};

use crate::report::form::metrics::{Family, Sheet};
use crate::report::runs::{seconds, since_1970};

/// Record of the readings of a cluster so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReadingRecord {
    /// True if the last reading succeeded.
    pub up: bool,
    /// End of the last successful reading.
    pub last_good: Option<SystemTime>,
    /// Duration of the last reading.
    pub took: Option<Duration>,
    /// Duration of the analysis after the last successful reading.
    pub survey: Option<Duration>,
    /// Readings that have ended.
    pub readings: u64,
    /// Of these, readings that failed.
    pub failures: u64,
}

impl ReadingRecord {
    /// Age of the last data at a moment; `None` if there are none.
    pub(crate) fn age(&self, now: SystemTime) -> Option<Duration> {
        // If the clock was set back, the age is 0.
        self.last_good.map(|at| now.duration_since(at).unwrap_or_default())
    }
}

/// Adds the record of readings, as of a moment.
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

/// Adds the version of this program.
pub(crate) fn tell_build(sheet: &mut Sheet) {
    sheet.flag(Family::BuildInfo, &[env!("CARGO_PKG_VERSION")], true);
}
