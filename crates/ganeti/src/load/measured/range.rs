//! Questions for the history of a quantity, and the answers.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::expression::means;
use super::{LoadQuestion, LoadResource, NamePattern};

/// Regular times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeTimes {
    /// The first time in seconds since 1970; a multiple of the step.
    pub start: i64,
    /// Distance of two times in seconds; at least 1.
    pub step: u32,
    /// Number of times.
    pub count: usize,
}

impl RangeTimes {
    /// The times of the last `length` before `now`.
    pub fn until(now: SystemTime, length: Duration, step: u32) -> RangeTimes {
        let step = step.max(1);
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let count = (length.as_secs() / u64::from(step)).max(1);
        let last = now / u64::from(step);
        let start = last.saturating_sub(count - 1).saturating_mul(u64::from(step));
        RangeTimes {
            start: i64::try_from(start).unwrap_or(i64::MAX),
            step,
            count: usize::try_from(count).unwrap_or(usize::MAX),
        }
    }

    /// A time in seconds since 1970.
    pub(super) fn at(self, place: usize) -> i64 {
        let after = i64::try_from(place).unwrap_or(i64::MAX).saturating_mul(i64::from(self.step));
        self.start.saturating_add(after)
    }
}

/// A quantity whose history is asked for.
#[derive(Debug, Clone)]
pub struct RangeQuestion {
    /// The expression. Each value of the label has at most one of its series.
    pub query: String,
    /// Label with the name of a series.
    pub label: String,
    /// Part of the label that is the name. Series that do not match are ignored.
    pub pattern: Option<NamePattern>,
    /// The times.
    pub times: RangeTimes,
    /// Number of times that are asked for at once; at most 11,000 count. Fewer make the answers smaller.
    pub at_once: usize,
}

impl LoadQuestion {
    /// Number of times at once for the load of instances: answers about 20,000 instances stay below 64 MiB.
    const AT_ONCE: usize = 84;

    /// The question for the history of a resource; `None` for a resource without an expression. The window and the
    /// quantile do not matter.
    pub fn history(&self, resource: LoadResource, times: RangeTimes) -> Option<RangeQuestion> {
        let expression = self.expressions.get(&resource)?;
        Some(RangeQuestion {
            query: means(self, expression, u64::from(times.step)),
            label: self.label.clone(),
            pattern: self.pattern.clone(),
            times,
            at_once: LoadQuestion::AT_ONCE,
        })
    }
}

/// History of a quantity, by the name in the label.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredRange {
    /// The times.
    pub times: RangeTimes,
    /// The values at these times. Only numbers from 0 on are kept; the others are NaN.
    pub series: BTreeMap<String, Vec<f64>>,
    /// Warnings of the monitoring system, one line each.
    pub warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    #[test]
    fn times_are_multiples_of_the_step() {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let times = RangeTimes::until(now, Duration::from_secs(7200), 3600);
        assert_eq!(times, RangeTimes { start: 1_699_995_600, step: 3600, count: 2 });
        assert_eq!(times.at(1), 1_699_999_200);
        let all = RangeTimes::until(UNIX_EPOCH, Duration::MAX, 0);
        assert_eq!((all.start, all.step), (0, 1));
    }
}
