//! Health of a group.

use htools_model::redundancy::global::{self, Departures};
use htools_model::redundancy::n_plus_one::Failures;
use htools_model::words;
use htools_model::{Cluster, GroupIdx, InstanceIdx, NodeIdx};

words!(
    /// The health of a group in one word; larger is worse.
    pub Health, "state of health" {
        /// There is no problem.
        Healthy = "healthy",
        /// Nodes fail N+1, or could not be emptied if they were lost.
        Weak = "weak",
        /// Instances are on offline nodes.
        Unhealthy = "unhealthy",
    }
);

/// Problems of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Online nodes that fail N+1: they lack memory for instances that would fail over to them.
    pub n1_failing: Vec<NodeIdx>,
    /// Online nodes whose instances find no place in the group if the node is lost (global N+1), in order.
    /// Empty if this was not checked.
    pub at_risk: Vec<NodeIdx>,
    /// Instances with an offline node in the group, in order.
    pub stranded: Vec<InstanceIdx>,
    /// Forthcoming instances with such a node, in order. They do not make the group unhealthy, since they do
    /// not exist yet, but they cannot be created as planned.
    pub planned_offline: Vec<InstanceIdx>,
}

impl Condition {
    /// Examines a group. With `capacity_checks`, this includes a check whether each node can be emptied.
    pub fn of(cluster: &Cluster, group: GroupIdx, capacity_checks: bool) -> Condition {
        let nodes = cluster.nodes_of(group);
        let offline = || nodes.iter().map(|n| cluster.node(*n)).filter(|node| node.spec.offline);
        let on_node = |node: &htools_model::Node| -> Vec<InstanceIdx> {
            let mirrored = |i: &&InstanceIdx| cluster.instance(**i).mirror() == Some(node.spec.idx);
            let secondaries = node.state.secondaries.iter().filter(mirrored);
            node.state.primaries.iter().chain(secondaries).copied().collect()
        };
        let mut stranded: Vec<InstanceIdx> = offline().flat_map(on_node).collect();
        stranded.sort_unstable();
        stranded.dedup();
        let to_be_on = |node: &htools_model::Node| -> Vec<InstanceIdx> {
            let is_node_of = |i: &&InstanceIdx| cluster.instance(**i).nodes().any(|n| n == node.spec.idx);
            node.state.planned.iter().filter(is_node_of).copied().collect()
        };
        let mut planned_offline: Vec<InstanceIdx> = offline().flat_map(to_be_on).collect();
        planned_offline.sort_unstable();
        planned_offline.dedup();
        let online = |n: &NodeIdx| !cluster.node(*n).spec.offline;
        let at_risk = if capacity_checks {
            global::nodes_at_risk(cluster, nodes, Departures::BySize)
        } else {
            Vec::new()
        };
        Condition {
            n1_failing: Failures::of(cluster, nodes).nodes,
            at_risk: at_risk.into_iter().filter(online).collect(),
            stranded,
            planned_offline,
        }
    }

    /// Returns true if there is no problem, not even with forthcoming instances.
    pub(crate) fn is_fine(&self) -> bool {
        self.health() == Health::Healthy && self.planned_offline.is_empty()
    }

    /// The nodes that fail N+1 or cannot be emptied, in order.
    pub fn weak_nodes(&self) -> Vec<NodeIdx> {
        let mut nodes = [&self.n1_failing[..], &self.at_risk[..]].concat();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The health in one word.
    pub fn health(&self) -> Health {
        match (self.stranded.is_empty(), self.n1_failing.is_empty() && self.at_risk.is_empty()) {
            (false, _) => Health::Unhealthy,
            (true, false) => Health::Weak,
            (true, true) => Health::Healthy,
        }
    }
}
