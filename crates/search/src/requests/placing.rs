//! Requests for new instances, and for a secondary node.

use super::groups::{GroupChoice, GroupTrial, PlaceRequirements};
use super::why::PlacementObstacles;
use super::{Answer, Failure, ReplyNotes, RoomFound, Settings, groups, room, why};
use crate::place;
use crate::place::{Conditions, InstanceToPlace, Targets};
use crate::why::{GroupObstacle, GroupWhy};
use htools_ganeti::load::iallocator::Allocation;
use htools_ganeti::load::merge::new_instance;
use htools_model::{
    AllocPolicy, Cluster, DiskTemplate, Draft, GroupIdx, Instance, InstanceIdx, NodeIdx, Place, TagArrival,
};

/// Returns true if places are compared by lost allocations. This requires that the relevant groups have nodes
/// and that all of these have exclusive storage.
pub(super) fn is_dedicated(cluster: &Cluster, group: Option<GroupIdx>) -> bool {
    let allocable = |g: GroupIdx| cluster.group(g).alloc_policy != AllocPolicy::Unallocable;
    let any_allocable = cluster.groups.iter().any(|g| allocable(g.idx));
    let matters = |g: GroupIdx| match group {
        Some(group) => g == group,
        None => allocable(g) || !any_allocable,
    };
    let mut nodes = cluster.nodes.iter().map(|n| &n.spec).filter(|spec| matters(spec.group)).peekable();
    nodes.peek().is_some() && nodes.all(|spec| spec.exclusive_storage)
}

/// The only group with this name or UUID.
pub(super) fn find_group(cluster: &Cluster, key: Option<&str>) -> Result<Option<GroupIdx>, Failure> {
    let Some(key) = key else { return Ok(None) };
    let mut found = cluster.groups.iter().filter(|g| g.name == key || g.uuid == key);
    match (found.next(), found.next()) {
        (Some(group), None) => Ok(Some(group.idx)),
        _ => Err(Failure::UnknownGroup(key.to_owned())),
    }
}

/// Finds a place for a new instance, in one group or in the best of all.
fn choose(
    cluster: &Cluster,
    group: Option<GroupIdx>,
    wanted: &PlaceRequirements<'_>,
) -> Result<GroupChoice, Failure> {
    let Some(group) = group else {
        let choice = groups::choose(cluster, &cluster.groups_with_nodes(), wanted);
        return if choice.selected.is_some() { Ok(choice) } else { Err(Failure::NoGroup(choice)) };
    };
    let name = &wanted.instance.name;
    let search = GroupObstacle::networks(cluster, group, wanted.instance)
        .and_then(|()| groups::search(cluster, group, cluster.nodes_of(group), wanted))
        .map_err(|obstacle| Failure::GroupExcluded(group, name.clone(), obstacle))?;
    let selected = search.best.is_some().then_some(0);
    let trials = vec![GroupTrial { group, result: Ok(search) }];
    let choice =
        GroupChoice { instance: name.clone(), trials, selected, named: true, dedicated: wanted.dedicated };
    if choice.selected.is_some() { Ok(choice) } else { Err(Failure::NoGroup(choice)) }
}

fn nodes_of(place: &Place) -> Vec<NodeIdx> {
    place.placement.nodes().collect()
}

/// Adds an instance at the place chosen for it.
fn settle(
    cluster: &mut Draft,
    notes: &mut ReplyNotes,
    instance: &Instance,
    choice: &GroupChoice,
) -> Vec<NodeIdx> {
    let Some(place) = choice.place() else { return Vec::new() };
    notes.added.push(cluster.adopt(instance, place));
    nodes_of(place)
}

/// The obstacles, group by group.
fn reasons(
    cluster: &Cluster,
    wanted: &PlaceRequirements<'_>,
    found: &Result<GroupChoice, Failure>,
) -> Option<PlacementObstacles> {
    match found {
        Ok(choice) | Err(Failure::NoGroup(choice)) => Some(why::of_choice(cluster, choice, wanted)),
        Err(Failure::GroupExcluded(group, instance, obstacle)) => {
            let groups = vec![GroupWhy::excluded(*group, obstacle.clone())];
            Some(PlacementObstacles { instance: instance.clone(), groups, moves: None })
        }
        Err(_) => None,
    }
}

/// Searches for moves that make room for an instance without a place.
fn make_room(
    cluster: &Cluster,
    wanted: &PlaceRequirements<'_>,
    choice: &GroupChoice,
    settings: &Settings,
) -> RoomFound {
    let allocable = |g: &GroupIdx| choice.named || cluster.group(*g).alloc_policy != AllocPolicy::Unallocable;
    let groups: Vec<GroupIdx> = choice.trials.iter().map(|t| t.group).filter(allocable).collect();
    let plan = room::make(cluster, &groups, choice.named, wanted, &settings.rules());
    plan.map_or(RoomFound::NotFound, RoomFound::Found)
}

/// Finds a place for one new instance.
pub(super) fn allocate(
    cluster: &mut Draft,
    notes: &mut ReplyNotes,
    allocation: Allocation,
    group: Option<String>,
    restrict_to: Option<Vec<String>>,
    settings: &Settings,
) -> Result<Answer, Failure> {
    let group = find_group(cluster, group.as_deref())?;
    let instance = new_instance(cluster, allocation.description);
    let wanted = PlaceRequirements {
        instance: &instance,
        required: allocation.required_nodes,
        restrict_to: settings.restrict_to.as_deref().or(restrict_to.as_deref()),
        avoided: &[],
        heeds_denials: false,
        dedicated: is_dedicated(cluster, group),
        conditions: &settings.conditions(),
        rule: settings.primaries.as_deref(),
        deadline: &settings.deadline,
    };
    let found = choose(cluster, group, &wanted);
    if settings.explain {
        notes.why.extend(reasons(cluster, &wanted, &found));
    }
    if let (Err(Failure::NoGroup(choice)), true) = (&found, settings.make_room) {
        notes.room = make_room(cluster, &wanted, choice, settings);
    }
    let choice = found?;
    let nodes = settle(cluster, notes, &instance, &choice);
    Ok(Answer::Allocated { choice, nodes })
}

/// Finds places for several new instances, each in the state after the others. Unless the request names a
/// group, all of them need a place.
pub(super) fn multi_allocate(
    cluster: &mut Draft,
    notes: &mut ReplyNotes,
    allocations: Vec<Allocation>,
    group: Option<String>,
    settings: &Settings,
) -> Result<Answer, Failure> {
    if allocations.is_empty() {
        // Without instances, even the name of the group is not checked.
        return Ok(Answer::MultiAllocated { allocated: Vec::new(), failed: Vec::new() });
    }
    let group = find_group(cluster, group.as_deref())?;
    let dedicated = is_dedicated(cluster, group);
    let conditions = settings.conditions();
    let (mut allocated, mut failed) = (Vec::new(), Vec::new());
    for (tried, allocation) in allocations.into_iter().enumerate() {
        let instance = new_instance(cluster, allocation.description);
        let wanted = PlaceRequirements {
            instance: &instance,
            required: allocation.required_nodes,
            restrict_to: settings.restrict_to.as_deref(),
            avoided: &[],
            heeds_denials: false,
            dedicated,
            conditions: &conditions,
            rule: settings.primaries.as_deref(),
            deadline: &settings.deadline,
        };
        let found = match settings.deadline.reached_before(tried) {
            Some(stopped) => Err(Failure::NoTime(stopped)),
            None => choose(cluster, group, &wanted),
        };
        if found.is_err() && settings.explain {
            notes.why.extend(reasons(cluster, &wanted, &found));
        }
        match found {
            Ok(choice) => {
                let nodes = settle(cluster, notes, &instance, &choice);
                allocated.push((instance.name.clone(), nodes));
            }
            // If a group cannot be searched at all, the whole request fails.
            Err(Failure::NoGroup(choice)) if group.is_some() => {
                failed.push((instance.name.clone(), no_place(choice)))
            }
            Err(failure @ Failure::NoTime(_)) if group.is_some() => {
                failed.push((instance.name.clone(), failure));
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(Answer::MultiAllocated { allocated, failed })
}

/// The failure for a named group without a place. If places are compared by lost allocations, the reference
/// does not repeat the group's name.
fn no_place(mut choice: GroupChoice) -> Failure {
    match choice.trials.pop() {
        Some(GroupTrial { result: Ok(search), .. }) if choice.dedicated => Failure::NotFound(search),
        trial => {
            choice.trials.extend(trial);
            Failure::NoGroup(choice)
        }
    }
}

/// Finds a secondary node for an instance that will become a DRBD one.
pub(super) fn allocate_secondary(
    cluster: &mut Draft,
    idx: InstanceIdx,
    settings: &Settings,
) -> Result<Answer, Failure> {
    let before = cluster.instance(idx).clone();
    if before.secondary.is_some() {
        return Err(Failure::HasSecondary);
    }
    let mut mirrored = before.clone();
    mirrored.details_mut().template = DiskTemplate::Drbd;
    let primary = before.primary;
    let node = cluster.node(primary);
    let tags = TagArrival::of_primary(&node.state, &before);
    let ledger = &node.state.ledger;
    let left = ledger.remove_primary(&node.spec, &before, before.location_score, tags);
    cluster.take_off(idx, left);
    let group = cluster.node(primary).spec.group;
    let others: Vec<NodeIdx> = cluster.nodes_of(group).iter().copied().filter(|n| *n != primary).collect();
    let targets = Targets::Partners(primary, others);
    let conditions: Conditions = settings.conditions();
    // The reference checks redundancy as if the instance had not changed.
    let newcomer = InstanceToPlace { instance: &mirrored, redundancy_as: &before };
    let search = Box::new(place::find(cluster, &cluster.all_nodes(), newcomer, &targets, &conditions));
    let Some((_, place)) = &search.best else { return Err(Failure::NotFound(search)) };
    let Some(node) = place.placement.secondary else { return Err(Failure::NotFound(search)) };
    cluster.enter(idx, &mirrored, place);
    Ok(Answer::SecondaryAllocated { node, search })
}
