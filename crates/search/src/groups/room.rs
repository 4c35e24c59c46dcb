//! Makes room for an instance that must leave its group by moving other instances first, without copying disks.

use std::cmp::Reverse;

use super::{Placing, StayReason, reach};
use crate::why::StayCause;
use htools_model::{Class, Cluster, Draft, InstanceIdx, NodeIdx, Step};

/// Maximum number of other instances to try for each obstacle.
const MOST_TRIED: usize = 32;

/// Moves an instance to the best place in other groups. It may lack room on the node to which it must fail over
/// first, or in a group that could take it. Then instances on shared storage leave that place, largest first,
/// until there is room.
///
/// # Errors
/// The reason why it stays; the cluster is then unchanged.
pub(super) fn place_with_room(
    placing: &Placing<'_>,
    cluster: &mut Draft,
    idx: InstanceIdx,
) -> Result<Vec<Step>, StayReason> {
    let why = match placing.place(cluster, idx, |_| true) {
        Ok(step) => return Ok(vec![step]),
        Err(why) => why,
    };
    let obstacles = obstacles(cluster, &why);
    obstacles.iter().find_map(|nodes| cleared(placing, cluster, nodes, idx)).ok_or(why)
}

/// Sets of nodes that lack room; making room in one set is enough.
fn obstacles(cluster: &Cluster, why: &StayReason) -> Vec<Vec<NodeIdx>> {
    match why {
        StayReason::Held(StayCause::NoFailover(node, _)) => vec![vec![*node]],
        StayReason::Held(_) => Vec::new(),
        StayReason::NoPlace(groups) => {
            let full = groups.iter().filter(|why| why.obstacle.is_none());
            full.map(|why| cluster.nodes_of(why.group).to_vec()).collect()
        }
    }
}

/// Moves instances off some nodes until the instance finds a place. Returns `None` if that does not help.
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

/// Instances that can leave some nodes without copying disks, by memory, largest first.
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
