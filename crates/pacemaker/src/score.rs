//! Scores: integers up to infinity, and tables of them by host.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::index::HostIdx;

/// Score of a resource on a host: -1,000,000 (never) to 1,000,000 (above all else).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AllocationScore(i32);

/// The number that stands for infinity.
const INFINITE: i32 = 1_000_000;

impl AllocationScore {
    /// Above all else.
    pub const INFINITY: AllocationScore = AllocationScore(INFINITE);
    /// Never.
    pub const MINUS_INFINITY: AllocationScore = AllocationScore(-INFINITE);
    /// Neither wanted nor unwanted.
    pub const ZERO: AllocationScore = AllocationScore(0);

    /// The score for a number; numbers beyond infinity become infinite.
    pub fn of(number: i64) -> AllocationScore {
        let clipped = number.clamp(-i64::from(INFINITE), i64::from(INFINITE));
        AllocationScore(i32::try_from(clipped).unwrap_or(0))
    }

    /// Marks a score above 0 that a sparing wish would have pulled below 0. Later additions to it are ignored.
    const SPARED: AllocationScore = AllocationScore(-100 * INFINITE);

    /// Sum that does not pull a score of 0 or more below 0. After the last of several such sums, the table must be
    /// [settled](ScoreTable::settle).
    #[must_use]
    pub(super) fn plus_sparing(self, other: AllocationScore) -> AllocationScore {
        let sum = if self == Self::SPARED { self } else { self.plus(other) };
        match self {
            _ if sum >= Self::ZERO || sum == Self::SPARED => sum,
            Self::ZERO => self,
            _ if self > Self::ZERO => Self::SPARED,
            _ => sum,
        }
    }

    /// The number, infinity being 1,000,000.
    pub const fn get(self) -> i32 {
        self.0
    }

    /// Returns true for both infinities.
    pub fn is_infinite(self) -> bool {
        self.0.abs() == INFINITE
    }

    /// Sum of two scores. Minus infinity beats everything; infinity beats every number.
    #[must_use]
    pub fn plus(self, other: AllocationScore) -> AllocationScore {
        if self == Self::MINUS_INFINITY || other == Self::MINUS_INFINITY {
            return Self::MINUS_INFINITY;
        }
        if self == Self::INFINITY || other == Self::INFINITY {
            return Self::INFINITY;
        }
        AllocationScore((self.0 + other.0).clamp(-INFINITE, INFINITE))
    }

    /// The score of the opposite wish.
    #[must_use]
    pub fn negated(self) -> AllocationScore {
        AllocationScore(-self.0)
    }

    /// Parses a score: a number, or infinity in capitals. Numbers may have spaces before them, infinity may not. The
    /// colours of node health count 0.
    pub(crate) fn parse(text: &str) -> Option<AllocationScore> {
        match text {
            "INFINITY" | "+INFINITY" => return Some(Self::INFINITY),
            "-INFINITY" => return Some(Self::MINUS_INFINITY),
            _ => {}
        }
        let is_colour = ["red", "yellow", "green"].iter().any(|colour| text.eq_ignore_ascii_case(colour));
        if is_colour { Some(Self::ZERO) } else { super::number::integer(text).map(Self::of) }
    }
}

impl fmt::Display for AllocationScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::INFINITY => f.pad("INFINITY"),
            Self::MINUS_INFINITY => f.pad("-INFINITY"),
            AllocationScore(number) => f.pad(&number.to_string()),
        }
    }
}

/// A score on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostScore {
    /// The host.
    pub host: HostIdx,
    /// The score.
    pub score: AllocationScore,
}

/// Scores of some or all hosts. A host without a score is excluded. Copies share their scores until one of them
/// changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScoreTable(Arc<Vec<i32>>);

/// Marks a host without a score.
const ABSENT: i32 = i32::MIN;

impl ScoreTable {
    /// A table without scores.
    pub fn empty(hosts: usize) -> ScoreTable {
        ScoreTable(Arc::new(vec![ABSENT; hosts]))
    }

    /// The score of a host, if it has one.
    pub fn get(&self, host: HostIdx) -> Option<AllocationScore> {
        let score = self.0[host.get()];
        (score != ABSENT).then_some(AllocationScore(score))
    }

    /// The score of a host; minus infinity if it has none.
    pub fn or_never(&self, host: HostIdx) -> AllocationScore {
        self.get(host).unwrap_or(AllocationScore::MINUS_INFINITY)
    }

    /// Gives a host a score.
    pub fn set(&mut self, host: HostIdx, score: AllocationScore) {
        Arc::make_mut(&mut self.0)[host.get()] = score.0;
    }

    /// Adds to the score of a host that has one.
    pub(crate) fn add(&mut self, host: HostIdx, score: AllocationScore) {
        if let Some(old) = self.get(host) {
            self.set(host, old.plus(score));
        }
    }

    /// Adds to the score of a host, which gets one if it has none.
    pub(crate) fn add_or_set(&mut self, host: HostIdx, score: AllocationScore) {
        let old = self.get(host).unwrap_or_default();
        self.set(host, old.plus(score));
    }

    /// The hosts of the table with their scores, by position.
    pub fn iter(&self) -> impl Iterator<Item = (HostIdx, AllocationScore)> + '_ {
        let scored = self.0.iter().enumerate().filter(|(_, score)| **score != ABSENT);
        scored.map(|(at, score)| (HostIdx::new(at), AllocationScore(*score)))
    }

    /// Replaces the score of every host that has one.
    pub(super) fn update(&mut self, mut new: impl FnMut(HostIdx, AllocationScore) -> AllocationScore) {
        for (at, score) in Arc::make_mut(&mut self.0).iter_mut().enumerate() {
            if *score == ABSENT {
                continue;
            }
            *score = new(HostIdx::new(at), AllocationScore(*score)).0;
        }
    }

    /// Gives hosts whose scores were marked as spared the lowest score above 0.
    pub(super) fn settle(&mut self) {
        if self.0.contains(&AllocationScore::SPARED.0) {
            let least = AllocationScore(1);
            self.update(|_, score| if score == AllocationScore::SPARED { least } else { score });
        }
    }

    /// Compares by the first of `hosts` on which the scores differ.
    pub(super) fn compare(&self, other: &ScoreTable, hosts: &[HostIdx]) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        // A host without a score is as bad as a forbidden one.
        let finite = |table: &ScoreTable, host: &HostIdx| table.0[host.get()].max(-INFINITE);
        let order = |host: &HostIdx| finite(self, host).cmp(&finite(other, host));
        hosts.iter().map(order).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinity_takes_all_and_never_takes_infinity() {
        let score = AllocationScore::of;
        assert_eq!(score(3).plus(score(-5)), score(-2));
        assert_eq!(score(900_000).plus(score(200_000)), AllocationScore::INFINITY);
        assert_eq!(AllocationScore::INFINITY.plus(score(-999_999)), AllocationScore::INFINITY);
        assert_eq!(
            AllocationScore::INFINITY.plus(AllocationScore::MINUS_INFINITY),
            AllocationScore::MINUS_INFINITY
        );
        assert_eq!(score(i64::MAX), AllocationScore::INFINITY);
        assert_eq!(score(i64::MIN).to_string(), "-INFINITY");
    }

    #[test]
    fn words_and_numbers() {
        let parsed = |text| AllocationScore::parse(text).map(AllocationScore::get);
        assert_eq!(parsed("INFINITY"), Some(1_000_000));
        assert_eq!(parsed("+INFINITY"), Some(1_000_000));
        assert_eq!(parsed("-INFINITY"), Some(-1_000_000));
        assert_eq!((parsed("red"), parsed("green")), (Some(0), Some(0)));
        for (text, number) in [(" 12", 12), ("\t12", 12), ("12 ", 12), ("12abc", 12), ("+12", 12), ("1.5", 1)]
        {
            assert_eq!(parsed(text), Some(number), "{text}");
        }
        for text in
            [" INFINITY", "INFINITY ", "infinity", "- INFINITY", "- 12", " red", "\n12", "\u{a0}12", ""]
        {
            assert_eq!(parsed(text), None, "{text}");
        }
        assert_eq!(parsed("-17"), Some(-17));
        assert_eq!(parsed("1000001"), Some(1_000_000));
        assert_eq!(parsed("99999999999999999999"), None);
        assert_eq!(parsed("much"), None);
    }

    #[test]
    fn hosts_without_a_score_stay_without() {
        let (a, b) = (HostIdx::new(0), HostIdx::new(1));
        let mut table = ScoreTable::empty(2);
        table.add(a, AllocationScore::of(5));
        assert_eq!(table.get(a), None);
        table.add_or_set(a, AllocationScore::of(5));
        assert_eq!(table.iter().collect::<Vec<_>>(), [(a, AllocationScore::of(5))]);
        assert_eq!(table.or_never(b), AllocationScore::MINUS_INFINITY);
    }
}
