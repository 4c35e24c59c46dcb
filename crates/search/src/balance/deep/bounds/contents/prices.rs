//! Prices of the variances and payments of the items, and contents of nodes that cost little by them.

use std::hash::{Hash, Hasher};

use super::grid::ContentGrid;
use super::problem::ContentProblem;

/// Sums of what the items of a node pay have fewer units than this, so that numbers of 32 bits are exact.
pub(super) const EXACT: f64 = (1 << 23) as f64;

/// Prices of the variances, and payments of the items.
#[derive(Debug, Clone)]
pub(super) struct ContentPrices {
    /// For each lane, the price of its variance; none below 0.
    pub variances: Vec<f64>,
    /// Payment of each primary, by type.
    pub primaries: Vec<f64>,
    /// Payment of each secondary, by type.
    pub secondaries: Vec<f64>,
}

/// Types of items, each with its number.
pub(super) type CountedTypes = Vec<(usize, u32)>;

/// The content of a node.
#[derive(Debug, Clone)]
pub(super) struct NodeContent {
    pub level: usize,
    /// The types of its primaries and secondaries in ascending order, each with its number.
    pub primaries: CountedTypes,
    pub secondaries: CountedTypes,
    /// For each lane, the square of the difference of its value and the mean.
    pub squares: Vec<f64>,
}

impl ContentPrices {
    /// The payments of all types.
    pub(super) fn pays(&self) -> impl Iterator<Item = f64> {
        self.primaries.iter().chain(&self.secondaries).copied()
    }

    /// Rounds what items pay to multiples of a unit, so that sums for the contents of a node are exact. Returns the unit.
    pub(super) fn rounded(&mut self, grid: &ContentGrid) -> f64 {
        let most = self.pays().fold(f64::MIN_POSITIVE, |most, pay| most.max(pay.abs()));
        let items = grid.most[0].max(grid.most[1]) as f64 + 1.0;
        let unit = (most * items / EXACT).log2().ceil().exp2();
        for pay in self.primaries.iter_mut().chain(&mut self.secondaries) {
            *pay = (*pay / unit).round() * unit;
        }
        unit
    }

    /// Prices between these and others, at a share of the way.
    pub(super) fn towards(&self, others: &ContentPrices, share: f64) -> ContentPrices {
        let mix = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + share * (b - a)).collect();
        ContentPrices {
            variances: mix(&self.variances, &others.variances),
            primaries: mix(&self.primaries, &others.primaries),
            secondaries: mix(&self.secondaries, &others.secondaries),
        }
    }

    /// Cost of a content beyond the least cost at its level, over the number of nodes.
    pub(super) fn excess(&self, problem: &ContentProblem<'_>, levels: &[f64], content: &NodeContent) -> f64 {
        let squares: f64 = content.squares.iter().zip(&self.variances).map(|(a, b)| a * b).sum();
        let paid = |types: &CountedTypes, pays: &[f64]| -> f64 {
            types.iter().map(|(at, number)| f64::from(*number) * pays[*at]).sum()
        };
        let paid = paid(&content.primaries, &self.primaries) + paid(&content.secondaries, &self.secondaries);
        let least = levels[content.level];
        (squares - paid) / problem.nodes as f64 - if least.is_finite() { least } else { 0.0 }
    }
}

impl NodeContent {
    /// The parts that tell contents apart.
    fn key(&self) -> (usize, &CountedTypes, &CountedTypes) {
        (self.level, &self.primaries, &self.secondaries)
    }
}

impl PartialEq for NodeContent {
    fn eq(&self, other: &NodeContent) -> bool {
        self.key() == other.key()
    }
}

impl Eq for NodeContent {}

impl Hash for NodeContent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}
