//! Bounds on the score of a changed state, at a cost that does not depend on the number of nodes.
//!
//! For each lane, the sums of the centred values `y = x - c` and of their squares are kept. When a few nodes get other
//! values, the variance becomes `(M + dM - (A + dA)^2 / n) / n`. This differs from the reference's two-pass result only
//! by rounding, and the rounding is bounded. So each candidate gets an interval that is sure to contain its exact
//! score. For the few candidates that matter, the [`Board`] computes the exact score.

use multiversion::multiversion;
use smallvec::SmallVec;

use super::board::{Board, Touched};
use super::metrics::{Aggregate, Counted, LANES, Lanes, METRICS, PADDED_LANES, TABLE, lane, lanes};
use crate::Weights;

/// Half the distance from 1 to the next double: the relative error of one operation.
pub const U: f64 = f64::EPSILON / 2.0;

/// Relative error allowed for a variance computed from changed sums. It generously covers the few operations on M and A
/// and on the squares of changed values.
const VARIANCE_ERROR: f64 = 128.0 * U;

/// Bounds on a score. If any intermediate result is not a number, neither are the bounds; comparisons must be written
/// so that this means "unknown".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower bound.
    pub lo: f64,
    /// Upper bound.
    pub hi: f64,
}

/// Running statistics of the online nodes of a board.
#[derive(Debug, Clone)]
pub struct Running {
    /// Number of online nodes.
    n: f64,
    /// Weight of each lane's deviation.
    weight: Lanes,
    /// Weight of the sum of the reserved-memory ratios.
    reserved_weight: f64,
    /// The centre of each lane: its mean when the statistics were taken.
    centre: Lanes,
    /// Sum of squares of the centred values.
    squares: Lanes,
    /// Sum of the centred values (near 0).
    sums: Lanes,
    /// Mean absolute value.
    mean_abs: Lanes,
    /// Sum of the reserved-memory ratios.
    reserved_total: f64,
    /// Bound on the rounding errors that replacements left in `squares`.
    drift: Lanes,
    /// The same in `reserved_total`.
    reserved_drift: f64,
}

/// A sum that carries its rounding errors along (Neumaier).
#[derive(Clone, Copy, Default)]
struct Compensated {
    sum: f64,
    error: f64,
}

impl Compensated {
    fn add(&mut self, x: f64) {
        let sum = self.sum + x;
        self.error += if self.sum.abs() >= x.abs() { (self.sum - sum) + x } else { (x - sum) + self.sum };
        self.sum = sum;
    }

    fn value(self) -> f64 {
        self.sum + self.error
    }
}

impl Running {
    /// Takes the statistics of a board.
    pub fn of(board: &Board) -> Running {
        let rows = board.rows();
        let n = rows.len() as f64;
        let column_sum = |f: &dyn Fn(&Lanes, usize) -> f64| {
            let mut sums = [Compensated::default(); PADDED_LANES];
            for row in rows {
                (0..LANES).for_each(|k| sums[k].add(f(row, k)));
            }
            sums.map(Compensated::value)
        };
        let mut weight = [0.0; PADDED_LANES];
        weight[..LANES].copy_from_slice(&board.weights().deviations());
        let totals = column_sum(&|row, k| row[k]);
        let centre = if rows.is_empty() { [0.0; PADDED_LANES] } else { totals.map(|t| t / n) };
        Running {
            n,
            weight,
            reserved_weight: board.weights().reserved_sum(),
            centre,
            squares: column_sum(&|row, k| (row[k] - centre[k]) * (row[k] - centre[k])),
            sums: column_sum(&|row, k| row[k] - centre[k]),
            mean_abs: column_sum(&|row, k| row[k].abs()).map(|s| s / n.max(1.0)),
            reserved_total: totals[lane::RESERVED_MEM],
            drift: [0.0; PADDED_LANES],
            reserved_drift: 0.0,
        }
    }

    /// Updates the statistics for a node whose values change from `old` to `new`. The centres stay.
    pub fn replace(&mut self, old: &Lanes, new: &Lanes) {
        for k in 0..LANES {
            let (y, z) = (old[k] - self.centre[k], new[k] - self.centre[k]);
            self.squares[k] += z * z - y * y;
            self.sums[k] += z - y;
            self.mean_abs[k] += (new[k].abs() - old[k].abs()) / self.n;
            // Five operations, none on a number larger than this.
            self.drift[k] += 8.0 * U * (self.squares[k].abs() + y * y + z * z);
        }
        let (old, new) = (old[lane::RESERVED_MEM], new[lane::RESERVED_MEM]);
        self.reserved_total += new - old;
        self.reserved_drift += 4.0 * U * (self.reserved_total.abs() + old.abs() + new.abs());
    }

    /// Bound on the rounding errors that replacements left in a lane's sum of squares.
    pub fn drift(&self, lane: usize) -> f64 {
        self.drift[lane]
    }

    /// The same for the sum of the reserved-memory ratios.
    pub fn reserved_drift(&self) -> f64 {
        self.reserved_drift
    }

    /// Number of online nodes.
    pub fn n(&self) -> f64 {
        self.n
    }

    /// Weight of a lane's deviation in the score.
    pub fn weight(&self, lane: usize) -> f64 {
        self.weight[lane]
    }

    /// Weight of the sum of the reserved-memory ratios in the score.
    pub fn reserved_weight(&self) -> f64 {
        self.reserved_weight
    }

    /// The centre that is subtracted from a lane's values.
    pub fn centre(&self, lane: usize) -> f64 {
        self.centre[lane]
    }

    /// Sum of squares of a lane's centred values.
    pub fn squares(&self, lane: usize) -> f64 {
        self.squares[lane]
    }

    /// Sum of a lane's centred values.
    pub fn sum(&self, lane: usize) -> f64 {
        self.sums[lane]
    }

    /// Sum of the reserved-memory ratios of all online nodes.
    pub fn reserved_total(&self) -> f64 {
        self.reserved_total
    }

    /// Upper bound of the difference between the reference's two-pass deviation of a lane and the true one, if values
    /// up to `extra` joined the lane.
    pub fn reference_error(&self, lane: usize, sd: f64, extra: f64) -> f64 {
        2.0 * U * ((self.n / 2.0 + 8.0) * sd + (self.n + 8.0) * (self.mean_abs[lane] + extra))
    }

    /// Error bound of a variance computed from changed sums, if the squares of the changed values add up to `changed`.
    pub(crate) fn variance_error(&self, lane: usize, changed: f64, variance: f64) -> f64 {
        VARIANCE_ERROR * ((self.squares[lane] + changed) / self.n + variance.abs())
            + self.drift[lane] / self.n
    }

    /// Bounds on the score with some nodes in other states and the spread's surplus at `spread`.
    pub fn interval(&self, board: &Board, touched: &[Touched<'_>], spread: i64) -> Interval {
        let change = |t: &Touched<'_>| {
            let row = board.row(t.spec.idx)?;
            Some(ReplacedValues { old: board.rows()[row], new: lanes(t.spec, &t.after) })
        };
        let changes: SmallVec<[ReplacedValues; 4]> = touched.iter().filter_map(change).collect();
        self.bounds(&changes, CountedPart::of(board.weights(), &board.counted_with(touched), spread))
    }

    /// Bounds on the score with one node's values changed and the counted part at `counted`.
    pub fn interval_between(&self, old: &Lanes, new: &Lanes, counted: CountedPart) -> Interval {
        self.bounds(&[ReplacedValues { old: *old, new: *new }], counted)
    }

    fn bounds(&self, changes: &[ReplacedValues], counted: CountedPart) -> Interval {
        let (mut lo, mut hi) = if self.n > 0.0 { deviations(self, changes) } else { (0.0, 0.0) };
        let mut reserved = self.reserved_total;
        let mut reserved_size = self.mean_abs[lane::RESERVED_MEM] * self.n;
        for ReplacedValues { old, new } in changes {
            reserved += new[lane::RESERVED_MEM] - old[lane::RESERVED_MEM];
            reserved_size += new[lane::RESERVED_MEM].abs() + old[lane::RESERVED_MEM].abs();
        }
        let reserved_error = 2.0 * U * (self.n + 8.0) * reserved_size + self.reserved_drift;
        let weight = self.reserved_weight;
        // Keys have negative costs, so the terms may be much larger than their sum.
        let rounding = 64.0 * U * (hi + counted.size + weight * (reserved_size + reserved_error));
        lo += counted.score + weight * (reserved - reserved_error);
        hi += counted.score + weight * (reserved + reserved_error);
        Interval { lo: lo - rounding, hi: hi + rounding }
    }
}

/// A node's values on the board and in another state.
#[derive(Clone, Copy)]
struct ReplacedValues {
    old: Lanes,
    new: Lanes,
}

/// Bounds on the sum of all weighted deviations with some nodes in other states.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn deviations(running: &Running, changes: &[ReplacedValues]) -> (f64, f64) {
    let Running { n, centre, weight, mean_abs, drift, .. } = running;
    let inv_n = 1.0 / n;
    let mut squares = running.squares;
    let mut sums = running.sums;
    let mut changed = [0.0; PADDED_LANES];
    let mut extra = [0.0; PADDED_LANES];
    for ReplacedValues { old, new } in changes {
        for k in 0..PADDED_LANES {
            let (y, z) = (old[k] - centre[k], new[k] - centre[k]);
            squares[k] += z * z - y * y;
            sums[k] += z - y;
            changed[k] += y * y + z * z;
            extra[k] += new[k].abs();
        }
    }
    let (mut low, mut high) = ([0.0; PADDED_LANES], [0.0; PADDED_LANES]);
    for k in 0..PADDED_LANES {
        let variance = (squares[k] - sums[k] * sums[k] * inv_n) * inv_n;
        // See `variance_error` and `reference_error`.
        let slack = (VARIANCE_ERROR * (running.squares[k] + changed[k]) + drift[k]) * inv_n
            + VARIANCE_ERROR * variance.abs();
        let sd = clamp(variance + slack).sqrt();
        let error = 2.0 * U * ((n / 2.0 + 8.0) * sd + (n + 8.0) * (mean_abs[k] + extra[k] * inv_n));
        low[k] = weight[k] * clamp(clamp(variance - slack).sqrt() - error);
        high[k] = weight[k] * (sd + error);
    }
    (low.iter().sum(), high.iter().sum())
}

/// Positions of the counts in the table, in its order.
const COUNTS: [usize; 7] = {
    let (mut counts, mut found, mut at) = ([0; 7], 0, 0);
    while at < METRICS {
        if !matches!(TABLE[at].kind, Aggregate::Deviation(_) | Aggregate::Sum(_)) {
            counts[found] = at;
            found += 1;
        }
        at += 1;
    }
    assert!(found == counts.len());
    counts
};

/// The part of a score that consists of counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountedPart {
    /// Sum of the weighted counts.
    pub score: f64,
    /// Sum of their absolute values; the rounding error of `score` is proportional to it.
    pub size: f64,
}

impl CountedPart {
    /// The part of the score that these counts and the spread's surplus make.
    pub fn of(weights: &Weights, counted: &Counted, spread: i64) -> CountedPart {
        let none = CountedPart { score: 0.0, size: 0.0 };
        let add = |sum: CountedPart, part: f64| CountedPart {
            score: sum.score + part,
            size: sum.size + part.abs(),
        };
        counted_parts(weights, counted, spread).fold(none, add)
    }
}

/// The part of the score that consists of counts.
pub fn counted_score(weights: &Weights, counted: &Counted, spread: i64) -> f64 {
    counted_parts(weights, counted, spread).fold(0.0, |sum, part| sum + part)
}

fn counted_parts<'a>(
    weights: &'a Weights,
    counted: &'a Counted,
    spread: i64,
) -> impl Iterator<Item = f64> + 'a {
    COUNTS.iter().map(move |at| {
        let value = match TABLE[*at].kind {
            Aggregate::Spread => spread as f64,
            kind => counted.value(kind),
        };
        weights.of(*at) * value
    })
}

/// The number, or 0 if it is negative; not-a-number stays.
pub fn clamp(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}
