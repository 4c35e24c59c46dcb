//! Health of a cluster, group by group: its problems by name, the effect of balancing on them, and the
//! consequences of losing nodes.

mod alarm;
pub mod loss;
mod rebalance;
pub mod survival;

pub use alarm::{ProblemKind, Severities, Severity};
pub use loss::{Loss, loss};
pub use rebalance::{TrialBalance, rebalance};
pub use survival::{Survival, survival};

use std::iter::Sum;
use std::ops::Add;

use htools_model::redundancy::global::{self, Departures};
use htools_model::redundancy::n_plus_one;
use htools_model::score::Board;
use htools_model::{Cluster, GroupIdx, Instance, InstanceIdx, NodeIdx, TagId};

/// Problems of a group: of its nodes, and of the instances whose primary is one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupHealth {
    /// The group.
    pub group: GroupIdx,
    /// Online nodes that fail N+1.
    pub n1_failing: Vec<NodeIdx>,
    /// Nodes on which primaries share an exclusion tag.
    pub conflicting: Vec<NodeIdx>,
    /// These conflicts, tag by tag.
    pub conflicts: Vec<Conflict>,
    /// Instances whose primary node is offline.
    pub offline_primary: Vec<InstanceIdx>,
    /// Instances whose secondary node is offline.
    pub offline_secondary: Vec<InstanceIdx>,
    /// Nodes that cannot be emptied (global N+1), with nodes emptied in the order of the reference, as hcheck
    /// prints their number. `None` if this was not checked.
    pub at_risk: Option<Vec<NodeIdx>>,
    /// The group's score.
    pub score: f64,
}

/// Primaries of a node that share an exclusion tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The node.
    pub node: NodeIdx,
    /// The tag.
    pub tag: TagId,
    /// The instances with the tag: several, or one that has it repeatedly.
    pub instances: Vec<InstanceIdx>,
}

impl GroupHealth {
    /// Examines a group. With `capacity_checks`, this includes a check whether each node can be emptied.
    pub fn of(cluster: &Cluster, group: GroupIdx, capacity_checks: bool) -> GroupHealth {
        let nodes = cluster.nodes_of(group);
        let offline = |node: NodeIdx| cluster.node(node).spec.offline;
        let real = primaries(cluster, nodes);
        let among = |is: &dyn Fn(&Instance) -> bool| -> Vec<InstanceIdx> {
            real.iter().copied().filter(|i| is(cluster.instance(*i))).collect()
        };
        let conflicting: Vec<NodeIdx> =
            nodes.iter().copied().filter(|n| cluster.node(*n).state.ledger.tag_conflicts > 0).collect();
        GroupHealth {
            group,
            n1_failing: n_plus_one::Failures::of(cluster, nodes).nodes,
            conflicts: conflicting.iter().flat_map(|n| conflicts_on(cluster, *n)).collect(),
            conflicting,
            offline_primary: among(&|i| offline(i.primary)),
            offline_secondary: among(&|i| i.mirror().is_some_and(offline)),
            at_risk: capacity_checks.then(|| global::nodes_at_risk(cluster, nodes, Departures::AsListed)),
            score: Board::new(cluster, nodes).score(),
        }
    }

    /// Number of problems of each kind.
    pub fn counts(&self) -> ProblemCounts {
        ProblemCounts {
            n1_failing: self.n1_failing.len(),
            conflicting: self.conflicting.len(),
            offline_primary: self.offline_primary.len(),
            offline_secondary: self.offline_secondary.len(),
            at_risk: self.at_risk.as_ref().map(Vec::len),
        }
    }
}

/// The primaries in the lists of some nodes, in order. Planned instances are not included.
fn primaries(cluster: &Cluster, nodes: &[NodeIdx]) -> Vec<InstanceIdx> {
    let mut primaries: Vec<InstanceIdx> =
        nodes.iter().flat_map(|n| cluster.node(*n).state.primaries.iter().copied()).collect();
    primaries.sort_unstable();
    primaries
}

fn conflicts_on(cluster: &Cluster, node: NodeIdx) -> Vec<Conflict> {
    let shared = cluster.node(node).state.tag_count.iter().filter(|(_, count)| *count > 1);
    let mut conflicts: Vec<Conflict> =
        shared.map(|(tag, _)| Conflict { node, tag, instances: Vec::new() }).collect();
    let state = &cluster.node(node).state;
    let mut all: Vec<InstanceIdx> = state.primaries.iter().chain(&state.planned).copied().collect();
    all.sort_unstable();
    all.dedup();
    for instance in all.into_iter().map(|i| cluster.instance(i)).filter(|i| i.primary == node) {
        for (tag, _) in instance.exclusion_tags.counts().iter() {
            if let Ok(at) = conflicts.binary_search_by_key(&tag, |conflict| conflict.tag) {
                conflicts[at].instances.push(instance.idx);
            }
        }
    }
    conflicts
}

/// Number of problems of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProblemCounts {
    /// Nodes that fail N+1.
    pub n1_failing: usize,
    /// Nodes with conflicts of exclusion tags.
    pub conflicting: usize,
    /// Instances whose primary node is offline.
    pub offline_primary: usize,
    /// Instances whose secondary node is offline.
    pub offline_secondary: usize,
    /// Nodes that cannot be emptied, if this was checked.
    pub at_risk: Option<usize>,
}

impl ProblemCounts {
    /// Returns true if there is any problem.
    pub fn any(&self) -> bool {
        let ProblemCounts { n1_failing, conflicting, offline_primary, offline_secondary, at_risk } = *self;
        n1_failing + conflicting + offline_primary + offline_secondary + at_risk.unwrap_or(0) > 0
    }

    /// Counts without any problem.
    pub fn none(capacity_checks: bool) -> ProblemCounts {
        ProblemCounts { at_risk: capacity_checks.then_some(0), ..ProblemCounts::default() }
    }
}

impl Add for ProblemCounts {
    type Output = ProblemCounts;

    fn add(self, other: ProblemCounts) -> ProblemCounts {
        ProblemCounts {
            n1_failing: self.n1_failing + other.n1_failing,
            conflicting: self.conflicting + other.conflicting,
            offline_primary: self.offline_primary + other.offline_primary,
            offline_secondary: self.offline_secondary + other.offline_secondary,
            at_risk: self.at_risk.zip(other.at_risk).map(|(a, b)| a + b).or(self.at_risk).or(other.at_risk),
        }
    }
}

impl Sum for ProblemCounts {
    fn sum<I: Iterator<Item = ProblemCounts>>(counts: I) -> ProblemCounts {
        counts.fold(ProblemCounts::default(), Add::add)
    }
}

#[cfg(test)]
mod tests;
