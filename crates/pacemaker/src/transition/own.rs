//! Actions on each resource and host by itself.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::shown_order::by_shown_name;
use super::super::working_set::{GuestParts, Requirement, Resource, ResourceForm, RunCondition, WorkingSet};
use super::action::{ActionTask, TransitionAction};
use super::actions::Actions;
use super::change::{ResourceChange, ResourceChanges};
use super::connections;
use super::wait::WaitReason;
use htools_plan::graph::{StepIdx, Strength};

/// Adds the actions of all hosts, primitives, groups and clones, but not those of bundles.
pub(super) fn add(set: &WorkingSet, changes: &ResourceChanges, actions: &mut Actions) {
    fence(set, changes, actions);
    for host in &changes.unfenced {
        actions.add(TransitionAction::to_host(ActionTask::Unfence, *host));
    }
    for resource in set.resource_indices() {
        match set.resource(resource).form {
            ResourceForm::Group { .. } => group(set, changes, resource, actions),
            ResourceForm::Primitive => primitive(set, changes.get(resource), resource, actions),
            ResourceForm::Clone { .. } if set.bundle(resource).is_some() => {}
            ResourceForm::Clone { .. } => clone(set, changes, resource, actions),
        }
    }
    shut_down(set, changes, actions);
}

/// Fences lost hosts, the coordinator last, if any resource is managed.
fn fence(set: &WorkingSet, changes: &ResourceChanges, actions: &mut Actions) {
    if !set.resource_indices().any(|resource| set.is_managed(resource)) {
        return;
    }
    let is_coordinator = |host: &HostIdx| set.coordinator == Some(*host);
    let mut lost = by_shown_name(set);
    lost.retain(|host| set.host(*host).guest.is_none_or(GuestParts::is_remote_node));
    lost.retain(|host| set.host(*host).state.unclean && set.can_fence(*host));
    lost.sort_by_key(is_coordinator);
    let mut before: Vec<StepIdx> = Vec::new();
    for host in lost {
        let fence = actions.add(TransitionAction::to_host(ActionTask::Fence, host));
        if !set.concurrent_fencing || is_coordinator(&host) {
            for before in &before {
                actions.edge(*before, fence, Strength::Should, WaitReason::OneByOne);
            }
        }
        if !set.concurrent_fencing {
            before.clear();
        }
        before.push(fence);
    }
    connections::fence(set, changes, actions);
}

fn primitive(set: &WorkingSet, change: ResourceChange, resource: ResourceIdx, actions: &mut Actions) {
    let why = WaitReason::Change(resource);
    let with = |task, host| TransitionAction::with(task, resource, host);
    let mut before = None;
    let details = set.resource(resource);
    if let ResourceChange::Migrate { from, to } = change {
        let sent = TransitionAction { peer: Some(to), ..with(ActionTask::MigrateTo, from) };
        let received = TransitionAction { peer: Some(from), ..with(ActionTask::MigrateFrom, to) };
        let sent = (details.sent_to != Some(to)).then(|| actions.add(sent));
        let received = actions.add(received);
        actions.edge(sent, received, Strength::Must, why);
        before = Some(received);
    }
    if let ResourceChange::Reload(host) = change {
        actions.add(with(ActionTask::Reload, host));
    }
    let to = change.starts_on();
    for from in stops_on(set, change, resource) {
        let pseudo = set.host(from).state.unclean;
        let action = TransitionAction { pseudo, ..with(ActionTask::Stop, from) };
        let stop = match actions.with(ActionTask::Stop, resource) {
            Some(first) => actions.add_further_stop(first, action),
            None => actions.add(action),
        };
        actions.edge_alone(before, stop, Strength::Must, why);
    }
    let stop = actions.with(ActionTask::Stop, resource);
    let stops = stops_on(set, change, resource);
    for from in stops.iter().copied().filter(|from| ends_by_fencing(set, resource, *from)) {
        let fence = actions.to(ActionTask::Fence, from);
        // Of several stops, the one on the last host waits, too.
        for host in stops.last().into_iter().chain([&from]) {
            let stop = actions.stop_on(resource, *host);
            actions.edge_alone(fence, stop, Strength::Must, WaitReason::Fencing(from));
        }
    }
    if let Some(to) = to {
        let pseudo = change.migrates() || starts_in_name(set, change, resource);
        let start = actions.add(TransitionAction { pseudo, ..with(ActionTask::Start, to) });
        actions.edge(stop.or(before), start, Strength::Must, why);
    }
}

/// Returns true if what ends on a host to be fenced ends only then. On a guest node, that holds for all resources.
fn waits_for_fencing(set: &WorkingSet, resource: ResourceIdx, host: HostIdx) -> bool {
    set.host(host).guest.is_some() || set.requirement(resource) >= Requirement::Fencing
}

/// Like [`waits_for_fencing`], for an action alone: in a container, only the marks around the instances wait. Pacemaker
/// quirk: the connection to a node that is no longer configured does not wait.
pub(super) fn ends_by_fencing(set: &WorkingSet, resource: ResourceIdx, host: HostIdx) -> bool {
    let connects_removed =
        || set.guests().any(|(node, parts)| parts.connection == resource && set.host(node).removed);
    let is_released = set.resource(resource).orphaned && connects_removed();
    waits_for_fencing(set, resource, host) && !set.host(host).replica && !is_released
}

/// All hosts on which a resource is stopped. If it runs on several, these are all but the one on which it continues.
/// Hosts with remains of it are included.
fn stops_on(set: &WorkingSet, change: ResourceChange, resource: ResourceIdx) -> Vec<HostIdx> {
    let details = set.resource(resource);
    let left = details.left_on.iter().copied().filter(|_| set.is_managed(resource));
    // It does not continue where it runs by another agent.
    let is_replaced = change.starts_on().is_some_and(|host| details.replaced_on.contains(&host));
    let spares_expected = details.spares_expected() && !is_replaced;
    let spares = details.runs_twice() && (spares_expected || change.migrates() && details.sent_to.is_some());
    let goes_on = |host: &HostIdx| spares && change.starts_on() == Some(*host);
    let others: &[HostIdx] = if details.condition == RunCondition::Supposed { &[] } else { &details.also_on };
    let active = change.stops_on().map(|first| std::iter::once(first).chain(others.iter().copied()));
    left.chain(active.into_iter().flatten().filter(|host| !goes_on(host))).collect()
}

/// Returns true if the start of a resource on several hosts is only a mark, as it continues there. Pacemaker takes every
/// start for a mark, except for one that a live migration was meant to be.
fn starts_in_name(set: &WorkingSet, change: ResourceChange, resource: ResourceIdx) -> bool {
    let details = set.resource(resource);
    let goes_on = details.active == change.starts_on();
    let is_sound = details.condition != RunCondition::Failed && !details.revision.has_other_agent();
    details.spares_expected() && (goes_on || !details.allow_migrate || !is_sound)
}

/// Adds the marks between which the members of a group stop and start. The last mark is never reached if a member does
/// not stop, or does not start.
fn group(set: &WorkingSet, changes: &ResourceChanges, group: ResourceIdx, actions: &mut Actions) {
    let members = || set.resource(group).members.iter().map(|member| changes.get(*member));
    let why = WaitReason::Group(group);
    let mut stopped = None;
    if members().any(|change| change.stops_on().is_some()) {
        let stop = begin_stops(set, group, changes, actions);
        let all_can_stop = set
            .resource(group)
            .members
            .iter()
            .zip(members())
            .all(|(member, change)| set.is_managed(*member) || change == ResourceChange::Idle)
            && !members().any(|change| matches!(change, ResourceChange::Held(_)));
        if all_can_stop {
            stopped = Some(actions.add(TransitionAction::mark(ActionTask::Stopped, group)));
        }
        actions.edge(stop, stopped, Strength::Must, why);
    }
    // An unmanaged member that would otherwise restart is waited for as if it did.
    let details = set.resource(group);
    let is_instance = details.instance_of.is_some();
    let begins = |member: &ResourceIdx| {
        if is_instance { begins(set, changes, *member) } else { changes.get(*member).starts_on().is_some() }
    };
    let would_begin = |member: &ResourceIdx| {
        !set.is_managed(*member) && matches!(changes.get(*member), ResourceChange::Held(_))
    };
    if details.members.iter().any(|member| begins(member) || would_begin(member)) {
        let start = actions.add(TransitionAction::mark(ActionTask::Start, group));
        actions.edge(stopped, start, Strength::Must, why);
        if members().all(|change| change.runs_on().is_some()) {
            let running = actions.add(TransitionAction::mark(ActionTask::Running, group));
            actions.edge(start, running, Strength::Must, why);
        }
    }
}

/// Adds the mark at which the parts of a group or a clone begin to stop. It waits for the fencing of lost hosts on
/// which parts stop that require fencing.
fn begin_stops(
    set: &WorkingSet,
    whole: ResourceIdx,
    changes: &ResourceChanges,
    actions: &mut Actions,
) -> StepIdx {
    let stop = actions.add(TransitionAction::mark(ActionTask::Stop, whole));
    let parts = set.primitives(&whole);
    let hosts = |part: &ResourceIdx| {
        let part = *part;
        let stops = stops_on(set, changes.get(part), part).into_iter();
        stops.filter(move |host| waits_for_fencing(set, part, *host))
    };
    for host in parts.iter().flat_map(hosts) {
        let fence = actions.to(ActionTask::Fence, host);
        actions.edge(fence, stop, Strength::Must, WaitReason::Fencing(host));
    }
    stop
}

/// Adds the marks between which the instances of a clone stop and start.
fn clone(set: &WorkingSet, changes: &ResourceChanges, clone: ResourceIdx, actions: &mut Actions) {
    let parts = set.primitives(&clone);
    let of_parts = || parts.iter().map(|part| changes.get(*part));
    let why = WaitReason::Clone(clone);
    let mut stopped = None;
    if of_parts().any(|change| change.stops_on().is_some()) {
        let stop = begin_stops(set, clone, changes, actions);
        stopped = Some(actions.add(TransitionAction::mark(ActionTask::Stopped, clone)));
        actions.edge(stop, stopped, Strength::Must, why);
    }
    let runs = of_parts().any(|change| change.runs_on().is_some());
    if runs && parts.iter().any(|part| begins(set, changes, *part)) {
        let start = actions.add(TransitionAction::mark(ActionTask::Start, clone));
        actions.edge(stopped, start, Strength::Must, why);
        let running = actions.add(TransitionAction::mark(ActionTask::Running, clone));
        actions.edge(start, running, Strength::Must, why);
    }
}

/// Returns true if a part of an instance starts anew, or would if what it needs ran. Pacemaker goes through the marks
/// in both cases, but not for a start that lacks quorum. A start that had begun and goes on does not count, but one that
/// is given up does.
pub(super) fn begins(set: &WorkingSet, changes: &ResourceChanges, part: ResourceIdx) -> bool {
    let (details, change) = (set.resource(part), changes.get(part));
    let is_given_up = details.condition == RunCondition::Starting && change.stops_on().is_some();
    let is_new = change.starts_on().is_some() && !change.goes_on(details);
    let would_begin =
        || changes.lacks_its_place(part) && changes.causes[part.get()] != Some(WaitReason::Quorum);
    is_given_up || is_new || would_begin()
}

/// Shuts down the hosts that are to leave once everything there is stopped, the coordinator last.
fn shut_down(set: &WorkingSet, changes: &ResourceChanges, actions: &mut Actions) {
    let leaves = |host: &HostIdx| {
        let state = set.host(*host).state;
        let is_member = set.host(*host).guest.is_none();
        is_member && state.shutting_down && state.online && actions.to(ActionTask::Fence, *host).is_none()
    };
    // A host stays as long as it has a held resource.
    let holds = |host: HostIdx| {
        let held = |resource: &ResourceIdx| changes.get(*resource) == ResourceChange::Held(host);
        // In maintenance, blocked resources do not matter.
        let stays = |resource: ResourceIdx| {
            let details = set.resource(resource);
            let is_blocked = details.is_blocked() && !details.maintenance;
            is_blocked
                && details.active_hosts().any(|other| other == host)
                && !set.host(host).state.maintenance
        };
        set.resource_indices().filter(held).any(|resource| set.is_managed(resource))
            || set.resource_indices().any(stays)
    };
    let mut leaving: Vec<HostIdx> = set.host_indices().filter(leaves).filter(|host| !holds(*host)).collect();
    leaving.sort_by_key(|host| set.coordinator == Some(*host));
    for host in leaving.clone() {
        let shutdown = actions.add(TransitionAction::to_host(ActionTask::Shutdown, host));
        for other in leaving.iter().filter(|_| set.coordinator == Some(host)) {
            let before = actions.to(ActionTask::Shutdown, *other).filter(|before| *before != shutdown);
            actions.edge(before, shutdown, Strength::Must, WaitReason::Shutdown(host));
        }
        let runs_here = |resource: &Resource| {
            resource.is_primitive()
                && resource.active_hosts().chain(resource.left_on.iter().copied()).any(|other| other == host)
        };
        for resource in set.resource_indices().filter(|resource| runs_here(set.resource(*resource))) {
            let stop = actions.stop_on(resource, host);
            actions.edge_alone(stop, shutdown, Strength::Must, WaitReason::Shutdown(host));
        }
    }
}
