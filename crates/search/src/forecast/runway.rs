//! Time until a capacity is used up.

use super::seasonal::Trend;
use super::series::Series;

/// Maximum number of days of history that count.
const DAYS: usize = 366;
/// Number of days with values that an estimate needs at least.
const LEAST: usize = 7;
/// Number of days from which on only days whole weeks apart are compared.
const WEEKLY: usize = 15;
/// Number of days in a week.
const WEEK: usize = 7;
/// Share of the slopes outside the band, on each side.
const TAIL: f64 = 0.1;
/// Number of days from which on the end is too far away to be meant: ten years.
const FAR: f64 = 3650.0;

/// Time until a use reaches its capacity if it goes on as in its history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Runway {
    /// The history has less than seven days, or no values of the last week.
    Unknown,
    /// The use has reached the capacity.
    UsedUp,
    /// The capacity lasts for some time, or forever.
    Lasts(RunwayDays),
}

/// Days until a capacity is used up; `None` if it is not within ten years.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunwayDays {
    /// Days at the median growth.
    pub expected: Option<f64>,
    /// Days at the growth that a tenth of the pairs of days exceed.
    pub earliest: Option<f64>,
    /// Days at the growth that nine tenths of the pairs of days exceed.
    pub latest: Option<f64>,
}

/// Estimate of the time until a use reaches its capacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunwayEstimate {
    /// The time.
    pub runway: Runway,
    /// Median use of the last day that has values.
    pub level: Option<f64>,
    /// Growth per day; its ends leave out a tenth of the pairs of days on each side.
    pub growth: Option<Trend>,
    /// Number of days with values.
    pub days: usize,
}

impl RunwayEstimate {
    /// The time until a use that rises reaches `capacity`.
    ///
    /// The growth is the median of the slopes between all pairs of daily medians (Theil and Sen). From two weeks of
    /// history on, the days of a pair are whole weeks apart, so that a weekly pattern does not look like growth.
    pub fn rising(used: &Series, capacity: f64) -> RunwayEstimate {
        estimate(&used.whole().daily_medians(), capacity)
    }

    /// The time until a remainder that falls is 0. The growth is that of the remainder, so that it is below 0 if this
    /// falls.
    pub fn falling(left: &Series) -> RunwayEstimate {
        let negated = left.whole().daily_medians().into_iter().map(|day| day.map(|value| -value));
        let found = estimate(&negated.collect::<Vec<_>>(), 0.0);
        let negated = |trend: Trend| Trend { slope: -trend.slope, low: -trend.high, high: -trend.low };
        RunwayEstimate {
            // Adding 0 makes a plain zero of a negative one.
            level: found.level.map(|level| 0.0 - level),
            growth: found.growth.map(negated),
            ..found
        }
    }
}

/// The estimate for the medians of days, the newest first.
fn estimate(medians: &[Option<f64>], capacity: f64) -> RunwayEstimate {
    let medians = &medians[..medians.len().min(DAYS)];
    let days: Vec<DayLevel> =
        (0..).zip(medians).filter_map(|(ago, level)| DayLevel::of(ago, *level)).collect();
    let newest = days.first().copied();
    let known = RunwayEstimate {
        runway: Runway::Unknown,
        level: newest.map(|day| day.level),
        growth: None,
        days: days.len(),
    };
    let Some(newest) = newest.filter(|day| days.len() >= LEAST && day.ago < WEEK && !capacity.is_nan())
    else {
        return known;
    };
    let Some(growth) = growth(&days) else { return known };
    let runway = if newest.level >= capacity {
        Runway::UsedUp
    } else {
        let until = |slope: f64| {
            let days = (capacity - newest.level) / slope - newest.ago as f64;
            (slope > 0.0 && days <= FAR).then_some(days.max(0.0))
        };
        Runway::Lasts(RunwayDays {
            expected: until(growth.slope),
            earliest: until(growth.high),
            latest: until(growth.low),
        })
    };
    RunwayEstimate { runway, growth: Some(growth), ..known }
}

/// Median use of a day.
#[derive(Debug, Clone, Copy)]
struct DayLevel {
    /// Number of days before the last one.
    ago: usize,
    level: f64,
}

impl DayLevel {
    fn of(ago: usize, level: Option<f64>) -> Option<DayLevel> {
        level.map(|level| DayLevel { ago, level })
    }
}

/// Growth per day.
fn growth(days: &[DayLevel]) -> Option<Trend> {
    let oldest = days.last()?.ago;
    let weekly = oldest + 1 >= WEEKLY;
    growth_of_pairs(days, weekly).or_else(|| growth_of_pairs(days, false))
}

fn growth_of_pairs(days: &[DayLevel], weekly: bool) -> Option<Trend> {
    let mut slopes = Vec::new();
    for (at, later) in days.iter().enumerate() {
        for earlier in &days[at + 1..] {
            let apart = earlier.ago - later.ago;
            if !weekly || apart.is_multiple_of(WEEK) {
                slopes.push((later.level - earlier.level) / apart as f64);
            }
        }
    }
    slopes.retain(|slope| slope.is_finite());
    Trend::of(&mut slopes, TAIL)
}
