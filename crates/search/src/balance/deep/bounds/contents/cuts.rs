//! Bounds by prices: each set of prices proves a bound for all numbers of nodes by level and all ranges of deviations.

use super::super::careful::CarefulSum;
use super::super::ranges::{Range, RangePrices, add_chord, costs_by_level};
use super::counts::NodesByLevel;
use super::grid::ContentGrid;
use super::knapsack::price;
use super::prices::{ContentPrices, NodeContent};
use super::problem::ContentProblem;

/// The bound that some prices prove.
#[derive(Debug, Clone)]
pub(super) struct ContentCut {
    pub prices: ContentPrices,
    /// Sum of the payments of all items over the number of nodes, and the sum of their sizes.
    paid: (f64, f64),
    /// For each level, the least cost of a node there, as a share of all nodes.
    pub levels: Vec<f64>,
    /// The grid for which it holds, if not for all placements.
    pub grid: Option<ContentGrid>,
}

impl ContentCut {
    /// The bound by whole contents, and contents that cost little by the prices. It holds for placements on the grid.
    pub(super) fn by_contents(
        problem: &ContentProblem<'_>,
        grid: ContentGrid,
        mut prices: ContentPrices,
    ) -> (ContentCut, Vec<NodeContent>) {
        let unit = prices.rounded(&grid);
        let priced = price(problem, &grid, (&prices, unit));
        let nodes = problem.nodes as f64;
        let counts = || {
            let primaries = problem.primaries.iter().map(|of| of.count);
            primaries.chain(problem.secondaries.iter().map(|of| of.count))
        };
        let sum: f64 = counts().zip(prices.pays()).map(|(count, pay)| count * pay).sum();
        let size: f64 = counts().zip(prices.pays()).map(|(count, pay)| count * pay.abs()).sum();
        let levels = priced.least.iter().map(|least| least / nodes).collect();
        (ContentCut { paid: (sum / nodes, size / nodes), levels, prices, grid: Some(grid) }, priced.contents)
    }

    /// The bound lane by lane, as by ranges.
    pub(super) fn by_ranges(problem: &ContentProblem<'_>, prices: &RangePrices) -> ContentCut {
        let costs = costs_by_level(problem.ranges, prices);
        let nodes = problem.nodes as f64;
        let levels = costs.levels.iter().map(|cost| cost / nodes).collect();
        let prices = ContentPrices {
            variances: prices.variances[..problem.lanes.len()].iter().map(|price| price.max(0.0)).collect(),
            primaries: problem.primaries.iter().map(|of| costs.items[of.sample][0]).collect(),
            secondaries: problem.secondaries.iter().map(|of| costs.items[of.sample][1]).collect(),
        };
        ContentCut { paid: costs.paid, levels, prices, grid: None }
    }

    /// Lower bound of the cost of placements with these numbers of nodes by level, and with deviations in these ranges.
    pub(super) fn bound(&self, problem: &ContentProblem<'_>, counts: &NodesByLevel, ranges: &[Range]) -> f64 {
        if self.grid.as_ref().is_some_and(|grid| !grid.covers(problem, ranges)) {
            return f64::NEG_INFINITY;
        }
        let mut sum = CarefulSum::default();
        sum.add(counts.cost, counts.cost);
        sum.add(self.paid.0, self.paid.1);
        let weights = &problem.ranges.costs.weights;
        for ((weight, range), price) in weights.iter().zip(ranges).zip(&self.prices.variances) {
            add_chord(&mut sum, *weight, *range, *price);
        }
        for (count, level) in counts.nodes.iter().zip(&self.levels).filter(|(count, _)| **count > 0) {
            if *level == f64::INFINITY {
                return f64::INFINITY;
            }
            let cost = f64::from(*count) * level;
            sum.add(cost, cost.abs());
        }
        sum.lower()
    }
}
