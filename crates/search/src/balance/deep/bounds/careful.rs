//! Sums and costs that know the size of their terms.

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

/// A cost, and the size of the terms that it was computed from.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CarefulCost {
    pub value: f64,
    pub size: f64,
}

impl CarefulCost {
    /// A cost that is never the least.
    pub(super) const NEVER: CarefulCost = CarefulCost { value: f64::INFINITY, size: 0.0 };

    /// A single term.
    pub(super) fn of(term: f64) -> CarefulCost {
        CarefulCost { value: term, size: term.abs() }
    }

    /// The sum of two costs.
    pub(super) fn and(self, other: CarefulCost) -> CarefulCost {
        CarefulCost { value: self.value + other.value, size: self.size + other.size }
    }

    /// The smaller of two costs, with the larger size.
    pub(super) fn or(self, other: CarefulCost) -> CarefulCost {
        CarefulCost { value: self.value.min(other.value), size: self.size.max(other.size) }
    }

    /// The cost of some amounts by their slopes.
    pub(super) fn paid<'a>(amounts: &[f64], slopes: impl Iterator<Item = &'a f64> + Clone) -> CarefulCost {
        let parts = || amounts.iter().zip(slopes.clone()).map(|(amount, slope)| amount * slope);
        CarefulCost { value: parts().sum(), size: parts().map(f64::abs).sum() }
    }
}
