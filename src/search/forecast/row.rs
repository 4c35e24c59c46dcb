//! What the arrival of an instance of one size costs on each node.

use super::ground::Ground;
use super::lanes::{MEMBER, PRIMARY, RESERVE, Range, least};
use super::size::Size;
use super::{FAILOVER, FAILOVER_AND_REPLACE, REPLACE_SECONDARY};
use crate::model::{Cluster, DiskCheck, Mib, NodeIdx, NodeSpec, Strictness, TagArrival};
use crate::score::metrics::{Counted, Lanes};
use crate::score::running::{RESERVED_TOTAL_WEIGHT, counted_score};

/// As what an instance arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    Primary,
    Secondary,
}

impl Role {
    /// What the new node becomes in the moves of a slot.
    pub fn of_target(slot: usize) -> Option<Role> {
        match slot {
            FAILOVER => None,
            REPLACE_SECONDARY | FAILOVER_AND_REPLACE => Some(Role::Secondary),
            _ => Some(Role::Primary),
        }
    }

    /// The lanes that an arrival changes.
    pub fn lanes(self) -> Lanes {
        let own = if self == Role::Primary { &PRIMARY } else { &RESERVE };
        std::array::from_fn(|k| own[k] + MEMBER[k])
    }
}

/// Which arrivals share a row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Arrival {
    pub size: u32,
    pub role: Role,
    /// Whether only the impossible forbids it.
    pub forced: bool,
    /// The kind of node ([`Kinds`]) from which the instance
    /// migrates, if that matters.
    pub from: Option<u32>,
}

/// The nodes of one stretch of a row.
pub(super) const STRETCH: usize = 64;

/// The costs of one kind of arrival, by row of the ground.
pub(super) struct Row {
    pub arrival: Arrival,
    /// What is not a deviation; infinite where the node refuses.
    pub fixed: Vec<f64>,
    /// The same with the prices of the changed deviations.
    pub cost: Vec<f64>,
    /// The smallest costs of each stretch and of all nodes.
    pub stretches: Vec<f64>,
    pub smallest: f64,
}

impl Row {
    pub fn new(arrival: Arrival, nodes: usize) -> Row {
        Row {
            arrival,
            fixed: vec![f64::INFINITY; nodes],
            cost: vec![f64::INFINITY; nodes],
            stretches: vec![f64::INFINITY; nodes.div_ceil(STRETCH)],
            smallest: f64::INFINITY,
        }
    }

    /// Looks anew at what the node in one row counts and refuses. `reachable` says
    /// whether instances can migrate to it.
    pub fn inspect(&mut self, cluster: &Cluster, ground: &Ground, size: &Size, row: usize, reachable: bool) {
        let node = cluster.node(ground.nodes[row]);
        let (spec, ledger, i) = (&node.spec, &node.state.ledger, &size.smallest);
        let strictness = if self.arrival.forced { Strictness::Forced } else { Strictness::Strict };
        let after = match self.arrival.role {
            _ if !reachable => None,
            Role::Primary => ledger.add_primary(spec, i, 0, TagArrival::default(), strictness).ok(),
            Role::Secondary => ledger.add_secondary(spec, i, Mib::ZERO, strictness, DiskCheck::Needed).ok(),
        };
        self.fixed[row] = after.map_or(f64::INFINITY, |after| {
            counted_score(&(Counted::of(spec, &after) - Counted::of(spec, ledger)), 0)
        });
    }

    /// Works out the cost in one row and takes the changes of the variances into
    /// the range; the smallest costs are left as they are.
    fn assess(&mut self, ground: &Ground, size: &Size, row: usize, range: &mut Range) {
        if self.fixed[row] == f64::INFINITY {
            self.cost[row] = f64::INFINITY;
            return;
        }
        let (change, reserve) = size.arrival(ground, row, self.arrival.role);
        range.include(&change);
        self.cost[row] = self.fixed[row] + RESERVED_TOTAL_WEIGHT * reserve + size.price(&change);
    }

    /// Works all costs out. Returns the range of the changes of the variances.
    pub fn assess_all(&mut self, ground: &Ground, size: &Size) -> Range {
        let mut range = Range::empty();
        for row in 0..self.cost.len() {
            self.assess(ground, size, row, &mut range);
        }
        for stretch in 0..self.stretches.len() {
            self.summarise(stretch);
        }
        self.smallest = smallest(&self.stretches);
        range
    }

    /// The same for some rows only.
    pub fn assess_some(&mut self, ground: &Ground, size: &Size, rows: &[usize]) -> Range {
        let mut range = Range::empty();
        for row in rows {
            self.assess(ground, size, *row, &mut range);
            self.summarise(row / STRETCH);
        }
        self.smallest = smallest(&self.stretches);
        range
    }

    fn summarise(&mut self, stretch: usize) {
        let end = self.cost.len().min((stretch + 1) * STRETCH);
        self.stretches[stretch] = smallest(&self.cost[stretch * STRETCH..end]);
    }

    /// The rows whose cost is at most `limit`.
    pub fn up_to(&self, limit: f64) -> impl Iterator<Item = usize> + '_ {
        let near = self.stretches.iter().enumerate().filter(move |(_, cost)| **cost <= limit);
        near.flat_map(move |(stretch, _)| {
            let from = stretch * STRETCH;
            let costs = &self.cost[from..self.cost.len().min(from + STRETCH)];
            costs.iter().enumerate().filter(move |(_, cost)| **cost <= limit).map(move |(at, _)| from + at)
        })
    }
}

/// The smallest number, found in vector registers.
fn smallest(values: &[f64]) -> f64 {
    let mut found = [f64::INFINITY; 8];
    let chunks = values.chunks_exact(8);
    for (k, value) in chunks.remainder().iter().enumerate() {
        found[k] = least(*value, found[k]);
    }
    for chunk in chunks {
        for k in 0..8 {
            found[k] = least(chunk[k], found[k]);
        }
    }
    found.into_iter().fold(f64::INFINITY, least)
}

/// Kinds of nodes: those with the same migration tags and the same tags from
/// which they can receive instances.
pub(super) struct Kinds {
    /// By node of the cluster.
    of: Vec<u32>,
    /// For each pair of kinds whether instances can migrate from one to the other.
    reachable: Vec<bool>,
    count: usize,
}

impl Kinds {
    /// More kinds than this are not told apart.
    const MOST: usize = 8;

    pub fn of(cluster: &Cluster) -> Kinds {
        let mut examples: Vec<&NodeSpec> = Vec::new();
        let mut of = Vec::with_capacity(cluster.nodes.len());
        for node in cluster.nodes.iter().map(|n| &n.spec) {
            let alike = |e: &&NodeSpec| {
                e.migration_tags == node.migration_tags && e.receivable_tags == node.receivable_tags
            };
            let kind = examples.iter().position(alike).unwrap_or_else(|| {
                examples.push(node);
                examples.len() - 1
            });
            if examples.len() > Kinds::MOST {
                return Kinds { of: vec![0; cluster.nodes.len()], reachable: vec![true], count: 1 };
            }
            of.push(kind as u32);
        }
        let reachable = examples.iter().flat_map(|from| examples.iter().map(|to| from.can_migrate_to(to)));
        Kinds { of, reachable: reachable.collect(), count: examples.len() }
    }

    /// The kind of a node, if there are nodes to which its instances cannot
    /// migrate.
    pub fn restricting(&self, node: NodeIdx) -> Option<u32> {
        let kind = self.of[node.get()];
        let from = kind as usize * self.count;
        self.reachable[from..from + self.count].contains(&false).then_some(kind)
    }

    /// Whether instances can migrate from nodes of a kind to a node.
    pub fn reaches(&self, from: Option<u32>, to: NodeIdx) -> bool {
        from.is_none_or(|from| self.reachable[from as usize * self.count + self.of[to.get()] as usize])
    }
}
