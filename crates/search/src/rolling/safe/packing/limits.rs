//! Better packings of small clusters, by exhaustive searches with a budget.

use htools_model::outage::{BatchSearch, BatchTimes, search_batches, shortest_batches};

use super::{BatchPacking, Packer};

/// Placements that all searches for fewer batches may try.
const FEWER_BUDGET: u64 = 20_000;
/// Placements that all searches for shorter batches may try.
const SHORTER_BUDGET: u64 = 40_000;

/// Searches packings with one batch less, as long as there are any within the budget.
pub(super) fn drop_batches(packer: &Packer<'_>, best: &mut BatchPacking) {
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

/// Searches a shorter packing with no more batches.
pub(super) fn shorten(packer: &Packer<'_>, best: &mut BatchPacking) {
    let mut budget = SHORTER_BUDGET;
    let found = shortest_batches(packer.rules, packer.times, best.batches.len(), best.time, &mut budget);
    if let Some(batches) = found.batches {
        packer.keep_better(best, batches);
    }
}
