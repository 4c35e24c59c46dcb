//! Filling with one size.

use super::{Filled, Settings, Size};
use crate::model::{Cluster, FailCounts, InstanceIdx, Mib, NodeIdx};
use crate::redundancy::global::is_redundant;
use crate::search::allocate::{self, Conditions, Search, Targets};

/// Instances placed between two looks at redundancy, once the first, large batch
/// was too large.
const SMALL_BATCH: i64 = 10;
/// The least number of instances in a large batch.
const LARGE_BATCH: i64 = 20;

/// A cluster that is being filled.
pub(super) struct Filling<'a> {
    cluster: Cluster,
    nodes: Vec<NodeIdx>,
    settings: Settings,
    conditions: Conditions,
    targets: &'a Targets,
    added: Vec<InstanceIdx>,
}

/// Where a filling can be taken back to.
struct Mark {
    cluster: Cluster,
    added: usize,
}

impl<'a> Filling<'a> {
    pub fn new(
        cluster: Cluster,
        settings: Settings,
        conditions: Conditions,
        targets: &'a Targets,
    ) -> Filling<'a> {
        let nodes = cluster.all_nodes();
        Filling { cluster, nodes, settings, conditions, targets, added: Vec::new() }
    }

    /// Instances placed so far.
    pub fn added(&self) -> usize {
        self.added.len()
    }

    pub fn finish(self, failures: FailCounts) -> Filled {
        Filled { cluster: self.cluster, added: self.added, failures }
    }

    /// Looks for a place for one more instance, under all conditions.
    pub fn attempt(&self, size: Size) -> Search {
        self.find(size, &self.conditions)
    }

    fn find(&self, size: Size, conditions: &Conditions) -> Search {
        let instance = size.instance(&self.settings, self.added.len());
        allocate::find(&self.cluster, &self.nodes, (&instance).into(), self.targets, conditions)
    }

    /// Places instances one by one until no more fits or `limit` are placed; says
    /// why places were refused at the last attempt.
    fn steps(&mut self, size: Size, mut limit: Option<i64>, checked: bool) -> FailCounts {
        let unchecked = Conditions { redundancy: None, ..self.conditions.clone() };
        let conditions = if checked { self.conditions.clone() } else { unchecked };
        loop {
            let search = self.find(size, &conditions);
            let Some((_, place)) = search.best.filter(|_| limit != Some(0)) else { return search.failures };
            let instance = size.instance(&self.settings, self.added.len());
            self.added.push(allocate::settle(&mut self.cluster, &instance, &place));
            limit = limit.map(|n| n - 1);
        }
    }

    /// Places as many instances as fit, up to `limit`: in batches that are looked at
    /// once, and one by one where a batch would end redundancy. With a secondary
    /// node, the single placement is never looked at, so that batches change nothing.
    pub fn iterate(&mut self, size: Size, limit: Option<i64>) -> FailCounts {
        let Some(scope) = self.conditions.redundancy.clone() else { return self.steps(size, limit, false) };
        if self.settings.template.has_secondary() {
            return self.steps(size, limit, false);
        }
        let mut large = true;
        let mut limit = limit;
        loop {
            let batch = if large { self.large_batch(size) } else { SMALL_BATCH };
            let mark = self.mark();
            let failures = self.steps(size, Some(limit.map_or(batch, |l| l.min(batch))), false);
            if is_redundant(&self.cluster, &self.nodes, &scope) {
                let left = limit.map(|l| l - batch);
                if left.is_some_and(|left| left <= 0) || self.added.len() == mark.added {
                    return failures;
                }
                limit = left;
            } else {
                self.back_to(mark);
                if !large {
                    return self.steps(size, limit, true);
                }
                large = false;
            }
        }
    }

    /// What certainly is enough for one node to be lost, were all sizes equal.
    fn large_batch(&self, size: Size) -> i64 {
        let available: Mib = self.cluster.nodes.iter().map(|n| n.state.ledger.mem_available(&n.spec)).sum();
        let most = available.0.checked_div_euclid(size.memory.0).unwrap_or(0);
        most.saturating_sub(self.nodes.len() as i64).max(LARGE_BATCH)
    }

    fn mark(&self) -> Mark {
        Mark { cluster: self.cluster.clone(), added: self.added.len() }
    }

    fn back_to(&mut self, mark: Mark) {
        self.cluster = mark.cluster;
        self.added.truncate(mark.added);
    }
}
