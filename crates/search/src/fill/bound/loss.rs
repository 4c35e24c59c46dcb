//! Bound from global N+1: if a node is lost, the other online nodes of its group hold all new instances.

use super::stack::Stack;
use htools_model::redundancy::global::Scope;
use htools_model::{Class, Cluster, GroupIdx, Instance, Mib, NodeIdx, Strictness};

/// Upper bound of the number of new instances in a group each of whose nodes in `scope` can be emptied. `None` if there is
/// no such bound.
pub(super) fn most(cluster: &Cluster, group: GroupIdx, scope: &Scope, stack: &Stack) -> Option<i64> {
    // An instance of negative size would make room where it arrives.
    if cluster.instances.iter().any(|instance| instance.mem < Mib::ZERO || instance.disk < Mib::ZERO) {
        return None;
    }
    let nodes = cluster.nodes_of(group);
    let shelters: Vec<Shelter> = nodes.iter().map(|node| Shelter::of(cluster, *node, stack)).collect();
    let unlimited = shelters.iter().filter(|shelter| shelter.count.is_none()).count();
    let count: i64 = shelters.iter().filter_map(|shelter| shelter.count).sum();
    let memory: i128 = shelters.iter().map(|shelter| i128::from(shelter.memory)).sum();
    let without = |(node, own): (&NodeIdx, &Shelter)| {
        let elsewhere_unlimited = unlimited > usize::from(own.count.is_none());
        let by_node = (!elsewhere_unlimited).then(|| count - own.count.unwrap_or(0));
        let left = memory - i128::from(own.memory) - leaving(cluster, *node);
        let by_memory = left.max(0).checked_div(i128::from(stack.memory().0));
        let by_memory = by_memory.and_then(|most| i64::try_from(most).ok());
        by_node.into_iter().chain(by_memory).min()
    };
    let losses = nodes.iter().zip(&shelters).filter(|(node, _)| scope.includes(cluster, **node));
    losses.filter_map(without).min()
}

/// Room of a node for the instances of a lost one.
struct Shelter {
    /// Number of new instances; `None` without a limit.
    count: Option<i64>,
    /// Memory for all arrivals in MiB. One MiB must stay unallocated.
    memory: i64,
}

impl Shelter {
    fn of(cluster: &Cluster, node: NodeIdx, stack: &Stack) -> Shelter {
        let there = cluster.node(node);
        if there.spec.offline {
            return Shelter { count: Some(0), memory: 0 };
        }
        let unallocated = there.state.ledger.mem_unallocated(&there.spec);
        Shelter {
            count: stack.most_primaries(cluster, node, Strictness::Forced),
            memory: (unallocated.0.saturating_sub(1)).max(0),
        }
    }
}

/// Memory of the present instances that need a place elsewhere in the group when their node is lost.
fn leaving(cluster: &Cluster, node: NodeIdx) -> i128 {
    let primaries = cluster.node(node).state.primaries.iter().map(|i| cluster.instance(*i));
    let without_secondary = |i: &&Instance| Class::of(i.template) != Class::Failover;
    primaries.filter(without_secondary).map(|i| i128::from(i.mem_in_use().0)).sum()
}
