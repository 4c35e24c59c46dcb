//! Room for an instance that has to leave its group: others, of which no disks are copied, go out of its way first.

use std::cmp::Reverse;

use super::{Placing, Why, reach};
use crate::why::Hold;
use htools_model::{Class, Cluster, Draft, InstanceIdx, NodeIdx, Step};

/// Most instances that are tried to be moved out of the way of one, for each of its obstacles.
const MOST_TRIED: usize = 32;

/// Moves an instance to the best place in other groups. If it lacks room, on the node to which it has to fail over
/// before or in a group that would take it, instances on shared storage leave there, largest first, until it has its
/// place.
///
/// # Errors
/// Why it stays; the cluster is then as before.
pub(super) fn place_with_room(
    placing: &Placing<'_>,
    cluster: &mut Draft,
    idx: InstanceIdx,
) -> Result<Vec<Step>, Why> {
    let why = match placing.place(cluster, idx, |_| true) {
        Ok(step) => return Ok(vec![step]),
        Err(why) => why,
    };
    let obstacles = obstacles(cluster, &why);
    obstacles.iter().find_map(|nodes| cleared(placing, cluster, nodes, idx)).ok_or(why)
}

/// The nodes that lack room, in sets of which one is enough.
fn obstacles(cluster: &Cluster, why: &Why) -> Vec<Vec<NodeIdx>> {
    match why {
        Why::Held(Hold::NoFailover(node, _)) => vec![vec![*node]],
        Why::Held(_) => Vec::new(),
        Why::NoPlace(groups) => {
            let full = groups.iter().filter(|why| why.bar.is_none());
            full.map(|why| cluster.nodes_of(why.group).to_vec()).collect()
        }
    }
}

/// Moves instances off some nodes until one has its place; nothing if that does not help.
fn cleared(
    placing: &Placing<'_>,
    cluster: &mut Draft,
    nodes: &[NodeIdx],
    idx: InstanceIdx,
) -> Option<Vec<Step>> {
    let start = cluster.mark();
    let mut steps = Vec::new();
    for other in movable(cluster, nodes, idx).into_iter().take(MOST_TRIED) {
        let Ok(step) = placing.place(cluster, other, |_| true) else { continue };
        steps.push(step);
        if let Ok(last) = placing.place(cluster, idx, |_| true) {
            steps.push(last);
            return Some(steps);
        }
    }
    cluster.back_to(start);
    None
}

/// Who can leave some nodes without a copy of its disks, and makes room: by memory, largest first.
fn movable(cluster: &Cluster, nodes: &[NodeIdx], besides: InstanceIdx) -> Vec<InstanceIdx> {
    let there = nodes.iter().flat_map(|node| &cluster.node(*node).state.primaries).copied();
    let makes_room = |i: &InstanceIdx| {
        let instance = cluster.instance(*i);
        *i != besides
            && Class::of(instance.template) == Class::Relocate
            && reach::hold(cluster, instance).is_none()
    };
    let mut found: Vec<InstanceIdx> = there.filter(makes_room).collect();
    found.sort_by_key(|i| (Reverse(cluster.instance(*i).mem_in_use()), *i));
    found
}
