//! Value of a placement, compared stage by stage: each stage counts only if those before it are equal.

use std::cmp::{Ordering, Reverse};

use super::super::optimum::PlacingStage;

/// Value of a placement; the greater one is better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacementValue {
    /// Number of placed resources of each priority, highest first.
    pub(super) placed: Vec<usize>,
    /// Sum of their scores on their hosts.
    pub(super) score: i64,
    /// Number of running resources that are stopped, for a while or for good.
    pub(super) stops: usize,
    /// Number of live migrations.
    pub(super) migrations: usize,
    /// The rest, by the last goal; less is better.
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
