//! Batches that are filled node by node.

use super::{OutageRules, Takeover};

/// A division of nodes into batches that obey the rules.
#[derive(Debug, Clone)]
pub struct OutageBatches<'r> {
    rules: &'r OutageRules,
    batch_of: Vec<Option<usize>>,
    batches: Vec<Vec<usize>>,
}

impl<'r> OutageBatches<'r> {
    /// No batches yet.
    pub fn new(rules: &'r OutageRules) -> OutageBatches<'r> {
        OutageBatches { rules, batch_of: vec![None; rules.len()], batches: Vec::new() }
    }

    /// The batches, each with its nodes in the order of entry.
    pub fn batches(&self) -> &[Vec<usize>] {
        &self.batches
    }

    /// Tells if a node that is in no batch, or in another, fits into this batch.
    pub fn fits(&self, node: usize, batch: usize) -> bool {
        let is_in = |other: &usize| self.batch_of[*other] == Some(batch);
        !self.rules.neighbours(node).iter().any(is_in) && self.has_room(node, batch)
    }

    /// Tells if a batch has room for a node that has no neighbour in it.
    fn has_room(&self, node: usize, batch: usize) -> bool {
        let allows = |takeover: &Takeover| {
            takeover.allows(|other| other == node || self.batch_of[other] == Some(batch))
        };
        self.batches[batch].len() < self.rules.most() && self.rules.takeovers_of(node).all(allows)
    }

    /// Puts a node into the first batch that it fits into, or into a new one. Returns the batch.
    pub fn put_first(&mut self, node: usize) -> usize {
        let mut is_near = vec![false; self.batches.len()];
        let near = self.rules.neighbours(node).iter().filter_map(|other| self.batch_of[*other]);
        near.for_each(|batch| is_near[batch] = true);
        let fits = |batch: &usize| !is_near[*batch] && self.has_room(node, *batch);
        let batch = (0..self.batches.len()).find(fits).unwrap_or(self.batches.len());
        self.put(node, batch);
        batch
    }

    /// Moves a node into a batch, which may be the next new one.
    pub fn put(&mut self, node: usize, batch: usize) {
        if let Some(old) = self.batch_of[node] {
            self.batches[old].retain(|other| *other != node);
        }
        if batch == self.batches.len() {
            self.batches.push(Vec::new());
        }
        self.batch_of[node] = Some(batch);
        self.batches[batch].push(node);
    }

    /// The batches that are not empty.
    pub fn into_batches(self) -> Vec<Vec<usize>> {
        self.batches.into_iter().filter(|batch| !batch.is_empty()).collect()
    }
}
