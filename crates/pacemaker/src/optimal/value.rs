//! How good a placement is: stage by stage, each of which counts only where those before it are equal.

use std::cmp::{Ordering, Reverse};

use super::super::optimum::PlacingStage;

/// How good a placement is. The greater one is better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacementValue {
    /// How many are placed, by priority, highest first.
    pub(super) placed: Vec<usize>,
    /// The sum of what they are worth where they are.
    pub(super) score: i64,
    /// How many running ones are stopped, for a while or for good.
    pub(super) stops: usize,
    /// How many move while they run.
    pub(super) migrations: usize,
    /// What is left to compare, less being better.
    pub(super) rest: i128,
}

impl PlacementValue {
    /// Compares by the first stages alone.
    pub(super) fn compare(&self, other: &PlacementValue, stages: PlacingStage) -> Ordering {
        let mut order = self.placed.cmp(&other.placed);
        if stages >= PlacingStage::Scores {
            order = order.then(self.score.cmp(&other.score));
        }
        if stages >= PlacingStage::Disruption {
            let disruption = |value: &PlacementValue| Reverse((value.stops, value.migrations));
            order = order.then(disruption(self).cmp(&disruption(other)));
        }
        if stages >= PlacingStage::Then {
            order = order.then(other.rest.cmp(&self.rest));
        }
        order
    }
}

impl PartialOrd for PlacementValue {
    fn partial_cmp(&self, other: &PlacementValue) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PlacementValue {
    fn cmp(&self, other: &PlacementValue) -> Ordering {
        self.compare(other, PlacingStage::Names)
    }
}
