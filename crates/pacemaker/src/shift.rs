//! Effect of a row of additions on scores, computed once for every initial score.

use super::index::HostIdx;
use super::score::{AllocationScore, ScoreTable};

/// Effect of a row of additions on a score. An infinity absorbs everything added later, so the order of the row
/// matters. Whatever the row, low scores become minus infinity, high ones infinity, and those between are shifted by
/// one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ScoreShift {
    /// The highest score that becomes minus infinity.
    never: i32,
    /// The lowest score that becomes infinity.
    always: i32,
    /// The number added to scores between the two.
    shift: i32,
    /// The lowest score that is at least 0 after each of the additions.
    kept: i32,
}

const INFINITE: i32 = AllocationScore::INFINITY.get();

impl ScoreShift {
    /// A row that adds minus infinity somewhere.
    const NEVER: ScoreShift =
        ScoreShift { never: INFINITE, always: INFINITE + 1, shift: 0, kept: INFINITE + 1 };

    /// A row of one addition.
    fn of(added: AllocationScore) -> ScoreShift {
        let number = added.get();
        match added {
            AllocationScore::MINUS_INFINITY => Self::NEVER,
            AllocationScore::INFINITY => {
                ScoreShift { never: -INFINITE, always: 1 - INFINITE, shift: 0, kept: 1 - INFINITE }
            }
            _ => ScoreShift {
                never: (-INFINITE - number).max(-INFINITE),
                always: (INFINITE - number).min(INFINITE),
                shift: number,
                kept: -number,
            },
        }
    }

    /// This row, followed by another one.
    fn then(self, next: ScoreShift) -> ScoreShift {
        if self == Self::NEVER || next.never == INFINITE {
            return Self::NEVER;
        }
        let never = self.never.max((next.never - self.shift).min(self.always - 1));
        let always = self.always.min((next.always - self.shift).max(self.never + 1));
        let kept = if next.kept > INFINITE {
            next.kept
        } else {
            self.kept.max((next.kept - self.shift).clamp(self.never + 1, self.always))
        };
        // If no score is between, the sum is meaningless and might grow without limit.
        let shift = if never + 1 < always { self.shift + next.shift } else { 0 };
        ScoreShift { never, always, shift, kept }
    }

    fn applied(self, score: AllocationScore) -> AllocationScore {
        match score.get() {
            number if number <= self.never => AllocationScore::MINUS_INFINITY,
            number if number >= self.always => AllocationScore::INFINITY,
            number => AllocationScore::of(i64::from(number + self.shift)),
        }
    }
}

/// Effect of a row of additions on a table, by host; empty if nothing is added.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TableShift(Vec<ScoreShift>);

impl TableShift {
    /// One addition to each host.
    pub(super) fn of(added: &[AllocationScore]) -> TableShift {
        TableShift(added.iter().map(|score| ScoreShift::of(*score)).collect())
    }

    /// Returns true if nothing is added.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of hosts that it covers.
    pub(super) fn hosts(&self) -> usize {
        self.0.len()
    }

    /// Appends another row.
    pub(super) fn then(&mut self, next: &TableShift) {
        if self.is_empty() {
            self.0.clone_from(&next.0);
        } else {
            self.0.iter_mut().zip(&next.0).for_each(|(shift, next)| *shift = shift.then(*next));
        }
    }

    /// Returns true if a host's score is at least 0 after each of the additions.
    pub(super) fn keeps(&self, host: HostIdx, score: AllocationScore) -> bool {
        self.0.get(host.get()).is_none_or(|shift| score.get() >= shift.kept)
    }

    /// Adds the whole row to a table.
    pub(super) fn apply(&self, table: &mut ScoreTable) {
        if !self.is_empty() {
            table.update(|host, score| self.0[host.get()].applied(score));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn score() -> impl Strategy<Value = AllocationScore> {
        let number = prop_oneof![
            -1_000_000..=1_000_000i64,
            -10..=10i64,
            Just(1_000_000i64),
            Just(-1_000_000i64),
            999_990..=1_000_000i64,
        ];
        number.prop_map(AllocationScore::of)
    }

    proptest! {
        #[test]
        fn as_one_addition_after_the_other(
            first in score(),
            row in prop::collection::vec(score(), 1..12),
            cut in 0..12usize,
        ) {
            let (mut stepwise, mut kept) = (first, true);
            for added in &row {
                stepwise = stepwise.plus(*added);
                kept &= stepwise >= AllocationScore::ZERO;
            }
            let joined = |part: &[AllocationScore]| {
                part.iter().map(|added| ScoreShift::of(*added)).reduce(ScoreShift::then)
            };
            let (left, right) = row.split_at(cut.min(row.len()));
            let shift = [joined(left), joined(right)].into_iter().flatten().reduce(ScoreShift::then).unwrap();
            prop_assert_eq!(shift.applied(first), stepwise);
            prop_assert_eq!(first.get() >= shift.kept, kept);
        }
    }
}
