//! Scores after two changes, one after another, by the formulas with which Ganeti follows the placement of a DRBD
//! instance. Sums and variances are updated instead of recomputed.
//!
//! Let a value x become y among n values with sum S, and let a = y - x and q = y^2 - x^2. Then S' = S + a and var' =
//! var + ((n q - 2 S a) - a^2) / n^2. A variance that is not positive counts as 0, not-a-number included.

use super::board::{Board, weighted};
use super::interval::CountedPart;
use super::metrics::{Aggregate, Counted, LANES, Lanes, METRICS, PADDED_LANES, TABLE, lane, lanes};
use crate::{Ledger, NodeSpec, Weights};

/// Statistics that make up a score, ready to be updated.
#[derive(Debug, Clone, Copy)]
pub struct PairUpdate {
    /// Number of online nodes.
    n: f64,
    sums: Lanes,
    variances: Lanes,
    counted: Counted,
    surplus: i64,
    /// True if the set has no nodes.
    empty: bool,
}

/// The change of one node, as differences that the statistics need.
#[derive(Debug, Clone, Copy)]
pub struct NodeChange {
    online: bool,
    /// y - x of each lane.
    by: Lanes,
    /// y^2 - x^2 of each lane.
    squares: Lanes,
    counted: Counted,
}

impl NodeChange {
    /// The change of a node's state from `before` to `after`.
    pub fn of(spec: &NodeSpec, before: &Ledger, after: &Ledger) -> NodeChange {
        NodeChange::between(spec, (before, &lanes(spec, before)), (after, &lanes(spec, after)))
    }

    /// The same for a node whose values before and after are known.
    pub fn between(
        spec: &NodeSpec,
        (before, x): (&Ledger, &Lanes),
        (after, y): (&Ledger, &Lanes),
    ) -> NodeChange {
        let (mut by, mut squares) = ([0.0; PADDED_LANES], [0.0; PADDED_LANES]);
        for k in 0..LANES {
            by[k] = y[k] - x[k];
            squares[k] = y[k] * y[k] - x[k] * x[k];
        }
        let counted = Counted::of(spec, after) - Counted::of(spec, before);
        NodeChange { online: !spec.offline, by, squares, counted }
    }

    /// Change of the counts.
    pub fn counted(&self) -> Counted {
        self.counted
    }

    /// Change of a lane's value.
    pub fn by(&self, lane: usize) -> f64 {
        self.by[lane]
    }

    /// Change of each lane's value.
    pub fn by_lanes(&self) -> &Lanes {
        &self.by
    }

    /// For each lane, the part of the change of the variance that does not depend on a second changed node:
    /// (q - 2 a S / n) / n - a^2 / n^2.
    pub fn variance_parts(&self, statistics: &PairUpdate) -> Lanes {
        let of_one = 1.0 / statistics.n;
        let mut parts = [0.0; PADDED_LANES];
        for k in 0..PADDED_LANES {
            let (a, q) = (self.by[k], self.squares[k]);
            let mean = statistics.sums[k] * of_one;
            parts[k] = ((q - 2.0 * mean * a) - a * a * of_one) * of_one;
        }
        parts
    }
}

impl PairUpdate {
    /// Statistics of the present state of a set of nodes.
    pub fn of(board: &Board) -> PairUpdate {
        let (sums, variances) = board.moments_squared();
        PairUpdate {
            n: board.rows().len() as f64,
            sums,
            variances,
            counted: board.counted(),
            surplus: board.spread().surplus(),
            empty: board.nodes().is_empty(),
        }
    }

    /// The statistics after the change of one node.
    pub fn after(&self, change: &NodeChange) -> PairUpdate {
        let mut new = *self;
        new.counted = self.counted + change.counted;
        if change.online {
            let squared = self.n * self.n;
            for k in 0..PADDED_LANES {
                let (a, q) = (change.by[k], change.squares[k]);
                let t = (self.n * q - (2.0 * self.sums[k]) * a) - a * a;
                let variance = self.variances[k] + t / squared;
                new.sums[k] = self.sums[k] + a;
                new.variances[k] = if 0.0 <= variance { variance } else { 0.0 };
            }
        }
        new
    }

    /// Number of online nodes.
    pub fn n(&self) -> f64 {
        self.n
    }

    /// The sum of a lane.
    pub fn sum(&self, lane: usize) -> f64 {
        self.sums[lane]
    }

    /// The variance of a lane.
    pub fn variance(&self, lane: usize) -> f64 {
        self.variances[lane]
    }

    /// The part of the score that consists of counts and of the sum of the
    /// reserved-memory ratios.
    pub fn counted_part(&self, weights: &Weights) -> CountedPart {
        let reserved = weights.reserved_sum() * self.sums[lane::RESERVED_MEM];
        let CountedPart { score, size } = CountedPart::of(weights, &self.counted, self.surplus);
        CountedPart { score: score + reserved, size: size + reserved.abs() }
    }

    /// Adds the location tags that the two nodes of an instance have in common.
    pub fn add_location_sum(&mut self, locations: i64) {
        self.counted.location_sum += locations;
    }

    /// The score, with the spread's surplus changed by `spread_change`.
    pub fn score(&self, weights: &Weights, spread_change: i64) -> f64 {
        if self.empty {
            return 0.0;
        }
        let values: [f64; METRICS] = TABLE.map(|metric| match metric.kind {
            Aggregate::Deviation(lane) => self.variances[lane].sqrt(),
            Aggregate::Sum(lane) => self.sums[lane],
            Aggregate::Spread => (self.surplus + spread_change) as f64,
            kind => self.counted.value(kind),
        });
        weighted(weights, &values)
    }
}
