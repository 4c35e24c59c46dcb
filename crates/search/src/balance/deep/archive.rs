//! The best placement seen for every number of moved instances. For more than a few hundred, neighbouring
//! numbers share an entry.

use super::arrangement::{Appraisal, Arrangement, Shift};
use super::headway::BestSoFar;

/// A placement worth keeping.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SeenPlacement {
    /// Score and cost of the placement.
    pub appraisal: Appraisal,
    /// The moved instances and their new nodes, in no order.
    pub shifts: Vec<Shift>,
}

/// The best placements seen, by number of moved instances.
#[derive(Debug, Clone, Default)]
pub(crate) struct Archive {
    /// By [`class`] of the number of moved instances.
    records: Vec<Option<SeenPlacement>>,
    /// For each class, the smallest score in it and in all classes below.
    floors: Vec<f64>,
}

/// Up to this number of moved instances, each number is a class of its own. Beyond it, a class spans about a
/// [`FINENESS`]th of its smallest number.
const EXACT: usize = 256;
const FINENESS: usize = 128;

/// The class of a number of moved instances. Classes ascend, and even the largest clusters need only a few
/// hundred.
fn class(moved: i64) -> usize {
    let moved = moved.max(0) as usize;
    let (mut first, mut width) = (EXACT, EXACT / FINENESS);
    let mut classes = EXACT;
    if moved < EXACT {
        return moved;
    }
    // Each doubling has the same number of classes, twice as wide.
    while moved >= 2 * first {
        (first, width, classes) = (2 * first, 2 * width, classes + FINENESS);
    }
    classes + (moved - first) / width
}

/// Minimum difference for a score to count as better; larger than rounding errors.
const LEAST_GAIN: f64 = 1e-10;

impl Archive {
    /// Returns true if such a state would be kept.
    pub(crate) fn wants(&self, appraisal: &Appraisal) -> bool {
        let floor = self.floors.get(class(appraisal.moved)).or(self.floors.last());
        floor.is_none_or(|floor| appraisal.score < floor - LEAST_GAIN)
    }

    /// Keeps the present state if it is better than all records with as many or fewer moved instances.
    pub(crate) fn offer(&mut self, at: &Arrangement<'_>) {
        if self.wants(&at.now()) {
            self.enter(at.now(), || at.shifts());
        }
    }

    fn enter(&mut self, appraisal: Appraisal, shifts: impl FnOnce() -> Vec<Shift>) {
        let class = class(appraisal.moved);
        while self.floors.len() <= class {
            self.floors.push(self.floors.last().copied().unwrap_or(f64::INFINITY));
            self.records.push(None);
        }
        for floor in self.floors[class..].iter_mut().take_while(|floor| **floor > appraisal.score) {
            *floor = appraisal.score;
        }
        self.records[class] = Some(SeenPlacement { appraisal, shifts: shifts() });
    }

    /// Takes over the better records of another archive.
    pub(crate) fn join(&mut self, other: Archive) {
        for record in other.records.into_iter().flatten() {
            if self.wants(&record.appraisal) {
                self.enter(record.appraisal, || record.shifts);
            }
        }
    }

    /// Gain in score per additional move near a number of moves, measured from a fifth fewer.
    pub(crate) fn slope(&self, moved: i64) -> f64 {
        let fewer = moved - (moved / 5).max(1);
        let score = |at: i64| self.floors.get(class(at)).or(self.floors.last()).copied();
        let (Some(before), Some(here)) = (score(fewer), score(moved)) else { return 0.0 };
        let slope = (before - here) / (moved - fewer) as f64;
        if slope.is_finite() { slope.max(0.0) } else { 0.0 }
    }

    /// The record with the smallest score; among equals, the one with the fewest moves.
    pub(crate) fn best(&self) -> Option<BestSoFar> {
        let best = self.front().last()?.appraisal;
        Some(BestSoFar { moves: usize::try_from(best.moved).unwrap_or(0), score: best.score })
    }

    /// The records that are better than all with fewer moved instances, fewest first.
    pub(crate) fn front(&self) -> impl Iterator<Item = &SeenPlacement> {
        let mut best = f64::INFINITY;
        self.records.iter().flatten().filter(move |record| {
            let better = record.appraisal.score < best - LEAST_GAIN;
            best = best.min(record.appraisal.score);
            better
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_ascend_without_gaps() {
        let classes: Vec<usize> = (0..200_000).map(class).collect();
        assert!(classes.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1));
        assert!(classes[..EXACT].iter().enumerate().all(|(at, class)| at == *class));
        assert!(classes[100_000] < 1500, "{}", classes[100_000]);
    }
}
