//! DRBD redundancy: every node must have enough unallocated memory for the instances that fail over to it when one
//! other node is lost.

use std::collections::HashSet;

use crate::{Cluster, InstanceIdx, Mib, NodeIdx, WORTH_PARTS};

/// The nodes that fail N+1, and the instances that depend on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failures {
    /// Online nodes with the N+1 flag.
    pub nodes: Vec<NodeIdx>,
    /// Number of distinct instances that have such a node as primary or secondary.
    pub instances: usize,
}

impl Failures {
    /// The failures among `nodes`.
    pub fn of(cluster: &Cluster, nodes: &[NodeIdx]) -> Failures {
        let failing = |n: &NodeIdx| {
            let node = cluster.node(*n);
            !node.spec.offline && node.state.ledger.n1_fail
        };
        let nodes: Vec<NodeIdx> = nodes.iter().copied().filter(failing).collect();
        let instances: HashSet<InstanceIdx> = nodes
            .iter()
            .map(|n| &cluster.node(*n).state)
            .flat_map(|state| state.primaries.iter().chain(&state.secondaries).copied())
            .collect();
        Failures { nodes, instances: instances.len() }
    }

    /// Tells if no node fails.
    pub fn none(&self) -> bool {
        self.nodes.is_empty()
    }
}

/// The part of the score that no placement avoids: that of the memory reserves, and the lower bound of the cost of
/// affinity keys, if they count. The latter is at most 0.
pub fn unavoidable_score(cluster: &Cluster, nodes: &[NodeIdx]) -> f64 {
    let reserve = unavoidable_reserve(cluster, nodes);
    match cluster.weights.affinity() {
        0.0 => reserve,
        weight => reserve + weight * (cluster.least_key_cost(nodes) as f64 / WORTH_PARTS),
    }
}

/// The part of the score that is due to unavoidable memory reserves: the present reserves spread evenly over all nodes
/// but the largest, against spread over all. 0 if that cannot be computed.
fn unavoidable_reserve(cluster: &Cluster, nodes: &[NodeIdx]) -> f64 {
    let specs = || nodes.iter().map(|n| &cluster.node(*n).spec);
    let total = specs().fold(0.0, |sum, spec| sum + spec.mem_total);
    let largest = specs().map(|spec| spec.mem_total).fold(f64::NEG_INFINITY, f64::max);
    let others = total - largest;
    // The negation makes not-a-number take this branch, too.
    if nodes.len() < 2 || !(others > 0.0) {
        return 0.0;
    }
    let reserved: Mib = nodes
        .iter()
        .map(|n| cluster.node(*n).state.peers.iter().map(|(_, amount)| amount).sum::<Mib>())
        .sum();
    cluster.weights.reserved_sum() * (reserved.as_f64() / others - reserved.as_f64() / total)
}
