//! Better packings of small clusters, by exhaustive searches within limits of time for each batch.

use htools_model::outage::{BatchSearch, BatchTimes, search_batches};

use super::{Packer, Packing};

/// Placements that all searches for fewer batches may try.
const FEWER_BUDGET: u64 = 20_000;
/// Placements that all searches for shorter batches may try.
const SHORTER_BUDGET: u64 = 40_000;
/// Placements of a single search for shorter batches.
const SINGLE_BUDGET: u64 = 1_000;

/// Searches packings with one batch less, as long as there are any within the budget.
pub(super) fn drop_batches(packer: &Packer<'_>, best: &mut Packing) {
    let nodes: Vec<usize> = (0..packer.rules.len()).collect();
    let mut budget = FEWER_BUDGET;
    while best.batches.len() > 1 {
        let limits = vec![u64::MAX; best.batches.len() - 1];
        let times = BatchTimes { of_node: packer.times, limits: &limits };
        match search_batches(packer.rules, &nodes, times, &mut budget) {
            BatchSearch::Found(batches) => packer.keep_better(best, batches),
            BatchSearch::Impossible | BatchSearch::Undecided => return,
        }
    }
}

/// Lowers the limits of time of the batches, which are in descending order.
///
/// 1. From the second longest batch on, with all later ones below it.
/// 2. From the shortest batch on.
/// 3. From the limits of the best packing: one limit is raised to the one before it, and another is lowered.
pub(super) fn lower(packer: &Packer<'_>, best: &mut Packing) {
    let mut distinct: Vec<u64> = packer.times.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let Some(longest) = distinct.last().copied() else { return };
    let nodes = (0..packer.rules.len()).collect();
    let mut search = LimitSearch { packer, nodes, distinct, budget: SHORTER_BUDGET };
    let count = best.batches.len();
    let mut limits = vec![longest; count];
    (1..count).for_each(|at| search.lower_range(best, &mut limits, at..count));
    let mut limits = vec![longest; count];
    (1..count).rev().for_each(|at| search.lower_range(best, &mut limits, at..at + 1));
    while search.budget > 0 && search.exchange(best) {}
}

struct LimitSearch<'a> {
    packer: &'a Packer<'a>,
    nodes: Vec<usize>,
    /// The times of nodes, in ascending order.
    distinct: Vec<u64>,
    budget: u64,
}

impl LimitSearch<'_> {
    /// Lowers a range of equal limits as far as packings are found. The limits stay in descending order.
    fn lower_range(&mut self, best: &mut Packing, limits: &mut [u64], range: std::ops::Range<usize>) {
        let position = |limit: u64| self.distinct.partition_point(|time| *time < limit);
        let least = limits.get(range.end).map_or(0, |limit| position(*limit));
        let (mut low, mut high) = (least, position(limits[range.start]));
        while low < high {
            let middle = (low + high) / 2;
            let mut tried = limits.to_vec();
            tried[range.clone()].fill(self.distinct[middle]);
            if self.search(best, &tried) { high = middle } else { low = middle + 1 }
        }
        limits[range].fill(self.distinct[high]);
    }

    /// Lowers one limit of the best packing, alone or after another one was raised. Returns true if that helps.
    fn exchange(&mut self, best: &mut Packing) -> bool {
        let mut limits: Vec<u64> = best.batches.iter().map(|batch| self.packer.longest(batch)).collect();
        limits.sort_unstable_by(|a, b| b.cmp(a));
        let before = best.time;
        for lowered in (1..limits.len()).rev() {
            for raised in (1..limits.len()).rev() {
                let mut tried = limits.clone();
                if raised != lowered {
                    tried[raised] = tried[raised - 1];
                }
                self.lower_one(best, tried, lowered);
                if best.time < before {
                    return true;
                }
            }
        }
        false
    }

    /// Lowers one limit so far that the sum of the limits is less than the time of the best packing, and less still if
    /// there is such a packing.
    fn lower_one(&mut self, best: &mut Packing, mut limits: Vec<u64>, at: usize) {
        let others = limits.iter().enumerate().filter(|(other, _)| *other != at);
        let others = others.fold(0_u64, |sum, (_, limit)| sum.saturating_add(*limit));
        loop {
            let Some(most) = best.time.checked_sub(others) else { return };
            let below = self.distinct.partition_point(|time| *time < most);
            let Some(limit) = below.checked_sub(1).map(|position| self.distinct[position]) else { return };
            limits[at] = limit;
            let mut tried = limits.clone();
            tried.sort_unstable_by(|a, b| b.cmp(a));
            if !self.search(best, &tried) {
                return;
            }
        }
    }

    /// Searches a packing within limits, and keeps it if it is the best one. Returns true if there is one.
    fn search(&mut self, best: &mut Packing, limits: &[u64]) -> bool {
        let mut budget = SINGLE_BUDGET.min(self.budget);
        let given = budget;
        let times = BatchTimes { of_node: self.packer.times, limits };
        let found = search_batches(self.packer.rules, &self.nodes, times, &mut budget);
        self.budget -= given - budget;
        match found {
            BatchSearch::Found(batches) => {
                self.packer.keep_better(best, batches);
                true
            }
            BatchSearch::Impossible | BatchSearch::Undecided => false,
        }
    }
}
