//! Global redundancy: can every node be emptied onto the others if it is lost? ("Global N+1" in Ganeti's reports.)
//!
//! [`evacuates`] empties a node exactly as the definition says, which is slow. Most verdicts follow from sums of memory
//! alone. A [`RedundancyCheck`] keeps these sums for a state and tells which arrivals leave it redundant. A [`NodePool`] keeps
//! them up to date as instances arrive, if all instances are on shared storage.
//!
//! Offline nodes must be emptied as well, but take no instances.

mod departures;
mod figures;
mod guard;
mod joint;
mod outlook;
mod pool;
mod quick;
mod relocation;
mod rooms;
mod simulate;

pub use departures::Departures;
pub use guard::RedundancyCheck;
pub use joint::{ComboSums, DataLoss, JointLoss};
pub use pool::{NodeBefore, NodePool};
pub use simulate::{NodeObstacle, UnplacedInstance, casualties, evacuates};

use std::collections::BTreeSet;

use crate::{Cluster, GroupIdx, NodeIdx};
use figures::Figures;

/// The nodes that must be expendable, and the way they are emptied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Order in which instances leave a node.
    pub departures: Departures,
    /// Offline nodes need not be expendable (`--accept-existing-errors`).
    pub online_only: bool,
    /// Groups whose nodes need not be expendable (`--independent-groups`).
    pub exempt: BTreeSet<GroupIdx>,
}

impl Scope {
    /// Tells if a node must be expendable.
    pub fn includes(&self, cluster: &Cluster, node: NodeIdx) -> bool {
        let spec = &cluster.node(node).spec;
        let left_out = self.online_only && spec.offline;
        !left_out && !self.exempt.contains(&spec.group)
    }
}

/// Tells if every node of `nodes` (ascending) that `scope` includes can be emptied.
pub fn is_redundant(cluster: &Cluster, nodes: &[NodeIdx], scope: &Scope) -> bool {
    let figures = Figures::of(cluster, nodes, scope.departures);
    nodes.iter().filter(|n| scope.includes(cluster, **n)).all(|n| figures.survives_loss_of(cluster, *n))
}

/// Tells if sums prove that some node of `nodes` (ascending) in `scope` cannot be emptied. Then it cannot be emptied
/// after more instances have arrived either.
pub fn is_surely_lost(cluster: &Cluster, nodes: &[NodeIdx], scope: &Scope) -> bool {
    let figures = Figures::of(cluster, nodes, scope.departures);
    let lost = |n: &NodeIdx| figures.verdict(cluster, *n) == Some(false);
    nodes.iter().filter(|n| scope.includes(cluster, **n)).any(lost)
}

/// Groups that could not lose each of their nodes, one at a time. Every group is checked by itself.
pub fn groups_at_risk(cluster: &Cluster, scope: &Scope) -> Vec<GroupIdx> {
    groups_at_risk_until(cluster, scope, &|| false)
}

/// The same, but the remaining groups are skipped once `over` returns true.
pub fn groups_at_risk_until(cluster: &Cluster, scope: &Scope, over: &dyn Fn() -> bool) -> Vec<GroupIdx> {
    let at_risk = |group: &GroupIdx| {
        let nodes = cluster.nodes_of(*group);
        let figures = Figures::of(cluster, nodes, scope.departures);
        let mut included = nodes.iter().filter(|n| scope.includes(cluster, **n));
        included.any(|node| !over() && !figures.survives_loss_of(cluster, *node))
    };
    cluster.groups_with_nodes().into_iter().filter(|group| !over() && at_risk(group)).collect()
}

/// Tells if `node`, one of `nodes` (ascending), can be emptied.
pub fn survives_loss_of(cluster: &Cluster, nodes: &[NodeIdx], node: NodeIdx) -> bool {
    Figures::of(cluster, nodes, Departures::BySize).survives_loss_of(cluster, node)
}

/// The nodes of `nodes` (ascending) that cannot be emptied, offline ones included.
pub fn nodes_at_risk(cluster: &Cluster, nodes: &[NodeIdx], departures: Departures) -> Vec<NodeIdx> {
    let figures = Figures::of(cluster, nodes, departures);
    nodes.iter().copied().filter(|n| !figures.survives_loss_of(cluster, *n)).collect()
}

/// A node of `nodes` (ascending) that cannot be emptied, among those asked about. Nodes are checked by descending
/// memory of their instances, since the fullest are the most likely to fail.
pub fn any_at_risk(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    departures: Departures,
    asked: impl Fn(NodeIdx) -> bool,
) -> Option<NodeIdx> {
    let figures = Figures::of(cluster, nodes, departures);
    let mut order: Vec<NodeIdx> = nodes.iter().copied().filter(|n| asked(*n)).collect();
    order.sort_by_key(|n| std::cmp::Reverse(cluster.node(*n).state.ledger.mem_instances));
    order.into_iter().find(|n| !figures.survives_loss_of(cluster, *n))
}
