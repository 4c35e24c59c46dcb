//! Requests to move instances that exist.

use std::collections::HashSet;

use super::groups::{self, Wanted};
use super::{Answer, Failure, Settings};
use crate::model::{Cluster, EvacMode, GroupIdx, InstanceIdx, Mirroring, NodeIdx};
use crate::search::evacuate::{Moved, Room, evacuate};

/// Other nodes for instances, in their group.
pub(super) fn node_evacuate(
    cluster: &mut Cluster,
    instances: &[InstanceIdx],
    mode: EvacMode,
    settings: &Settings,
) -> Answer {
    let avoided = nodes_to_leave(cluster, instances, mode);
    let (mut moved, mut failed) = (Vec::new(), Vec::new());
    for idx in each_once(instances) {
        let group = cluster.node(cluster.instance(idx).primary).spec.group;
        let usable = |n: &NodeIdx| !cluster.node(*n).spec.offline && !avoided.contains(n);
        let targets = cluster.nodes_of(group).into_iter().filter(usable).collect();
        let room = Room { group, targets, ignore_soft_errors: settings.ignore_soft_errors };
        match evacuate(cluster, idx, mode, &room) {
            // the old secondary of a split instance may be in another group
            Ok(done) => moved.push({
                let group = cluster.node(done.to.primary).spec.group;
                (done, group)
            }),
            Err(stuck) => failed.push((idx, Failure::Stuck(stuck))),
        }
    }
    Answer::Evacuated { moved, failed }
}

/// The instances in the order in which they are first named: one that has been moved
/// off its nodes need not be moved again.
fn each_once(instances: &[InstanceIdx]) -> impl Iterator<Item = InstanceIdx> + use<> {
    let mut seen = HashSet::new();
    let first: Vec<InstanceIdx> = instances.iter().copied().filter(|i| seen.insert(*i)).collect();
    first.into_iter()
}

/// The nodes of the instances that are to be freed, as the mode says.
fn nodes_to_leave(cluster: &Cluster, instances: &[InstanceIdx], mode: EvacMode) -> Vec<NodeIdx> {
    let of = |i: &InstanceIdx| {
        let instance = cluster.instance(*i);
        let primary = Some(instance.primary).filter(|_| mode != EvacMode::SecondaryOnly);
        let mirror = instance.mirror().filter(|_| mode != EvacMode::PrimaryOnly);
        [primary, mirror].into_iter().flatten()
    };
    instances.iter().flat_map(of).collect()
}

/// Another node for an instance, in place of one that it is on.
pub(super) fn relocate(
    cluster: &mut Cluster,
    idx: InstanceIdx,
    required_nodes: i64,
    from: &[NodeIdx],
    settings: &Settings,
) -> Result<Answer, Failure> {
    if required_nodes != 1 {
        return Err(Failure::Exchange(required_nodes));
    }
    let instance = cluster.instance(idx);
    let (role, node, mode) = match (instance.template.mirroring(), instance.mirror()) {
        (Mirroring::None, _) | (Mirroring::Internal, None) => return Err(Failure::NotMirrored),
        (Mirroring::Internal, Some(mirror)) => ("secondary", mirror, EvacMode::SecondaryOnly),
        _ => ("primary", instance.primary, EvacMode::PrimaryOnly),
    };
    if from != [node] {
        return Err(Failure::NotItsNode(role, node, from.to_vec()));
    }
    let Answer::Evacuated { mut moved, mut failed } = node_evacuate(cluster, &[idx], mode, settings) else {
        return Err(Failure::NotMirrored);
    };
    if let Some((_, failure)) = failed.pop() {
        return Err(failure);
    }
    let new = moved.pop().map(|(Moved { to, .. }, _)| match mode {
        EvacMode::SecondaryOnly => to.secondary.unwrap_or(to.primary),
        _ => to.primary,
    });
    new.map(|node| Answer::Relocated { node }).ok_or(Failure::NotMirrored)
}

/// Another group for instances.
pub(super) fn change_group(
    cluster: &mut Cluster,
    instances: &[InstanceIdx],
    targets: &[GroupIdx],
    settings: &Settings,
) -> Answer {
    let sources: Vec<GroupIdx> =
        instances.iter().map(|i| cluster.node(cluster.instance(*i).primary).spec.group).collect();
    let wanted = |g: &GroupIdx| (targets.is_empty() || targets.contains(g)) && !sources.contains(g);
    let groups: Vec<GroupIdx> = cluster.groups_with_nodes().into_iter().filter(wanted).collect();
    let (mut moved, mut failed) = (Vec::new(), Vec::new());
    for idx in each_once(instances) {
        if groups.is_empty() {
            failed.push((idx, Failure::NoTargetGroups(targets.to_vec())));
            continue;
        }
        match to_another_group(cluster, idx, &groups, settings) {
            Ok(done) => moved.push(done),
            Err(failure) => failed.push((idx, failure)),
        }
    }
    Answer::Evacuated { moved, failed }
}

fn to_another_group(
    cluster: &mut Cluster,
    idx: InstanceIdx,
    groups: &[GroupIdx],
    settings: &Settings,
) -> Result<(Moved, GroupIdx), Failure> {
    let instance = cluster.instance(idx).clone();
    let wanted = Wanted {
        instance: &instance,
        required: if instance.template.has_secondary() { 2 } else { 1 },
        restrict_to: settings.restrict_to.as_deref(),
        dedicated: false,
        conditions: &settings.conditions(),
    };
    let choice = groups::choose(cluster, groups, &wanted);
    let Some(selected) = choice.selected else { return Err(Failure::NoGroup(choice)) };
    let group = choice.trials[selected].group;
    let online = |n: &NodeIdx| !cluster.node(*n).spec.offline;
    let targets = cluster.nodes_of(group).into_iter().filter(online).collect();
    let room = Room { group, targets, ignore_soft_errors: false };
    evacuate(cluster, idx, EvacMode::All, &room).map(|moved| (moved, group)).map_err(Failure::Stuck)
}
