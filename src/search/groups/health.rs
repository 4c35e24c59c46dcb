//! How a group is.

use crate::model::kinds::words;
use crate::model::{Cluster, GroupIdx, InstanceIdx, NodeIdx};
use crate::redundancy::n_plus_one::Failures;

words!(
    /// The health of a group in one word; what is worse is more.
    pub Health, "state of health" {
        /// Nothing is wrong.
        Healthy = "healthy",
        /// Nodes fail N+1.
        Weak = "weak",
        /// Instances are on offline nodes.
        Unhealthy = "unhealthy",
    }
);

/// What is wrong in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Online nodes that fail N+1.
    pub n1_failing: Vec<NodeIdx>,
    /// Instances with a node of the group that is offline; in order.
    pub stranded: Vec<InstanceIdx>,
    /// Forthcoming instances with such a node; in order. They make no group unhealthy, as nothing of them is there
    /// yet, but cannot be created as planned.
    pub planned_offline: Vec<InstanceIdx>,
}

impl Condition {
    /// Looks at a group.
    pub fn of(cluster: &Cluster, group: GroupIdx) -> Condition {
        let nodes = cluster.nodes_of(group);
        let offline = || nodes.iter().map(|n| cluster.node(*n)).filter(|node| node.spec.offline);
        let on_node = |node: &crate::model::Node| -> Vec<InstanceIdx> {
            let mirrored = |i: &&InstanceIdx| cluster.instance(**i).mirror() == Some(node.spec.idx);
            let secondaries = node.state.secondaries.iter().filter(mirrored);
            node.state.primaries.iter().chain(secondaries).copied().collect()
        };
        let mut stranded: Vec<InstanceIdx> = offline().flat_map(on_node).collect();
        stranded.sort_unstable();
        stranded.dedup();
        let to_be_on = |node: &crate::model::Node| -> Vec<InstanceIdx> {
            let is_node_of = |i: &&InstanceIdx| cluster.instance(**i).nodes().any(|n| n == node.spec.idx);
            node.state.planned.iter().filter(is_node_of).copied().collect()
        };
        let mut planned_offline: Vec<InstanceIdx> = offline().flat_map(to_be_on).collect();
        planned_offline.sort_unstable();
        planned_offline.dedup();
        Condition { n1_failing: Failures::of(cluster, nodes).nodes, stranded, planned_offline }
    }

    /// Whether nothing is wrong, not even with what does not exist yet.
    pub fn is_fine(&self) -> bool {
        self.health() == Health::Healthy && self.planned_offline.is_empty()
    }

    /// In one word.
    pub fn health(&self) -> Health {
        match (self.stranded.is_empty(), self.n1_failing.is_empty()) {
            (false, _) => Health::Unhealthy,
            (true, false) => Health::Weak,
            (true, true) => Health::Healthy,
        }
    }
}

/// The health of a group.
pub fn health(cluster: &Cluster, group: GroupIdx) -> Health {
    Condition::of(cluster, group).health()
}
