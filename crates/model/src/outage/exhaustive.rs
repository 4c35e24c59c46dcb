//! Exhaustive search for a division into a given number of batches, within a budget.

use super::OutageRules;

/// Most batches that the search can handle.
const MOST_BATCHES: usize = 64;

/// Result of a search for a division.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchSearch {
    /// A division: the nodes of each batch, in ascending order. Batches may be empty.
    Found(Vec<Vec<usize>>),
    /// There is none.
    Impossible,
    /// The budget ended first.
    Undecided,
}

/// Times, in any unit.
#[derive(Debug, Clone, Copy)]
pub struct BatchTimes<'t> {
    /// Time of each node.
    pub of_node: &'t [u64],
    /// Longest time of a node in each batch, in descending order. Its length is the number of batches.
    pub limits: &'t [u64],
}

/// Searches a division of `nodes` into as many batches as there are limits, in which no node takes longer than the
/// limit of its batch. Each placement of a node takes 1 from the budget, and the search ends when it is used up.
///
/// The next node is always the one with the fewest batches left, then the one with most neighbours, then the first.
/// Of empty batches with the same limit only the first is tried, as they are interchangeable.
pub fn search_batches(
    rules: &OutageRules,
    nodes: &[usize],
    times: BatchTimes<'_>,
    budget: &mut u64,
) -> BatchSearch {
    let count = times.limits.len();
    if count > MOST_BATCHES {
        return BatchSearch::Undecided;
    }
    if nodes.len() > count.saturating_mul(rules.most()) {
        return BatchSearch::Impossible;
    }
    let allowed = |node: &usize| {
        let fits = |(_, limit): &(usize, &u64)| times.of_node.get(*node).is_none_or(|time| time <= *limit);
        times.limits.iter().enumerate().filter(fits).fold(0, |mask, (batch, _)| mask | 1 << batch)
    };
    let mut free = vec![0; rules.len()];
    nodes.iter().for_each(|node| free[*node] = allowed(node));
    let mut search = DivisionSearch {
        rules,
        limits: times.limits,
        open: nodes.to_vec(),
        free,
        batch_of: vec![None; rules.len()],
        sizes: vec![0; count],
        blocked: Vec::new(),
        budget,
    };
    match search.place_all() {
        Some(true) => BatchSearch::Found(search.batches()),
        Some(false) => BatchSearch::Impossible,
        None => BatchSearch::Undecided,
    }
}

struct DivisionSearch<'a> {
    rules: &'a OutageRules,
    limits: &'a [u64],
    /// Nodes without a batch, in no order.
    open: Vec<usize>,
    /// For each node, the batches that it can still go to, as bits.
    free: Vec<u64>,
    batch_of: Vec<Option<usize>>,
    sizes: Vec<usize>,
    /// The nodes and batches that were blocked, for undoing.
    blocked: Vec<(usize, usize)>,
    budget: &'a mut u64,
}

impl DivisionSearch<'_> {
    /// Places all open nodes. `None` if the budget has ended.
    fn place_all(&mut self) -> Option<bool> {
        let urgency = |node: usize| {
            let degree = self.rules.neighbours(node).len();
            (self.free[node].count_ones(), std::cmp::Reverse(degree), node)
        };
        let Some(at) = (0..self.open.len()).min_by_key(|at| urgency(self.open[*at])) else {
            return Some(true);
        };
        let node = self.open.swap_remove(at);
        let mut empty_tried = None;
        for batch in 0..self.limits.len() {
            if self.free[node] & 1 << batch == 0 {
                continue;
            }
            if self.sizes[batch] == 0 && empty_tried.replace(self.limits[batch]) == Some(self.limits[batch]) {
                continue;
            }
            *self.budget = self.budget.checked_sub(1)?;
            let mark = self.blocked.len();
            self.place(node, batch);
            let is_open = self.open.iter().all(|other| self.free[*other] != 0);
            if is_open && self.place_all()? {
                return Some(true);
            }
            self.take_back(node, batch, mark);
        }
        // The order of the open nodes does not matter, as their urgency differs.
        self.open.push(node);
        Some(false)
    }

    fn place(&mut self, node: usize, batch: usize) {
        let rules = self.rules;
        self.batch_of[node] = Some(batch);
        self.sizes[batch] += 1;
        rules.neighbours(node).iter().for_each(|other| self.block(*other, batch));
        for takeover in rules.takeovers_of(node) {
            for load in &takeover.loads {
                let other = load.from;
                let is_down = |n: usize| n == other || self.batch_of[n] == Some(batch);
                if self.batch_of[other].is_none()
                    && self.free[other] & 1 << batch != 0
                    && !takeover.allows(is_down)
                {
                    self.block(other, batch);
                }
            }
        }
        if self.sizes[batch] == rules.most() {
            for at in 0..self.open.len() {
                self.block(self.open[at], batch);
            }
        }
    }

    fn block(&mut self, node: usize, batch: usize) {
        if self.free[node] & 1 << batch != 0 {
            self.free[node] &= !(1 << batch);
            self.blocked.push((node, batch));
        }
    }

    fn take_back(&mut self, node: usize, batch: usize, mark: usize) {
        for (other, batch) in self.blocked.drain(mark..) {
            self.free[other] |= 1 << batch;
        }
        self.batch_of[node] = None;
        self.sizes[batch] -= 1;
    }

    fn batches(&self) -> Vec<Vec<usize>> {
        let mut batches = vec![Vec::new(); self.limits.len()];
        for (node, batch) in self.batch_of.iter().enumerate() {
            if let Some(batch) = batch {
                batches[*batch].push(node);
            }
        }
        batches
    }
}
