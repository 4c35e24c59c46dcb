//! Requests to move existing instances.

use std::collections::HashSet;

use super::groups::PlaceRequirements;
use super::{Answer, Failure, ReplyNotes, Settings, groups, why};
use crate::place::Conditions;
use crate::place::evacuation::{Destination, EvacuationObstacle, Moved, evacuate};
use crate::why::StayCause;
use htools_model::{Cluster, Draft, EvacMode, GroupIdx, InstanceIdx, Mirroring, NodeIdx};

/// Finds other nodes for instances, in their group.
pub(super) fn node_evacuate(
    cluster: &mut Draft,
    notes: &mut ReplyNotes,
    instances: &[InstanceIdx],
    mode: EvacMode,
    settings: &Settings,
) -> Answer {
    let avoided = nodes_to_leave(cluster, instances, mode);
    let (mut moved, mut failed) = (Vec::new(), Vec::new());
    for (tried, idx) in each_once(instances).enumerate() {
        if let Some(stopped) = settings.deadline.reached_before(tried) {
            failed.push((idx, Failure::NoTime(stopped)));
            continue;
        }
        let group = cluster.node(cluster.instance(idx).primary).spec.group;
        let usable = |n: &NodeIdx| !cluster.node(*n).spec.offline && !avoided.contains(n);
        let targets = cluster.nodes_of(group).iter().copied().filter(usable).collect();
        let destination = Destination { group, targets, ignore_soft_errors: settings.ignore_soft_errors };
        let found = match evacuate(cluster, idx, mode, &destination) {
            Ok(done) => Ok(done),
            Err(stuck) => {
                if settings.explain {
                    notes.explain(why::of_moves(cluster, idx, mode, &destination));
                }
                elsewhere(cluster, notes, idx, mode, stuck, &avoided, settings)
            }
        };
        match found {
            Ok(done) => {
                // The group can change, since the secondary of a split instance is in another one.
                let group = cluster.node(done.to.primary).spec.group;
                moved.push((done, group));
            }
            Err(failure) => failed.push((idx, failure)),
        }
    }
    Answer::Evacuated { moved, failed }
}

/// Finds another group for an instance that is stuck in its own, if the settings allow it.
fn elsewhere(
    cluster: &mut Draft,
    notes: &mut ReplyNotes,
    idx: InstanceIdx,
    mode: EvacMode,
    stuck: EvacuationObstacle,
    avoided: &[NodeIdx],
    settings: &Settings,
) -> Result<Moved, Failure> {
    let instance = cluster.instance(idx);
    let leaves_all = match instance.template.mirroring() {
        Mirroring::None => false,
        Mirroring::Internal => mode == EvacMode::All,
        Mirroring::External => mode != EvacMode::SecondaryOnly,
    };
    if !settings.other_groups || !leaves_all {
        return Err(Failure::Stuck(stuck));
    }
    let own = cluster.node(instance.primary).spec.group;
    let mut groups = cluster.groups_with_nodes();
    groups.retain(|g| *g != own);
    let mut conditions = settings.conditions();
    if let Some(scope) = &mut conditions.redundancy {
        // Its group is exempt, as it has no room for the instance.
        scope.exempt.insert(own);
    }
    let found = if groups.is_empty() {
        Err(Failure::NoTargetGroups(Vec::new()))
    } else {
        to_another_group(
            cluster,
            notes,
            idx,
            &TargetGroups { groups, avoided, heeds_denials: true, conditions },
            settings,
        )
    };
    found.map(|(moved, _)| moved).map_err(|failure| Failure::NowhereElse(stuck, Box::new(failure)))
}

/// The instances in the order of their first mention. An instance that has left its nodes need not move again.
fn each_once(instances: &[InstanceIdx]) -> impl Iterator<Item = InstanceIdx> + use<> {
    let mut seen = HashSet::new();
    let first: Vec<InstanceIdx> = instances.iter().copied().filter(|i| seen.insert(*i)).collect();
    first.into_iter()
}

/// The nodes that the instances must leave, according to the mode.
fn nodes_to_leave(cluster: &Cluster, instances: &[InstanceIdx], mode: EvacMode) -> Vec<NodeIdx> {
    let nodes_of = |i: &InstanceIdx| {
        let instance = cluster.instance(*i);
        let primary = Some(instance.primary).filter(|_| mode != EvacMode::SecondaryOnly);
        let mirror = instance.mirror().filter(|_| mode != EvacMode::PrimaryOnly);
        [primary, mirror].into_iter().flatten()
    };
    instances.iter().flat_map(nodes_of).collect()
}

/// Finds another node for an instance, to replace one of its present nodes.
pub(super) fn relocate(
    cluster: &mut Draft,
    notes: &mut ReplyNotes,
    idx: InstanceIdx,
    required_nodes: i64,
    from: &[NodeIdx],
    settings: &Settings,
) -> Result<Answer, Failure> {
    if required_nodes != 1 {
        return Err(Failure::Exchange(required_nodes));
    }
    let instance = cluster.instance(idx);
    let (role, node, mode) = match instance.template.mirroring() {
        Mirroring::None => return Err(Failure::NotMirrored),
        Mirroring::Internal => ("secondary", instance.mirror(), EvacMode::SecondaryOnly),
        Mirroring::External => ("primary", Some(instance.primary), EvacMode::PrimaryOnly),
    };
    if node.is_none_or(|node| from != [node]) {
        return Err(Failure::NotItsNode(role, node, from.to_vec()));
    }
    // Ganeti expects a node of the same group.
    let settings = Settings { other_groups: false, ..settings.clone() };
    let Answer::Evacuated { mut moved, mut failed } = node_evacuate(cluster, notes, &[idx], mode, &settings)
    else {
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

/// Finds another group for instances.
pub(super) fn change_group(
    cluster: &mut Draft,
    notes: &mut ReplyNotes,
    instances: &[InstanceIdx],
    targets: &[GroupIdx],
    settings: &Settings,
) -> Answer {
    let sources: Vec<GroupIdx> =
        instances.iter().map(|i| cluster.node(cluster.instance(*i).primary).spec.group).collect();
    let wanted = |g: &GroupIdx| (targets.is_empty() || targets.contains(g)) && !sources.contains(g);
    let groups: Vec<GroupIdx> = cluster.groups_with_nodes().into_iter().filter(wanted).collect();
    // If the request names the groups, it can override denials.
    let heeds_denials = targets.is_empty() || !settings.ignore_soft_errors;
    let others = TargetGroups { groups, avoided: &[], heeds_denials, conditions: settings.conditions() };
    let (mut moved, mut failed) = (Vec::new(), Vec::new());
    for (tried, idx) in each_once(instances).enumerate() {
        if others.groups.is_empty() {
            failed.push((idx, Failure::NoTargetGroups(targets.to_vec())));
            continue;
        }
        if let Some(stopped) = settings.deadline.reached_before(tried) {
            failed.push((idx, Failure::NoTime(stopped)));
            continue;
        }
        match to_another_group(cluster, notes, idx, &others, settings) {
            Ok(done) => moved.push(done),
            Err(failure) => failed.push((idx, failure)),
        }
    }
    Answer::Evacuated { moved, failed }
}

/// Possible targets of an instance that leaves its group.
struct TargetGroups<'a> {
    groups: Vec<GroupIdx>,
    /// Nodes that the request wants to free.
    avoided: &'a [NodeIdx],
    /// Obey the tags that deny moves between groups.
    heeds_denials: bool,
    conditions: Conditions,
}

/// Moves an instance to the best group that can take it. Migration tags may block the way to a place; then the
/// next group is tried.
fn to_another_group(
    cluster: &mut Draft,
    notes: &mut ReplyNotes,
    idx: InstanceIdx,
    others: &TargetGroups<'_>,
    settings: &Settings,
) -> Result<(Moved, GroupIdx), Failure> {
    let instance = cluster.instance(idx).clone();
    let own = cluster.node(instance.primary).spec.group;
    if others.heeds_denials && cluster.denies_leaving(own) {
        return Err(Failure::Held(StayCause::Denied));
    }
    let wanted = PlaceRequirements {
        instance: &instance,
        required: if instance.template.has_secondary() { 2 } else { 1 },
        restrict_to: settings.restrict_to.as_deref(),
        avoided: others.avoided,
        heeds_denials: others.heeds_denials,
        dedicated: false,
        conditions: &others.conditions,
        rule: None,
        deadline: &settings.deadline,
    };
    let choice = groups::choose(cluster, &others.groups, &wanted);
    let mut first_failure = None;
    let mut left = choice.allocable(cluster);
    while let Some(trial) = choice.take_best(cluster, &mut left) {
        let group = trial.group;
        let usable = |n: &NodeIdx| wanted.admits(&cluster.node(*n).spec);
        let targets = cluster.nodes_of(group).iter().copied().filter(usable).collect();
        let destination = Destination { group, targets, ignore_soft_errors: false };
        match evacuate(cluster, idx, EvacMode::All, &destination) {
            Ok(moved) => return Ok((moved, group)),
            Err(stuck) => {
                if settings.explain {
                    notes.explain(why::of_moves(cluster, idx, EvacMode::All, &destination));
                }
                first_failure.get_or_insert(Failure::Stuck(stuck));
            }
        }
    }
    if settings.explain && first_failure.is_none() {
        notes.explain(why::of_choice(cluster, &choice, &wanted));
    }
    Err(first_failure.unwrap_or(Failure::NoGroup(choice)))
}
