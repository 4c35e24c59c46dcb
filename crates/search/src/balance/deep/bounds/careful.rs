//! Sums that are rounded down.

use super::ROUNDING;

/// A sum that remembers the size of its terms, for the bound of its rounding error.
#[derive(Default)]
pub(super) struct CarefulSum {
    sum: f64,
    size: f64,
}

impl CarefulSum {
    /// Adds a term; `size` is the sum of the absolute values of what it was computed from.
    pub(super) fn add(&mut self, term: f64, size: f64) {
        self.sum += term;
        self.size += size;
    }

    /// A number that is not above the exact sum.
    pub(super) fn lower(&self) -> f64 {
        self.sum - ROUNDING * self.size
    }
}
