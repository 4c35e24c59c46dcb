//! Healing groups: instances leave them until nothing is wrong any more.
//!
//! The worst group comes first. Out of it go, one at a time, the instances on offline nodes
//! (all of them have to), then, as long as nodes fail N+1, the secondaries for which such a
//! node lacks memory, then its primaries, and those of nodes that could not be emptied; of each
//! kind the one with most memory first. Where an instance lacks room, others on shared storage
//! leave before it. A group is healed as a whole or left alone.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::health::Condition;
use super::room::place_with_room;
use super::{Blocked, Placing, RegroupOptions, Setting, Why};
use crate::why::{GroupBar, GroupWhy, Hold};
use crate::{Deadline, Stopped};
use htools_model::{Cluster, Draft, GroupIdx, Instance, InstanceIdx, Mib, NodeIdx, Step};

/// What can be done for a group.
#[derive(Debug, Clone, PartialEq)]
pub enum Healing {
    /// It is healthy after these moves.
    Repaired(Vec<Step>),
    /// All that exists is well after these moves, but forthcoming instances keep offline nodes: there is nothing yet
    /// that could move.
    ButForthcoming {
        /// The moves.
        steps: Vec<Step>,
        /// The forthcoming instances.
        left: Vec<Blocked>,
    },
    /// It stays as it is: these instances find no place.
    Stuck(Vec<Blocked>),
    /// It stays as it is: the moves would be more than are wanted.
    TooLong(usize),
    /// It stays as it is: the search ended before, for this reason.
    NoTime(Stopped),
}

/// A group in which something is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Repair {
    /// The group.
    pub group: GroupIdx,
    /// What is wrong.
    pub before: Condition,
    /// What can be done.
    pub outcome: Healing,
}

/// A plan that heals groups.
#[derive(Debug, Clone)]
pub struct Redistribution {
    /// The groups in which something is wrong: first those that can be healed, in the order in which
    /// they are, then the others, worst first.
    pub repairs: Vec<Repair>,
    /// The cluster afterwards.
    pub after: Cluster,
    /// What ended the search early, if anything did.
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

    /// Whether every group is healthy afterwards.
    pub fn heals_all(&self) -> bool {
        self.repairs.iter().all(|repair| matches!(repair.outcome, Healing::Repaired(_)))
    }
}

/// Plans how to heal the groups of a cluster. Groups that could not be healed are tried again
/// after others have been, which can take instances then.
pub fn redistribute(cluster: &Cluster, options: &RegroupOptions) -> Redistribution {
    redistribute_until(cluster, options, &Deadline::never())
}

/// The same, as far as there is time: what cannot be healed by then stays as it is.
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

/// What moves that heal a group make of it.
fn outcome_of(steps: Vec<Step>, after: Condition) -> Healing {
    let left = after.planned_offline.into_iter();
    let left: Vec<Blocked> =
        left.map(|instance| Blocked { instance, why: Why::Held(Hold::Forthcoming) }).collect();
    if left.is_empty() { Healing::Repaired(steps) } else { Healing::ButForthcoming { steps, left } }
}

/// Whether an instance might find a place once other groups are healthy.
fn waits_for_others(repair: &Repair) -> bool {
    let Healing::Stuck(blocked) = &repair.outcome else { return false };
    let waits = |group: &GroupWhy| matches!(group.bar, Some(GroupBar::Health(_)));
    blocked.iter().any(|b| matches!(&b.why, Why::NoPlace(groups) if groups.iter().any(waits)))
}

/// The groups in which something is wrong: by what that is, then by how many instances are on
/// offline nodes, then by how many nodes fail N+1.
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
/// What is in the way.
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
        // it may have left for another's sake
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

/// The instance that leaves next for the sake of nodes that fail N+1.
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
        // what needs no memory may be what only its node can have
        .or_else(|| largest(primaries(&condition.at_risk), Instance::mem_in_use, Mib::ZERO))
}

/// The secondaries of a node for whose failover it lacks memory.
fn decisive_secondaries(cluster: &Cluster, node: NodeIdx) -> Vec<InstanceIdx> {
    let node = cluster.node(node);
    let unallocated = node.state.ledger.mem_unallocated(&node.spec);
    if unallocated <= Mib::ZERO {
        // it lacks memory for its primaries
        return Vec::new();
    }
    let decides = |i: &InstanceIdx| {
        let instance = cluster.instance(*i);
        instance.mirror() == Some(node.spec.idx) && node.state.peers.get(instance.primary) >= unallocated
    };
    node.state.secondaries.iter().copied().filter(decides).collect()
}
