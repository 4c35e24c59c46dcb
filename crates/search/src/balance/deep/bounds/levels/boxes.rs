//! Branch and bound over the numbers of nodes by level.
//!
//! A box says, for each class of nodes and each level, how many nodes keep at least that level: at least `low` and at
//! most `high`. The cost of the reserves rises with these numbers, and what the other deviations are at least falls, so
//! the cost at `low` and the deviations at `high` together are a bound for the box.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use ordered_float::OrderedFloat;
use rayon::prelude::*;

use super::super::ROUNDING;
use super::cone::{MOST_VARIABLES, bundled, directions};
use super::prices::{self, NodeGroup};
use super::problem::{ItemKind, LevelProblem};
use crate::Deadline;

/// Number of boxes that are split at the same time, whatever the number of threads.
const SPLIT_AT_ONCE: usize = 4;
/// Maximum number of rounds in which boxes are split, with and without a known placement.
const ROUNDS: usize = 80;
const FIRST_ROUNDS: usize = 10;
/// Number of times that all sides of the first box are cut.
const SHRINKING_ROUNDS: usize = 2;

/// Numbers of nodes that keep at least each level, for the levels of one class after those of another.
type LevelCounts = Vec<usize>;

/// A set of choices of level counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CountBox {
    low: LevelCounts,
    high: LevelCounts,
}

/// A box with its bound.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OpenBox {
    bound: OrderedFloat<f64>,
    counts: CountBox,
}

/// Lower bound of the cost of the reserves and of the weighted deviations, or `known` if that is lower: the cost of a
/// placement, or infinity.
pub(in super::super) fn least(problem: &LevelProblem, known: f64, deadline: &Deadline) -> f64 {
    let heights = problem.heights();
    let bundles = bundled(&problem.items, problem.classes.len() * (heights + 1), MOST_VARIABLES);
    let high = problem.classes.iter().flat_map(|class| vec![class.nodes; heights]).collect();
    let mut all = CountBox { low: vec![0; problem.classes.len() * heights], high };
    if known.is_finite() {
        all.shrink(problem, &bundles, known, deadline);
    }
    let mut open = BinaryHeap::from([Reverse(all.bounded(problem, &bundles, f64::NEG_INFINITY))]);
    for _ in 0..if known.is_finite() { ROUNDS } else { FIRST_ROUNDS } {
        if deadline.reached().is_some() {
            break;
        }
        let mut split = Vec::new();
        while split.len() < SPLIT_AT_ONCE {
            let Some(best) = open.peek_mut().filter(|best| !best.0.counts.is_single()) else { break };
            split.push(PeekMut::pop(best).0);
        }
        if split.is_empty() {
            break;
        }
        let parts = split.par_iter().flat_map(|whole| {
            let halves = whole.counts.halves(whole.counts.widest(problem), heights);
            let bounded = |half: CountBox| half.bounded(problem, &bundles, whole.bound.0);
            halves.into_par_iter().map(bounded)
        });
        open.extend(parts.filter(|part| part.bound.0 < known).map(Reverse).collect::<Vec<_>>());
    }
    open.peek().map_or(known, |best| best.0.bound.0.min(known))
}

impl CountBox {
    fn is_single(&self) -> bool {
        self.low == self.high
    }

    /// The side along which the cost of the reserves differs most.
    fn widest(&self, problem: &LevelProblem) -> usize {
        let heights = problem.heights();
        let width = |side: &usize| {
            let (class, level) = (side / heights, side % heights);
            let lower = problem.levels.get(level + 1).copied().unwrap_or(0.0);
            let step = (problem.levels[level] - lower) * problem.classes[class].of_one_mib;
            OrderedFloat((self.high[*side] - self.low[*side]) as f64 * step)
        };
        (0..self.low.len()).max_by_key(|side| (width(side), Reverse(*side))).unwrap_or(0)
    }

    /// The box with its bound, which is at least that of the box around it.
    fn bounded(self, problem: &LevelProblem, bundles: &[ItemKind], around: f64) -> OpenBox {
        let bound = OrderedFloat(self.bound(problem, bundles).max(around));
        OpenBox { bound, counts: self }
    }

    /// Lower bound of the cost of all placements in the box.
    fn bound(&self, problem: &LevelProblem, bundles: &[ItemKind]) -> f64 {
        cost_of_reserves(problem, &self.low) + least_deviations(problem, bundles, &self.high)
    }

    /// Cuts off the ends of each side where no placement costs less than `known`.
    fn shrink(&mut self, problem: &LevelProblem, bundles: &[ItemKind], known: f64, deadline: &Deadline) {
        let heights = problem.heights();
        for _ in 0..SHRINKING_ROUNDS {
            for side in (0..self.low.len()).rev() {
                if deadline.reached().is_some() {
                    return;
                }
                let is_dear = |part: &CountBox| part.bound(problem, bundles) >= known;
                // The least number up to which everything is dear, and the largest from which on it is.
                let (mut cut, mut open) = (self.low[side], self.high[side]);
                while cut < open {
                    let middle = usize::midpoint(cut, open);
                    let mut below = self.clone();
                    below.high[side] = middle;
                    below.settle(heights);
                    if is_dear(&below) { cut = middle + 1 } else { open = middle }
                }
                self.low[side] = cut;
                let (mut open, mut cut) = (self.low[side], self.high[side]);
                while open < cut {
                    let middle = usize::midpoint(open, cut);
                    let mut above = self.clone();
                    above.low[side] = middle + 1;
                    above.settle(heights);
                    if is_dear(&above) { cut = middle } else { open = middle + 1 }
                }
                self.high[side] = cut;
                self.settle(heights);
            }
        }
    }

    /// The box in two halves along a side that is longer than one.
    fn halves(&self, side: usize, heights: usize) -> [CountBox; 2] {
        let middle = usize::midpoint(self.low[side], self.high[side]);
        let (mut below, mut above) = (self.clone(), self.clone());
        below.high[side] = middle;
        above.low[side] = middle + 1;
        below.settle(heights);
        above.settle(heights);
        [below, above]
    }

    /// Makes the numbers grow from each level to the next lower one.
    fn settle(&mut self, heights: usize) {
        for class in self.low.chunks_mut(heights) {
            for level in 1..class.len() {
                class[level] = class[level].max(class[level - 1]);
            }
        }
        for class in self.high.chunks_mut(heights) {
            for level in (1..class.len()).rev() {
                class[level - 1] = class[level - 1].min(class[level]);
            }
        }
    }
}

/// The groups of nodes with these level counts.
fn groups(problem: &LevelProblem, counts: &[usize]) -> Vec<NodeGroup> {
    let mut groups = Vec::new();
    for (class, own) in counts.chunks(problem.heights()).enumerate() {
        let mut higher = 0;
        for (level, count) in own.iter().copied().chain([problem.classes[class].nodes]).enumerate() {
            if count > higher {
                groups.push(NodeGroup { class, level, nodes: count - higher });
            }
            higher = count;
        }
    }
    groups
}

/// The cost of the reserves if each node keeps exactly its level.
fn cost_of_reserves(problem: &LevelProblem, counts: &[usize]) -> f64 {
    let n = problem.nodes as f64;
    let kept: Vec<(f64, f64)> = groups(problem, counts)
        .iter()
        .map(|group| {
            let level = problem.levels.get(group.level).copied().unwrap_or(0.0);
            (group.nodes as f64, level * problem.classes[group.class].of_one_mib)
        })
        .collect();
    let sum: f64 = kept.iter().map(|(nodes, reserve)| nodes * reserve).sum();
    let mean = sum / n;
    let squares: f64 = kept.iter().map(|(nodes, reserve)| nodes * (reserve - mean).powi(2)).sum();
    let cost = problem.of_sum * sum + problem.of_deviation * (squares / n).sqrt();
    cost * (1.0 - ROUNDING)
}

/// Lower bound of the weighted deviations with at most these level counts; infinity if some secondary has no node.
fn least_deviations(problem: &LevelProblem, bundles: &[ItemKind], counts: &[usize]) -> f64 {
    let groups = groups(problem, counts);
    let has_node = |item: &ItemKind| {
        item.secondary.is_none() || !item.stays || groups.iter().any(|group| group.level <= item.level)
    };
    if !problem.items.iter().all(has_node) {
        return f64::INFINITY;
    }
    let alone: f64 =
        problem.weights.iter().zip(&problem.least).map(|(weight, least)| weight * least).sum::<f64>()
            * (1.0 - ROUNDING);
    let prices = directions(problem, bundles, &groups);
    prices.map_or(alone, |prices| prices::bound(problem, &groups, &prices).max(alone))
}
