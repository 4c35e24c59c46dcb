//! What is done with each resource and host by itself.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::shown_order::by_shown_name;
use super::super::working_set::{ResourceForm, RunCondition, WorkingSet};
use super::action::{ActionTask, TransitionAction};
use super::actions::Actions;
use super::change::ResourceChange;
use super::wait::WaitReason;
use crate::plan::graph::{StepIdx, Strength};

/// Adds the actions of all hosts, primitives and groups.
pub(super) fn add(set: &WorkingSet, changes: &[ResourceChange], actions: &mut Actions) {
    fence(set, actions);
    for resource in set.resource_indices() {
        match set.resource(resource).form {
            ResourceForm::Group => group(set, changes, resource, actions),
            ResourceForm::Primitive => primitive(set, changes[resource.get()], resource, actions),
            ResourceForm::Clone { .. } => clone(set, changes, resource, actions),
        }
    }
    shut_down(set, changes, actions);
}

/// Lost hosts are fenced, the coordinator last, if there is anything to be managed at all.
fn fence(set: &WorkingSet, actions: &mut Actions) {
    if !set.fencing || !set.resource_indices().any(|resource| set.is_managed(resource)) {
        return;
    }
    let is_coordinator = |host: &HostIdx| set.coordinator == Some(*host);
    let mut lost = by_shown_name(set);
    lost.retain(|host| set.host(*host).state.unclean);
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
}

fn primitive(set: &WorkingSet, change: ResourceChange, resource: ResourceIdx, actions: &mut Actions) {
    let why = WaitReason::Change(resource);
    let with = |task, host| TransitionAction::with(task, resource, host);
    let mut before = None;
    if let ResourceChange::Migrate { from, to } = change {
        let sent = TransitionAction { peer: Some(to), ..with(ActionTask::MigrateTo, from) };
        let received = TransitionAction { peer: Some(from), ..with(ActionTask::MigrateFrom, to) };
        let (sent, received) = (actions.add(sent), actions.add(received));
        actions.edge(sent, received, Strength::Must, why);
        before = Some(received);
    }
    if let Some(from) = change.stops_on() {
        let pseudo = set.host(from).state.unclean;
        let stop = actions.add(TransitionAction { pseudo, ..with(ActionTask::Stop, from) });
        actions.edge(before, stop, Strength::Must, why);
        let fence = actions.to(ActionTask::Fence, from).filter(|_| !set.resource(resource).fences());
        actions.edge(fence, stop, Strength::Must, WaitReason::Fencing(from));
        before = Some(stop);
    }
    if let Some(to) = change.starts_on() {
        let pseudo = change.migrates();
        let start = actions.add(TransitionAction { pseudo, ..with(ActionTask::Start, to) });
        actions.edge(before, start, Strength::Must, why);
    }
}

/// The marks between which the members of a group stop and start. The last mark is never reached if a member is
/// not stopped, or not started.
fn group(set: &WorkingSet, changes: &[ResourceChange], group: ResourceIdx, actions: &mut Actions) {
    let members = || set.resource(group).members.iter().map(|member| changes[member.get()]);
    let why = WaitReason::Group(group);
    let mut stopped = None;
    if members().any(|change| change.stops_on().is_some()) {
        let stop = begin_stops(group, members(), actions);
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
    // what is not managed, and would start anew if it were, is waited for as if it did
    let of = set.resource(group);
    let is_instance = of.instance_of.is_some();
    let begins = |member: &ResourceIdx| match is_instance {
        true => begins(set, changes, *member),
        false => changes[member.get()].starts_on().is_some(),
    };
    let would_begin = |member: &ResourceIdx| {
        !set.is_managed(*member) && matches!(changes[member.get()], ResourceChange::Held(_))
    };
    if of.members.iter().any(|member| begins(member) || would_begin(member)) {
        let start = actions.add(TransitionAction::mark(ActionTask::Start, group));
        actions.edge(stopped, start, Strength::Must, why);
        if members().all(|change| change.runs_on().is_some()) {
            let running = actions.add(TransitionAction::mark(ActionTask::Running, group));
            actions.edge(start, running, Strength::Must, why);
        }
    }
}

/// The mark at which what a group or a clone is made of begins to stop: when the lost hosts among those where it does are fenced.
fn begin_stops(
    whole: ResourceIdx,
    parts: impl Iterator<Item = ResourceChange>,
    actions: &mut Actions,
) -> StepIdx {
    let stop = actions.add(TransitionAction::mark(ActionTask::Stop, whole));
    for host in parts.filter_map(ResourceChange::stops_on) {
        let fence = actions.to(ActionTask::Fence, host);
        actions.edge(fence, stop, Strength::Must, WaitReason::Fencing(host));
    }
    stop
}

/// The marks between which the instances of a clone stop and start.
fn clone(set: &WorkingSet, changes: &[ResourceChange], clone: ResourceIdx, actions: &mut Actions) {
    let parts = set.primitives(&clone);
    let of_parts = || parts.iter().map(|part| changes[part.get()]);
    let why = WaitReason::Clone(clone);
    let mut stopped = None;
    if of_parts().any(|change| change.stops_on().is_some()) {
        let stop = begin_stops(clone, of_parts(), actions);
        stopped = Some(actions.add(TransitionAction::mark(ActionTask::Stopped, clone)));
        actions.edge(stop, stopped, Strength::Must, why);
    }
    if parts.iter().any(|part| begins(set, changes, *part)) {
        let start = actions.add(TransitionAction::mark(ActionTask::Start, clone));
        actions.edge(stopped, start, Strength::Must, why);
        let running = actions.add(TransitionAction::mark(ActionTask::Running, clone));
        actions.edge(start, running, Strength::Must, why);
    }
}

/// Whether part of an instance starts anew. A start that had begun and goes on does not count, one that is given up does.
fn begins(set: &WorkingSet, changes: &[ResourceChange], part: ResourceIdx) -> bool {
    let (of, change) = (set.resource(part), changes[part.get()]);
    match change.starts_on() {
        Some(_) => !change.goes_on(of),
        None => of.condition == RunCondition::Starting && change.stops_on().is_some(),
    }
}

/// Hosts that want to leave do so when all is stopped there, the coordinator last.
fn shut_down(set: &WorkingSet, changes: &[ResourceChange], actions: &mut Actions) {
    let leaves = |host: &HostIdx| {
        let state = set.host(*host).state;
        state.shutting_down && state.online && !state.unclean
    };
    // who is held there keeps it
    let holds = |host: HostIdx| {
        let held = |resource: &ResourceIdx| changes[resource.get()] == ResourceChange::Held(host);
        let stays = |resource: ResourceIdx| {
            let of = set.resource(resource);
            of.active == Some(host) && of.condition == RunCondition::Blocked
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
        for resource in set.resource_indices().filter(|resource| set.resource(*resource).active == Some(host))
        {
            if !set.resource(resource).is_primitive() {
                continue;
            }
            let stop = actions.with(ActionTask::Stop, resource);
            actions.edge(stop, shutdown, Strength::Must, WaitReason::Shutdown(host));
        }
    }
}
