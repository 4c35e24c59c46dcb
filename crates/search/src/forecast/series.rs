//! Values at regular times.

use std::time::Duration;

use super::robust::{median, quantile};

/// Length of a day in seconds.
const DAY: u64 = 86_400;
/// Shortest distance of values in seconds.
const SHORTEST: u64 = 60;

/// Values of one quantity at regular times. Values may be missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Time of the first value in seconds since 1970.
    start: i64,
    values: Vec<f64>,
    per_day: usize,
}

/// Reason why values are not a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SeriesFault {
    /// The distance of the values does not divide a day.
    #[error("the distance of values must be at least a minute and divide a day, and is {0:?}")]
    Step(Duration),
}

impl Series {
    /// A series whose first value is from `start`, in seconds since 1970. Values that are not finite are missing.
    ///
    /// # Errors
    /// If `step`, the distance of the values, is less than a minute or does not divide a day.
    pub fn new(start: i64, step: Duration, mut values: Vec<f64>) -> Result<Series, SeriesFault> {
        let seconds = step.as_secs();
        if step.subsec_nanos() > 0 || seconds < SHORTEST || !DAY.is_multiple_of(seconds) {
            return Err(SeriesFault::Step(step));
        }
        for value in values.iter_mut().filter(|value| !value.is_finite()) {
            *value = f64::NAN;
        }
        // At most the minutes of a day.
        let per_day = usize::try_from(DAY / seconds).map_err(|_| SeriesFault::Step(step))?;
        Ok(Series { start, values, per_day })
    }

    /// Time of the first value in seconds since 1970.
    pub fn start(&self) -> i64 {
        self.start
    }

    /// Number of values in a day.
    pub fn per_day(&self) -> usize {
        self.per_day
    }

    /// The last known value.
    pub fn last(&self) -> Option<f64> {
        self.values.iter().rev().copied().find(|value| is_known(*value))
    }

    /// The quantile `q` (0 to 1) of the known values among the last `count`.
    pub fn recent_quantile(&self, count: usize, q: f64) -> Option<f64> {
        let from = self.values.len().saturating_sub(count);
        quantile(&mut known(&self.values[from..]), q)
    }

    /// The values up to now.
    pub(super) fn whole(&self) -> Past<'_> {
        Past { values: &self.values, per_day: self.per_day }
    }
}

/// Tells if a value is not missing.
pub(super) fn is_known(value: f64) -> bool {
    !value.is_nan()
}

/// The values that are not missing.
pub(super) fn known(values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|value| is_known(*value)).collect()
}

/// The values of a series up to some time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Past<'s> {
    /// NaN: missing.
    pub(super) values: &'s [f64],
    pub(super) per_day: usize,
}

impl<'s> Past<'s> {
    /// The values up to an earlier time.
    pub(super) fn until(self, count: usize) -> Past<'s> {
        Past { values: &self.values[..count.min(self.values.len())], ..self }
    }

    /// The last values.
    pub(super) fn last(self, count: usize) -> Past<'s> {
        Past { values: &self.values[self.values.len().saturating_sub(count)..], ..self }
    }

    /// The value at a place, if there is one.
    pub(super) fn get(self, at: usize) -> Option<f64> {
        self.values.get(at).copied().filter(|value| is_known(*value))
    }

    /// Medians of the days that end now, the newest first; none for days without values.
    pub(super) fn daily_medians(self) -> Vec<Option<f64>> {
        self.values.rchunks(self.per_day).map(|day| median(&mut known(day))).collect()
    }
}
