//! Forecast by the same hour of earlier weeks, with a trend.

use super::robust::{median, quantile};
use super::series::{Past, Series, known};

/// Number of days in a week.
const WEEK: usize = 7;
/// Number of the last weeks that count.
const WEEKS: usize = 8;
/// Number of days of known values that a forecast needs at least.
const DAYS: usize = 2;

/// Growth by the slopes of lines through pairs of values (Theil and Sen).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Trend {
    /// Median of the slopes.
    pub slope: f64,
    /// Slope below which the lower part of them is.
    pub low: f64,
    /// Slope above which the upper part of them is.
    pub high: f64,
}

impl Trend {
    /// The trend with these slopes. `low` and `high` leave out the share `tail` on each side.
    pub(super) fn of(slopes: &mut [f64], tail: f64) -> Option<Trend> {
        let (low, high) = (quantile(slopes, tail)?, quantile(slopes, 1.0 - tail)?);
        Some(Trend { slope: median(slopes)?, low, high })
    }

    /// The slope if most pairs agree on its sign, or else 0: noise is no trend.
    fn agreed(self) -> f64 {
        if self.low > 0.0 || self.high < 0.0 { self.slope } else { 0.0 }
    }
}

/// The next values of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The values, from 0 on. The first one is a step after the last of the series.
    pub values: Vec<f64>,
    /// Growth per step that is part of them; 0 if the history shows none.
    pub slope: f64,
}

impl Forecast {
    /// The quantile `q` (0 to 1) of the values.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        quantile(&mut self.values.clone(), q)
    }
}

/// Forecasts the next `horizon` values of a series. Returns `None` if less than two days of values are known.
///
/// A value is the median of those at the same hour of the last eight weeks, each carried on by the trend. Without any,
/// the same hour of earlier days counts, and then the median of all values. The slope is the median of those between
/// values whole weeks apart, so that a weekly pattern does not look like a trend (Hirsch, Slack and Smith 1982).
pub fn forecast(series: &Series, horizon: usize) -> Option<Forecast> {
    of_past(series.whole(), horizon)
}

/// The same from an earlier time.
pub(super) fn of_past(past: Past<'_>, horizon: usize) -> Option<Forecast> {
    let past = past.last(WEEKS * WEEK * past.per_day);
    let all = known(past.values);
    if all.len() < DAYS * past.per_day {
        return None;
    }
    let slope = slope(past);
    let mut found = Vec::new();
    let values = (0..horizon).map(|ahead| {
        let at = past.values.len() + ahead;
        same_hour(past, at, WEEK * past.per_day, slope, &mut found)
            .or_else(|| same_hour(past, at, past.per_day, slope, &mut found))
            .or_else(|| median(&mut all.clone()))
            .map_or(0.0, |value| value.clamp(0.0, f64::MAX))
    });
    Some(Forecast { values: values.collect(), slope })
}

/// Growth per step between values whole weeks apart.
fn slope(past: Past<'_>) -> f64 {
    let week = WEEK * past.per_day;
    let mut slopes = Vec::new();
    for lag in (week..past.values.len()).step_by(week) {
        for (at, later) in past.values[lag..].iter().enumerate() {
            let slope = (later - past.values[at]) / lag as f64;
            if slope.is_finite() {
                slopes.push(slope);
            }
        }
    }
    Trend::of(&mut slopes, 0.25).map_or(0.0, Trend::agreed)
}

/// Median of the known values that are multiples of `period` before a place at or after the end of the past.
fn same_hour(past: Past<'_>, at: usize, period: usize, slope: f64, found: &mut Vec<f64>) -> Option<f64> {
    found.clear();
    let earlier = (at % period..past.values.len()).step_by(period);
    found.extend(
        earlier.filter_map(|before| past.get(before).map(|value| value + slope * (at - before) as f64)),
    );
    median(found)
}
