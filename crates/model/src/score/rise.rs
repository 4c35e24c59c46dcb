//! Reuse of lower bounds on scores: a bound on the difference between the state for which they were computed and
//! another state that differs a little.
//!
//! Let a lane have the sums A of its n centred values and M of their squares. A change that adds a and m to them gives
//! the variance V = (M + m - (A + a)^2 / n) / n. In a state with A + d and M + e, the same change gives V + N. Here N =
//! (e - d (d + 2 A + 2 a) / n) / n is linear in a. So if a range of a and of V is known for many changes, one
//! calculation bounds the rise of all their deviations from below.

use super::interval::{Running, U};
use super::metrics::{LANES, Lanes};

/// Ranges that cover many changes of one node each, lane by lane.
#[derive(Debug, Clone)]
pub struct Span {
    /// Change of a value.
    by: [RiseRange; LANES],
    /// Variance after the change.
    variance: [RiseRange; LANES],
}

#[derive(Debug, Clone, Copy)]
struct RiseRange {
    least: f64,
    most: f64,
}

impl RiseRange {
    const NONE: RiseRange = RiseRange { least: f64::INFINITY, most: f64::NEG_INFINITY };

    fn add(&mut self, least: f64, most: f64) {
        self.least = self.least.min(least);
        self.most = self.most.max(most);
    }
}

impl Span {
    /// Covers no change at all.
    pub const NONE: Span = Span { by: [RiseRange::NONE; LANES], variance: [RiseRange::NONE; LANES] };

    /// Extends the span by a change of a node's values from `old` to `new`.
    pub fn add(&mut self, running: &Running, old: &Lanes, new: &Lanes) {
        let n = running.n();
        for k in 0..LANES {
            let (y, z) = (old[k] - running.centre(k), new[k] - running.centre(k));
            let (sum, square) = (running.sum(k) + (z - y), running.squares(k) + (z * z - y * y));
            let variance = (square - sum * sum / n) / n;
            let slack = running.variance_error(k, y * y + z * z, variance);
            self.by[k].add(z - y, z - y);
            self.variance[k].add(variance - slack, variance + slack);
        }
    }
}

/// Lower bound of the rise of scores, apart from the counts, between two states with the same centres; it holds after
/// every change of the span. Not a number if nothing is known.
pub fn rise(from: &Running, to: &Running, span: &Span) -> f64 {
    let n = from.n();
    let reserved = to.reserved_total() - from.reserved_total();
    let error = from.reserved_drift() + to.reserved_drift();
    let mut rise = to.reserved_weight() * (reserved - error);
    for k in 0..LANES {
        let weight = to.weight(k);
        if weight == 0.0 {
            continue;
        }
        let (d, e) = (to.sum(k) - from.sum(k), to.squares(k) - from.squares(k));
        let (by, variance) = (span.by[k], span.variance[k]);
        let more = |a: f64| (e - d * (d + 2.0 * from.sum(k) + 2.0 * a) / n) / n;
        let size = from.squares(k) + to.squares(k) + d.abs() * (d.abs() + by.least.abs() + by.most.abs());
        let rounding = (from.drift(k) + to.drift(k) + 16.0 * U * size) / n;
        let least = more(by.least).min(more(by.most)) - rounding;
        let deviation = |variance: f64| variance.max(0.0).sqrt();
        rise += weight
            * if least >= 0.0 {
                // The rise is least where the variance is largest.
                least / (deviation(variance.most) + deviation(variance.most + least)).max(f64::MIN_POSITIVE)
            } else {
                // The fall is largest where the variance is smallest. The variance is at least as large as its fall.
                least / (deviation(variance.least.max(-least)) + deviation(variance.least + least))
            };
    }
    rise
}

/// Tells if two running statistics have the same centres.
pub fn comparable(a: &Running, b: &Running) -> bool {
    a.n() == b.n() && (0..LANES).all(|k| a.centre(k).to_bits() == b.centre(k).to_bits())
}
