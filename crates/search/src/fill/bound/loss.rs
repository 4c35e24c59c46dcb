//! Bound from global N+1: if a node is lost, the other online nodes of its group hold all new instances.

use super::stack::Stack;
use crate::limits::loss::{can_make_room, memory_left};
use htools_model::redundancy::global::Scope;
use htools_model::{Cluster, GroupIdx, NodeIdx, Strictness};

/// Upper bound of the number of new instances in a group each of whose nodes in `scope` can be emptied. `None` if there is
/// no such bound.
pub(super) fn most(cluster: &Cluster, group: GroupIdx, scope: &Scope, stack: &Stack) -> Option<i64> {
    let by_memory = memory_left(cluster, group, scope)?.checked_div(i128::from(stack.memory().0));
    let by_memory = by_memory.and_then(|most| i64::try_from(most).ok());
    by_memory.into_iter().chain(most_by_node(cluster, group, scope, stack)).min()
}

/// The same, from the numbers that fit on each of the other nodes.
fn most_by_node(cluster: &Cluster, group: GroupIdx, scope: &Scope, stack: &Stack) -> Option<i64> {
    if can_make_room(cluster) {
        return None;
    }
    let nodes = cluster.nodes_of(group);
    let counts: Vec<Option<i64>> = nodes.iter().map(|node| sheltered(cluster, *node, stack)).collect();
    let unlimited = counts.iter().filter(|count| count.is_none()).count();
    let sum: i64 = counts.iter().flatten().sum();
    let without = |(_, own): (&NodeIdx, &Option<i64>)| {
        let elsewhere_unlimited = unlimited > usize::from(own.is_none());
        (!elsewhere_unlimited).then(|| sum - own.unwrap_or(0))
    };
    let losses = nodes.iter().zip(&counts).filter(|(node, _)| scope.includes(cluster, **node));
    losses.filter_map(without).min()
}

/// Number of new instances for which a node has room when another one is lost; `None` without a limit.
fn sheltered(cluster: &Cluster, node: NodeIdx, stack: &Stack) -> Option<i64> {
    if cluster.node(node).spec.offline {
        return Some(0);
    }
    stack.most_primaries(cluster, node, Strictness::Forced)
}
