//! Search for the division with the least sum of times, within a budget.

use super::{BatchSearch, BatchTimes, OutageRules, search_batches};

/// Most placements of a single search for a division.
const SINGLE_BUDGET: u64 = 2_000;

/// Result of a search for the shortest division. The time of a division is the sum over its batches of the longest time
/// of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortestBatches {
    /// The shortest division found, if it is shorter than the known one.
    pub batches: Option<Vec<Vec<usize>>>,
    /// Lower bound of the time of any division, as far as it is below the known time.
    pub least: u64,
}

/// Searches the shortest division of all nodes into at most `most` batches. `known` is the time of a known division;
/// longer ones are of no interest. Each placement of a node takes 1 from the budget.
///
/// A division is described by the longest times of its batches, in descending order. They are chosen one after another:
/// the next one must be so long that all longer nodes fit into the batches before it.
pub fn shortest_batches(
    rules: &OutageRules,
    times: &[u64],
    most: usize,
    known: u64,
    budget: &mut u64,
) -> ShortestBatches {
    let mut order: Vec<usize> = (0..rules.len()).collect();
    let time = |node: usize| times.get(node).copied().unwrap_or(0);
    order.sort_by_key(|node| (std::cmp::Reverse(time(*node)), *node));
    let mut distinct: Vec<u64> = order.iter().map(|node| time(*node)).collect();
    distinct.dedup();
    distinct.reverse();
    let mut search = ShortestSearch {
        rules,
        times,
        order,
        distinct,
        most,
        best: known,
        found: None,
        least: known,
        rest: Vec::new(),
        budget,
    };
    let Some(longest) = search.distinct.last().copied() else {
        return ShortestBatches { batches: None, least: 0 };
    };
    search.rest = search.least_limits();
    search.extend(&mut vec![longest], longest);
    ShortestBatches { least: search.least.min(search.best), batches: search.found }
}

struct ShortestSearch<'a> {
    rules: &'a OutageRules,
    times: &'a [u64],
    /// All nodes, the longest first.
    order: Vec<usize>,
    /// The times of nodes, in ascending order.
    distinct: Vec<u64>,
    most: usize,
    /// The least time of a known division.
    best: u64,
    found: Option<Vec<Vec<usize>>>,
    /// Lower bound of the time of all divisions that were neither found nor ruled out.
    least: u64,
    /// For each number of batches, the least sum of the limits of all further batches.
    rest: Vec<u64>,
    budget: &'a mut u64,
}

impl ShortestSearch<'_> {
    /// Searches a division of all nodes that take longer than `time` into batches with these limits.
    fn divide(&mut self, time: Option<u64>, limits: &[u64]) -> BatchSearch {
        let of = |node: usize| self.times.get(node).copied().unwrap_or(0);
        let end = self.order.partition_point(|node| time.is_none_or(|time| of(*node) > time));
        let mut single = SINGLE_BUDGET.min(*self.budget);
        let given = single;
        let times = BatchTimes { of_node: self.times, limits };
        let result = search_batches(self.rules, &self.order[..end], times, &mut single);
        *self.budget -= given - single;
        result
    }

    /// The position of the least limit of the next batch for which the longer nodes are not proved to need more batches
    /// than those with `limits`.
    fn next_limit(&mut self, limits: &[u64]) -> usize {
        let last = limits.last().copied().unwrap_or(u64::MAX);
        let (mut low, mut high) = (0, self.distinct.partition_point(|time| *time < last));
        while low < high {
            let middle = (low + high) / 2;
            match self.divide(Some(self.distinct[middle]), limits) {
                BatchSearch::Impossible => low = middle + 1,
                BatchSearch::Found(_) | BatchSearch::Undecided => high = middle,
            }
        }
        low.min(self.distinct.len() - 1)
    }

    /// Sums of the least limits of batches, from each number of batches on. Each limit is the least one if all batches
    /// before it may take any time.
    fn least_limits(&mut self) -> Vec<u64> {
        let mut least = Vec::new();
        while least.len() < self.order.len() {
            let limits = vec![u64::MAX; least.len()];
            if self.divide(None, &limits) != BatchSearch::Impossible {
                break;
            }
            let at = self.next_limit(&limits);
            least.push(self.distinct[at]);
        }
        let mut sum = 0_u64;
        let mut rest: Vec<u64> = least
            .iter()
            .rev()
            .map(|limit| {
                sum = sum.saturating_add(*limit);
                sum
            })
            .collect();
        rest.reverse();
        rest
    }

    /// Least sum of the limits of further batches after `count`.
    fn rest(&self, count: usize) -> u64 {
        self.rest.get(count).copied().unwrap_or(0)
    }

    /// Tries all divisions whose longest batches have these limits, of which `sum` is the sum.
    fn extend(&mut self, limits: &mut Vec<u64>, sum: u64) {
        let bound = sum.saturating_add(self.rest(limits.len()));
        if bound >= self.best {
            return;
        }
        if *self.budget == 0 {
            self.least = self.least.min(bound);
            return;
        }
        match self.divide(None, limits) {
            BatchSearch::Found(batches) => {
                (self.best, self.found) = (sum, Some(batches));
                return;
            }
            BatchSearch::Undecided => self.least = self.least.min(sum),
            BatchSearch::Impossible => {}
        }
        if limits.len() >= self.most {
            return;
        }
        for at in self.next_limit(limits)..self.distinct.len() {
            let next = self.distinct[at];
            let sum = sum.saturating_add(next);
            let is_longer = limits.last().is_some_and(|last| next > *last);
            if is_longer || sum.saturating_add(self.rest(limits.len() + 1)) >= self.best {
                return;
            }
            limits.push(next);
            self.extend(limits, sum);
            limits.pop();
        }
    }
}
