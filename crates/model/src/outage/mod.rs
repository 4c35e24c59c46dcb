//! Rules on which nodes can be down together during a maintenance, as plain data.
//!
//! The nodes of a maintenance are numbered from 0, in their order. A set of nodes that may be down together is a batch.
//! All rules are hereditary: if a batch obeys them, every subset does. So a node that does not fit into a batch never
//! fits after more nodes were added.

mod batches;
mod exhaustive;
mod shortest;

pub use self::batches::OutageBatches;
pub use self::exhaustive::{BatchSearch, BatchTimes, search_batches};
pub use self::shortest::{ShortestBatches, shortest_batches};
use crate::{Mib, NodeIdx};

/// Instances that a node takes over from one of the nodes of the maintenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakeoverLoad {
    /// Number of the node that they leave.
    pub from: usize,
    /// Memory that they take.
    pub load: Mib,
    /// Reserve for the failure of their node while it stays up.
    pub kept: Mib,
    /// Least room beside them while it is down.
    pub left: Mib,
}

/// Limit of what a node can take over. While some of the nodes in `loads` are down, `room` minus their loads must be
/// more than 0, `others`, `left` of each node that is down, and `kept` of each that is not.
///
/// The rule is hereditary if `kept` is at most `load` plus `left`: nodes of a batch go down one after another, so the
/// others must be safe before the last one does. [`OutageRules::new`] raises `left` to ensure this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Takeover {
    /// The node that takes them.
    pub node: NodeIdx,
    /// Its unallocated memory before the maintenance.
    pub room: Mib,
    /// Largest reserve for the failure of nodes outside `loads`.
    pub others: Mib,
    /// Arrivals from the nodes of the maintenance; each node is listed at most once.
    pub loads: Vec<TakeoverLoad>,
}

impl Takeover {
    /// Tells if the node can take over from all nodes for which `is_down` is true.
    pub fn allows(&self, is_down: impl Fn(usize) -> bool) -> bool {
        let (mut left, mut needed, mut takes) = (self.room, self.others.max(Mib::ZERO), false);
        for load in &self.loads {
            if is_down(load.from) {
                left -= load.load;
                needed = needed.max(load.left);
                takes = true;
            } else {
                needed = needed.max(load.kept);
            }
        }
        !takes || left > needed
    }
}

/// The rules of a maintenance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutageRules {
    neighbours: Vec<Vec<usize>>,
    takeovers: Vec<Takeover>,
    takeovers_of: Vec<Vec<usize>>,
    most: usize,
}

impl OutageRules {
    /// Rules for `count` nodes: pairs that are never down together, takeovers, and the most nodes in a batch. Pairs
    /// that a takeover rules out are added to the pairs. Numbers outside the range are ignored.
    pub fn new(
        count: usize,
        pairs: impl IntoIterator<Item = [usize; 2]>,
        takeovers: Vec<Takeover>,
        most: Option<usize>,
    ) -> OutageRules {
        let mut neighbours = vec![Vec::new(); count];
        let mut join = |[a, b]: [usize; 2]| {
            if a != b && a.max(b) < count {
                neighbours[a].push(b);
                neighbours[b].push(a);
            }
        };
        pairs.into_iter().for_each(&mut join);
        let takeovers: Vec<Takeover> =
            takeovers.into_iter().map(|takeover| tidied(takeover, count)).collect();
        let mut takeovers_of = vec![Vec::new(); count];
        for (number, takeover) in takeovers.iter().enumerate() {
            for (at, a) in takeover.loads.iter().enumerate() {
                takeovers_of[a.from].push(number);
                let others = takeover.loads[..at].iter().map(|b| [a.from, b.from]);
                others.filter(|pair| !takeover.allows(|node| pair.contains(&node))).for_each(&mut join);
            }
        }
        for list in &mut neighbours {
            list.sort_unstable();
            list.dedup();
        }
        OutageRules { neighbours, takeovers, takeovers_of, most: most.unwrap_or(count).max(1) }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.neighbours.len()
    }

    /// Tells if there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.neighbours.is_empty()
    }

    /// Most nodes in a batch, at least 1.
    pub fn most(&self) -> usize {
        self.most
    }

    /// The nodes that are never down together with this one, in ascending order.
    pub fn neighbours(&self, node: usize) -> &[usize] {
        &self.neighbours[node]
    }

    /// Tells if two nodes are never down together.
    pub fn are_apart(&self, a: usize, b: usize) -> bool {
        self.neighbours[a].binary_search(&b).is_ok()
    }

    /// The takeovers.
    pub fn takeovers(&self) -> &[Takeover] {
        &self.takeovers
    }

    /// The takeovers in which a node has a load.
    pub fn takeovers_of(&self, node: usize) -> impl Iterator<Item = &Takeover> + '_ {
        self.takeovers_of[node].iter().map(|number| &self.takeovers[*number])
    }

    /// Tells if these nodes obey all rules together.
    pub fn allow(&self, batch: &[usize]) -> bool {
        let mut is_down = vec![false; self.len()];
        batch.iter().for_each(|node| is_down[*node] = true);
        batch.len() <= self.most
            && batch.iter().all(|node| !self.neighbours[*node].iter().any(|other| is_down[*other]))
            && self.takeovers.iter().all(|takeover| takeover.allows(|node| is_down[node]))
    }
}

/// The takeover without loads that are out of range, and hereditary.
fn tidied(takeover: Takeover, count: usize) -> Takeover {
    let loads = takeover.loads.into_iter().filter(|load| load.from < count).map(|given| {
        let load = given.load.max(Mib::ZERO);
        TakeoverLoad { load, left: given.left.max(given.kept - load), ..given }
    });
    Takeover { loads: loads.collect(), ..takeover }
}

#[cfg(test)]
mod tests;
