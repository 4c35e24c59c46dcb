//! Branch and bound over ranges of the deviations, of the mean of the reserves' levels, and of the numbers of nodes by
//! level.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use ordered_float::OrderedFloat;
use rayon::prelude::*;

use super::super::ROUNDING;
use super::super::levels::{ItemKind, bundled};
use super::cone::{Proposal, propose};
use super::figures::{Range, roles};
use super::prices::{RangeBox, bound};
use super::problem::RangeProblem;
use crate::Deadline;

/// Maximum number of variables of a program, apart from a few. Items are bundled until they fit.
const MOST_VARIABLES: usize = 4_000;
/// Number of boxes that are split at the same time, whatever the number of threads.
const SPLIT_AT_ONCE: usize = 8;
/// Maximum number of rounds in which boxes are split. Large programs have fewer: this number over their variables.
const ROUNDS: usize = 20;
const OVER_VARIABLES: usize = 16_000;
/// Number of rounds of the largest programs. Clusters of few nodes have no more, as the bound by levels serves them better.
const FEWEST_ROUNDS: usize = 3;
const FEW_NODES: f64 = 12.0;
/// Errors below this share of the bound are not worth a split.
const SMALL_ERROR: f64 = 1e-6;

/// A box of ranges; the shares of nodes are given by whole numbers of nodes.
#[derive(Debug, Clone)]
struct CountedBox {
    ranges: RangeBox,
    /// For each level above 0, the fewest and the most nodes with this level or a higher one.
    counts: Vec<(usize, usize)>,
}

/// A figure whose range is split.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// The deviation of a lane, at this number.
    Deviation(usize, f64),
    /// The mean of the reserves' levels, at this number.
    Mean(f64),
    /// The nodes with a level or a higher one: up to this number, and from the next one on.
    Count(usize, usize),
}

/// A box with its bound.
struct OpenRanges {
    bound: OrderedFloat<f64>,
    /// Number in the order of creation, so that equal bounds have an order.
    number: usize,
    within: CountedBox,
    cut: Option<Cut>,
}

/// Lower bound of the cost of the reserves and of the weighted deviations, or `known` if that is lower: the cost of a
/// placement.
pub(in super::super) fn least(problem: &RangeProblem, known: f64, deadline: &Deadline) -> f64 {
    let Some(first) = CountedBox::of(problem, known) else { return f64::NEG_INFINITY };
    let bundles = bundled(&problem.items, problem.costs.levels.len(), MOST_VARIABLES);
    let mut number = 0;
    let mut open = BinaryHeap::from([Reverse(first.bounded(problem, &bundles, f64::NEG_INFINITY))]);
    for _ in 0..rounds(problem, &bundles) {
        if deadline.reached().is_some() {
            break;
        }
        let mut split = Vec::new();
        while split.len() < SPLIT_AT_ONCE {
            let Some(best) = open.peek_mut().filter(|best| best.0.cut.is_some()) else { break };
            split.push(PeekMut::pop(best).0);
        }
        if split.is_empty() {
            break;
        }
        let parts = split.par_iter().flat_map(|whole| {
            let halves: Vec<CountedBox> =
                whole.cut.map_or(Vec::new(), |cut| whole.within.halves(problem, cut));
            halves.into_par_iter().map(|half| half.bounded(problem, &bundles, whole.bound.0))
        });
        for mut part in parts.filter(|part| part.bound.0 < known).collect::<Vec<_>>() {
            number += 1;
            part.number = number;
            open.push(Reverse(part));
        }
    }
    open.peek().map_or(known, |best| best.0.bound.0.min(known))
}

/// Number of rounds in which boxes are split.
fn rounds(problem: &RangeProblem, bundles: &[ItemKind]) -> usize {
    let roles: usize = bundles.iter().map(|item| roles(item).count()).sum();
    let most = if problem.nodes < FEW_NODES { FEWEST_ROUNDS } else { ROUNDS };
    // A class has an arrival and a square for each lane.
    let at_level = roles + problem.classes.len() * 2 * problem.means.len();
    (OVER_VARIABLES / (at_level * problem.costs.levels.len()).max(1)).clamp(FEWEST_ROUNDS, most)
}

impl CountedBox {
    /// The box of all placements that cost less than `known`; `None` if no number is positive and finite.
    fn of(problem: &RangeProblem, known: f64) -> Option<CountedBox> {
        let highest = problem.costs.levels[0];
        let least: f64 = problem
            .costs
            .weights
            .iter()
            .zip(&problem.costs.least)
            .map(|(weight, least)| weight * least)
            .sum();
        let left = (known - least) * (1.0 + ROUNDING) + ROUNDING * (known.abs() + least);
        if !(left > 0.0 && left.is_finite() && highest > 0.0) {
            return None;
        }
        let lane = |(weight, least): (&f64, &f64)| Range {
            low: least * (1.0 - ROUNDING),
            high: least + left / weight,
        };
        let mut deviations: Vec<Range> =
            problem.costs.weights.iter().zip(&problem.costs.least).map(lane).collect();
        // No values between 0 and the highest level deviate more than half of that.
        deviations.push(Range { low: 0.0, high: (left / problem.costs.of_deviation).min(0.5 * highest) });
        let mean = Range { low: 0.0, high: (left / (problem.costs.of_sum * problem.nodes)).min(highest) };
        let counts = vec![(0, problem.nodes as usize); problem.costs.levels.len() - 1];
        let ends = deviations.iter().chain([&mean]);
        let sane = ends.into_iter().all(|range| range.high.is_finite() && range.low >= 0.0);
        let shares = Vec::new();
        let all = CountedBox { ranges: RangeBox { deviations, mean, shares }, counts };
        sane.then(|| all.settled(problem)).flatten()
    }

    /// Makes the ranges fit each other; `None` if one is empty.
    fn settled(mut self, problem: &RangeProblem) -> Option<CountedBox> {
        let levels = self.counts.len();
        for at in 1..levels {
            self.counts[at].0 = self.counts[at].0.max(self.counts[at - 1].0);
        }
        for at in (1..levels).rev() {
            self.counts[at - 1].1 = self.counts[at - 1].1.min(self.counts[at].1);
        }
        let share = |(low, high): &(usize, usize)| Range {
            low: *low as f64 / problem.nodes * (1.0 - ROUNDING),
            high: *high as f64 / problem.nodes * (1.0 + ROUNDING),
        };
        let shares: Vec<Range> = self.counts.iter().map(share).collect();
        let step = |at: usize| problem.costs.levels[at] - problem.costs.levels[at + 1];
        let low: f64 = (0..levels).map(|at| shares[at].low * step(at)).sum();
        let high: f64 = (0..levels).map(|at| shares[at].high * step(at)).sum();
        let mean = &mut self.ranges.mean;
        mean.low = mean.low.max(low * (1.0 - ROUNDING));
        mean.high = mean.high.min(high * (1.0 + ROUNDING));
        self.ranges.shares = shares;
        let is_empty = self.counts.iter().any(|(low, high)| low > high) || mean.low > mean.high;
        (!is_empty).then_some(self)
    }

    /// The box with its bound, which is at least that of the box around it, and the place to split it.
    fn bounded(self, problem: &RangeProblem, bundles: &[ItemKind], around: f64) -> OpenRanges {
        let Some(proposal) = propose(problem, bundles, &self.ranges) else {
            let cut = self.widest(problem);
            return OpenRanges { bound: OrderedFloat(around), number: 0, within: self, cut };
        };
        let bound = bound(problem, &self.ranges, &proposal.prices).max(around);
        let cut = self.worst(problem, &proposal, bound);
        OpenRanges { bound: OrderedFloat(bound), number: 0, within: self, cut }
    }

    /// The figure for which the bound is most in error at the proposal; `None` if none is worth a split.
    fn worst(&self, problem: &RangeProblem, proposal: &Proposal, bound: f64) -> Option<Cut> {
        let mut worst: (f64, Option<Cut>) = (SMALL_ERROR * bound.abs(), None);
        let mut see = |error: f64, cut: Cut| {
            if error > worst.0 {
                worst = (error, Some(cut));
            }
        };
        let weights = problem.costs.weights.iter().chain([&problem.costs.of_deviation]);
        for (lane, (weight, range)) in weights.zip(&self.ranges.deviations).enumerate() {
            let (error, deviation) = range.chord_error(proposal.variances[lane]);
            see(weight * error, Cut::Deviation(lane, range.inside(deviation)));
        }
        let Range { low, high } = self.ranges.mean;
        let at = proposal.mean.clamp(low, high);
        let price = proposal.prices.variances[problem.costs.weights.len()];
        see(price * (at - low) * (high - at), Cut::Mean(self.ranges.mean.inside(at)));
        for (level, (low, high)) in self.counts.iter().enumerate().filter(|(_, range)| range.0 < range.1) {
            let count = proposal.shares[level] * problem.nodes;
            let fraction = count - count.floor();
            let step = problem.costs.levels[level] - problem.costs.levels[level + 1];
            let upto = (count.floor().max(0.0) as usize).clamp(*low, *high - 1);
            see(problem.costs.of_sum * step * fraction.min(1.0 - fraction), Cut::Count(level, upto));
        }
        worst.1
    }

    /// The middle of the deviation with the widest range.
    fn widest(&self, problem: &RangeProblem) -> Option<Cut> {
        let weights = problem.costs.weights.iter().chain([&problem.costs.of_deviation]);
        let all = weights.zip(&self.ranges.deviations).enumerate();
        let (lane, (_, range)) = all.max_by(|(at, a), (other, b)| {
            let width = |(weight, range): &(&f64, &Range)| *weight * (range.high - range.low);
            width(a).total_cmp(&width(b)).then(other.cmp(at))
        })?;
        let middle = f64::midpoint(range.low, range.high);
        (range.low < middle && middle < range.high).then_some(Cut::Deviation(lane, middle))
    }

    /// The parts of the box on both sides of a cut, without empty ones.
    fn halves(&self, problem: &RangeProblem, cut: Cut) -> Vec<CountedBox> {
        let (mut below, mut above) = (self.clone(), self.clone());
        match cut {
            Cut::Deviation(lane, at) => {
                below.ranges.deviations[lane].high = at;
                above.ranges.deviations[lane].low = at;
            }
            Cut::Mean(at) => {
                below.ranges.mean.high = at;
                above.ranges.mean.low = at;
            }
            Cut::Count(level, upto) => {
                below.counts[level].1 = upto;
                above.counts[level].0 = upto + 1;
            }
        }
        [below, above].into_iter().filter_map(|half| half.settled(problem)).collect()
    }
}

impl PartialEq for OpenRanges {
    fn eq(&self, other: &OpenRanges) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for OpenRanges {}

impl PartialOrd for OpenRanges {
    fn partial_cmp(&self, other: &OpenRanges) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OpenRanges {
    fn cmp(&self, other: &OpenRanges) -> std::cmp::Ordering {
        (self.bound, self.number).cmp(&(other.bound, other.number))
    }
}
