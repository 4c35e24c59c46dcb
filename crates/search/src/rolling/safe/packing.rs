//! Packs nodes into as few batches as possible, which then take as little time as possible.
//!
//! 1. Three greedy orders give a start: most neighbours first, longest time first, and most restricted first (DSATUR).
//! 2. Iterated greedy colouring: the nodes enter again batch by batch, with the batches in another order. The number
//!    of batches never rises, since each old batch fits into one new batch.
//! 3. For small clusters, an exhaustive search with a budget looks for one batch less, then for shorter batches.

mod limits;

use std::cmp::Reverse;

use htools_model::outage::{OutageBatches, OutageRules};

/// Work of the iterated colouring, in steps of a few nanoseconds.
const ROUNDS_WORK: usize = 160_000_000;
/// Largest number of nodes for exhaustive searches.
const SMALL: usize = 128;

/// A packing. Less is better: fewer batches, then less time in total.
#[derive(Debug, Clone, PartialEq, Eq)]
struct BatchPacking {
    batches: Vec<Vec<usize>>,
    /// Sum of the longest times of the batches.
    time: u64,
}

/// Packs all nodes. `times` are those of the nodes.
pub(super) fn pack(rules: &OutageRules, times: &[u64]) -> Vec<Vec<usize>> {
    let packer = Packer { rules, times };
    let mut best = packer.greedy(packer.by_degree());
    for order in [packer.by_time(), packer.by_saturation()] {
        packer.improve(&mut best, order);
    }
    packer.iterate(&mut best);
    if rules.len() <= SMALL {
        limits::drop_batches(&packer, &mut best);
        packer.shorten(&mut best);
        limits::shorten(&packer, &mut best);
    }
    best.batches
}

struct Packer<'a> {
    rules: &'a OutageRules,
    times: &'a [u64],
}

impl Packer<'_> {
    fn greedy(&self, order: impl IntoIterator<Item = usize>) -> BatchPacking {
        let mut batches = OutageBatches::new(self.rules);
        for node in order {
            batches.put_first(node);
        }
        self.packing(batches.into_batches())
    }

    fn packing(&self, batches: Vec<Vec<usize>>) -> BatchPacking {
        let time = batches.iter().fold(0_u64, |sum, batch| sum.saturating_add(self.longest(batch)));
        BatchPacking { batches, time }
    }

    /// Replaces the best packing by these batches without the empty ones, if they are better.
    fn keep_better(&self, best: &mut BatchPacking, mut batches: Vec<Vec<usize>>) {
        batches.retain(|batch| !batch.is_empty());
        let new = self.packing(batches);
        if (new.batches.len(), new.time) < (best.batches.len(), best.time) {
            *best = new;
        }
    }

    fn longest(&self, batch: &[usize]) -> u64 {
        batch.iter().map(|node| self.times[*node]).max().unwrap_or(0)
    }

    fn by_degree(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.rules.len()).collect();
        order.sort_by_key(|node| {
            (Reverse(self.rules.neighbours(*node).len()), Reverse(self.times[*node]), *node)
        });
        order
    }

    fn by_time(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.rules.len()).collect();
        order.sort_by_key(|node| (Reverse(self.times[*node]), *node));
        order
    }

    /// Most different batches among the neighbours first, then most neighbours.
    fn by_saturation(&self) -> Vec<usize> {
        let count = self.rules.len();
        let mut batches = OutageBatches::new(self.rules);
        let mut near: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut open: Vec<usize> = (0..count).collect();
        let mut order = Vec::with_capacity(count);
        let urgency = |near: &[Vec<usize>], node: usize| {
            (near[node].len(), self.rules.neighbours(node).len(), Reverse(node))
        };
        while let Some(at) = (0..open.len()).max_by_key(|at| urgency(&near, open[*at])) {
            let node = open.swap_remove(at);
            let batch = batches.put_first(node);
            for other in self.rules.neighbours(node) {
                if !near[*other].contains(&batch) {
                    near[*other].push(batch);
                }
            }
            order.push(node);
        }
        order
    }

    /// Replaces the best packing by the greedy one of an order, if that is better. Returns true if it is as good.
    fn improve(&self, best: &mut BatchPacking, order: impl IntoIterator<Item = usize>) -> bool {
        let new = self.greedy(order);
        let rank = |packing: &BatchPacking| (packing.batches.len(), packing.time);
        let is_as_good = rank(&new) <= rank(best);
        if is_as_good {
            *best = new;
        }
        is_as_good
    }

    /// Iterated greedy colouring, with five orders of batches in turn.
    fn iterate(&self, best: &mut BatchPacking) {
        let count = self.rules.len();
        let degrees: usize = (0..count).map(|node| self.rules.neighbours(node).len()).sum();
        let takeovers: usize = self.rules.takeovers().iter().map(|one| one.loads.len().pow(2)).sum();
        let work = count * best.batches.len().max(4) + degrees + takeovers * 4;
        let rounds = (ROUNDS_WORK / (work * 8).max(1)).clamp(5, 250);
        for round in 0..rounds {
            let mut batches = best.batches.clone();
            for batch in &mut batches {
                batch.sort_by_key(|node| (Reverse(self.times[*node]), *node));
            }
            match round % 5 {
                0 => batches.reverse(),
                1 => batches.sort_by_key(|batch| Reverse(batch.len())),
                2 => batches.sort_by_key(|batch| Reverse(self.longest(batch))),
                3 => batches.sort_by_key(Vec::len),
                _ => {
                    let by = (round / 5) % batches.len().max(1);
                    batches.rotate_left(by);
                }
            }
            self.improve(best, batches.into_iter().flatten());
        }
    }

    /// Moves the longest nodes of batches to batches that take longer anyway.
    fn shorten(&self, best: &mut BatchPacking) {
        let mut batches = OutageBatches::new(self.rules);
        for (number, batch) in best.batches.iter().enumerate() {
            batch.iter().for_each(|node| batches.put(*node, number));
        }
        for node in self.by_time() {
            let longest = |batch: &Vec<usize>| self.longest(batch);
            let mut order: Vec<usize> = (0..batches.batches().len()).collect();
            order.sort_by_key(|batch| Reverse(longest(&batches.batches()[*batch])));
            for batch in order {
                if batches.batches()[batch].contains(&node) {
                    break;
                }
                if batches.fits(node, batch) {
                    batches.put(node, batch);
                    break;
                }
            }
        }
        self.keep_better(best, batches.into_batches());
    }
}
