//! Repairs groups by moving instances out of them until they have no problem.
//!
//! The worst group comes first. Instances leave it one at a time, in this order; of each kind, the one with
//! most memory comes first:
//!
//! 1. Instances on offline nodes; all of them must leave.
//! 2. While nodes fail N+1, the secondaries for which such a node lacks memory, then its primaries.
//! 3. Primaries of nodes that cannot be emptied.
//!
//! If an instance lacks room, other instances on shared storage leave before it. A group is repaired completely
//! or left alone.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::health::Condition;
use super::room::place_with_room;
use super::{Blocked, Placing, RegroupOptions, Setting, StayReason};
use crate::why::{GroupObstacle, GroupWhy, StayCause};
use crate::{Deadline, Stopped};
use htools_model::{Cluster, Draft, GroupIdx, Instance, InstanceIdx, Mib, NodeIdx, Step};

/// Result of repairing a group.
#[derive(Debug, Clone, PartialEq)]
pub enum Healing {
    /// The group is healthy after these moves.
    Repaired(Vec<Step>),
    /// All existing instances are in order after these moves. Forthcoming instances still have offline nodes,
    /// since they cannot be moved yet.
    ButForthcoming {
        /// The moves.
        steps: Vec<Step>,
        /// The forthcoming instances.
        left: Vec<Blocked>,
    },
    /// The group is left alone: these instances find no place.
    Stuck(Vec<Blocked>),
    /// The group is left alone: this number of moves exceeds the limit.
    TooLong(usize),
    /// The group is left alone: the search ended earlier, for this reason.
    NoTime(Stopped),
}

/// A group with problems.
#[derive(Debug, Clone, PartialEq)]
pub struct Repair {
    /// The group.
    pub group: GroupIdx,
    /// Its problems.
    pub before: Condition,
    /// Result of the repair.
    pub outcome: Healing,
}

/// A plan that repairs groups.
#[derive(Debug, Clone)]
pub struct Redistribution {
    /// The groups with problems. Those that can be repaired come first, in the order of their repair; then the
    /// others, worst first.
    pub repairs: Vec<Repair>,
    /// The cluster after the moves.
    pub after: Cluster,
    /// Reason for an early end of the search, if there was one.
    pub stopped: Option<Stopped>,
}

impl Redistribution {
    /// All moves, in order.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.repairs.iter().flat_map(|repair| match &repair.outcome {
            Healing::Repaired(steps) | Healing::ButForthcoming { steps, .. } => &steps[..],
            Healing::Stuck(_) | Healing::TooLong(_) | Healing::NoTime(_) => &[],
        })
    }

    /// Returns true if every group is healthy after the moves.
    pub fn heals_all(&self) -> bool {
        self.repairs.iter().all(|repair| matches!(repair.outcome, Healing::Repaired(_)))
    }
}

/// Plans the repair of all groups. Groups that could not be repaired are tried again after others were, since
/// those can take instances then.
pub fn redistribute(cluster: &Cluster, options: &RegroupOptions) -> Redistribution {
    redistribute_until(cluster, options, &Deadline::never())
}

/// Like [`redistribute`], but stops at the deadline. Groups not repaired by then are left alone.
pub fn redistribute_until(
    cluster: &Cluster,
    options: &RegroupOptions,
    deadline: &Deadline,
) -> Redistribution {
    let setting = Setting::of(cluster, options);
    let mut placing = Placing::new(cluster, &setting);
    let mut after = Draft::of(cluster);
    let mut left = options.max_moves.unwrap_or(usize::MAX);
    let (mut repaired, mut others) = (Vec::new(), Vec::new());
    let mut pending = worst_first(cluster, &setting);
    while !pending.is_empty() {
        let mut waiting = Vec::new();
        let healed_before = repaired.len();
        for (group, before) in pending {
            let start = after.mark();
            let healed = heal(&placing, &mut after, group, deadline);
            if !healed.as_ref().is_ok_and(|steps| steps.len() <= left) {
                after.back_to(start);
            }
            let outcome = match healed {
                Ok(steps) if steps.len() > left => Healing::TooLong(steps.len()),
                Ok(steps) => {
                    left -= steps.len();
                    placing.refresh(&after, group);
                    outcome_of(steps, placing.condition(&after, group))
                }
                Err(outcome) => outcome,
            };
            let repair = Repair { group, before, outcome };
            match repair.outcome {
                Healing::Repaired(_) | Healing::ButForthcoming { .. } => repaired.push(repair),
                Healing::Stuck(_) => waiting.push(repair),
                Healing::TooLong(_) | Healing::NoTime(_) => others.push(repair),
            }
        }
        let progress = repaired.len() > healed_before;
        let (again, stuck): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|repair| progress && waits_for_others(repair));
        others.extend(stuck);
        pending = again.into_iter().map(|repair| (repair.group, repair.before)).collect();
    }
    let order: HashMap<GroupIdx, usize> =
        worst_first(cluster, &setting).iter().enumerate().map(|(at, (group, _))| (*group, at)).collect();
    others.sort_by_key(|repair| order.get(&repair.group).copied());
    let stopped = others.iter().find_map(|repair| match repair.outcome {
        Healing::NoTime(stopped) => Some(stopped),
        _ => None,
    });
    repaired.extend(others);
    Redistribution { repairs: repaired, after: after.into_cluster(), stopped }
}

/// The result for a group after the moves that repair it.
fn outcome_of(steps: Vec<Step>, after: Condition) -> Healing {
    let left = after.planned_offline.into_iter();
    let left: Vec<Blocked> =
        left.map(|instance| Blocked { instance, why: StayReason::Held(StayCause::Forthcoming) }).collect();
    if left.is_empty() { Healing::Repaired(steps) } else { Healing::ButForthcoming { steps, left } }
}

/// Returns true if an instance might find a place once other groups are healthy.
fn waits_for_others(repair: &Repair) -> bool {
    let Healing::Stuck(blocked) = &repair.outcome else { return false };
    let waits = |group: &GroupWhy| matches!(group.obstacle, Some(GroupObstacle::Health(_)));
    blocked.iter().any(|b| matches!(&b.why, StayReason::NoPlace(groups) if groups.iter().any(waits)))
}

/// The groups with problems, worst first: by health, then by the number of instances on offline nodes, then by
/// the number of nodes that fail N+1.
fn worst_first(cluster: &Cluster, setting: &Setting) -> Vec<(GroupIdx, Condition)> {
    let groups = cluster.groups.iter().map(|g| (g.idx, setting.condition(cluster, g.idx)));
    let mut broken: Vec<_> = groups.filter(|(_, found)| !found.is_fine()).collect();
    broken
        .sort_by_key(|(_, found)| Reverse((found.health(), found.stranded.len(), found.weak_nodes().len())));
    broken
}

/// Moves instances out of a group until it is healthy.
///
/// # Errors
/// The obstacle.
fn heal(
    placing: &Placing<'_>,
    cluster: &mut Draft,
    group: GroupIdx,
    deadline: &Deadline,
) -> Result<Vec<Step>, Healing> {
    let in_time = || deadline.reached().map_or(Ok(()), |stopped| Err(Healing::NoTime(stopped)));
    let mut steps = Vec::new();
    let mut blocked = Vec::new();
    let mut leaving = placing.condition(cluster, group).stranded;
    leaving.sort_by_key(|i| Reverse(cluster.instance(*i).mem));
    for instance in leaving {
        in_time()?;
        // It may have left to make room for another.
        if !cluster.instance(instance).nodes().any(|n| cluster.node(n).spec.group == group) {
            continue;
        }
        match place_with_room(placing, cluster, instance) {
            Ok(moves) => steps.extend(moves),
            Err(why) => blocked.push(Blocked { instance, why }),
        }
    }
    if !blocked.is_empty() {
        return Err(Healing::Stuck(blocked));
    }
    let mut passed_over = HashSet::new();
    loop {
        let condition = placing.condition(cluster, group);
        if condition.weak_nodes().is_empty() {
            return Ok(steps);
        }
        let Some(instance) = relief(cluster, &condition, &passed_over) else {
            return Err(Healing::Stuck(blocked));
        };
        in_time()?;
        match place_with_room(placing, cluster, instance) {
            Ok(moves) => steps.extend(moves),
            Err(why) => {
                passed_over.insert(instance);
                blocked.push(Blocked { instance, why });
            }
        }
    }
}

/// The instance that leaves next to help nodes that fail N+1.
fn relief(
    cluster: &Cluster,
    condition: &Condition,
    passed_over: &HashSet<InstanceIdx>,
) -> Option<InstanceIdx> {
    let largest = |instances: Vec<InstanceIdx>, size: fn(&Instance) -> Mib, least: Mib| {
        let open = instances.into_iter().filter(|i| !passed_over.contains(i));
        let sized = open.map(|i| (size(cluster.instance(i)), i)).filter(|(size, _)| *size >= least);
        sized.max_by_key(|(size, i)| (*size, Reverse(*i))).map(|(_, i)| i)
    };
    let primaries = |nodes: &[NodeIdx]| -> Vec<InstanceIdx> {
        nodes.iter().flat_map(|n| cluster.node(*n).state.primaries.clone()).collect()
    };
    let secondaries = condition.n1_failing.iter().flat_map(|n| decisive_secondaries(cluster, *n)).collect();
    largest(secondaries, Instance::mem_reserved, Mib(1))
        .or_else(|| largest(primaries(&condition.n1_failing), Instance::mem_in_use, Mib(1)))
        // Instances that need no memory are included, since the node may be the only one that can run them.
        .or_else(|| largest(primaries(&condition.at_risk), Instance::mem_in_use, Mib::ZERO))
}

/// The secondaries of a node whose failover would exceed its memory.
fn decisive_secondaries(cluster: &Cluster, node: NodeIdx) -> Vec<InstanceIdx> {
    let node = cluster.node(node);
    let unallocated = node.state.ledger.mem_unallocated(&node.spec);
    if unallocated <= Mib::ZERO {
        // It lacks memory for its own primaries.
        return Vec::new();
    }
    let decides = |i: &InstanceIdx| {
        let instance = cluster.instance(*i);
        instance.mirror() == Some(node.spec.idx) && node.state.peers.get(instance.primary) >= unallocated
    };
    node.state.secondaries.iter().copied().filter(decides).collect()
}
