//! Bound from global N+1: if a node is lost, the other online nodes of its group hold all arrivals.

use htools_model::redundancy::global::Scope;
use htools_model::{Class, Cluster, GroupIdx, Instance, Mib, NodeIdx};

/// Memory in MiB of arrivals without a secondary that a group can hold if each of its nodes in `scope` can be emptied.
/// `None` if there is no such bound.
pub(crate) fn memory_left(cluster: &Cluster, group: GroupIdx, scope: &Scope) -> Option<i128> {
    if can_make_room(cluster) {
        return None;
    }
    let nodes = cluster.nodes_of(group);
    let memory: i128 = nodes.iter().map(|node| room(cluster, *node)).sum();
    let without = |node: &NodeIdx| (memory - room(cluster, *node) - leaving(cluster, *node)).max(0);
    nodes.iter().filter(|node| scope.includes(cluster, **node)).map(without).min()
}

/// Tells if an instance has a negative size, so that it would make room where it arrives.
pub(crate) fn can_make_room(cluster: &Cluster) -> bool {
    cluster.instances.iter().any(|instance| instance.mem < Mib::ZERO || instance.disk < Mib::ZERO)
}

/// Memory of a node for the instances of a lost one, in MiB. One MiB must stay unallocated.
fn room(cluster: &Cluster, node: NodeIdx) -> i128 {
    let there = cluster.node(node);
    if there.spec.offline {
        return 0;
    }
    (i128::from(there.state.ledger.mem_unallocated(&there.spec).0) - 1).max(0)
}

/// Memory of the present instances that need a place elsewhere in the group when their node is lost.
fn leaving(cluster: &Cluster, node: NodeIdx) -> i128 {
    let primaries = cluster.node(node).state.primaries.iter().map(|i| cluster.instance(*i));
    let without_secondary = |i: &&Instance| Class::of(i.template) != Class::Failover;
    primaries.filter(without_secondary).map(|i| i128::from(i.mem_in_use().0)).sum()
}
