//! Marks of bundles: the points between which their containers and the resources in them stop, start and change roles.

use super::super::bundle::Bundle;
use super::super::index::{HostIdx, ResourceIdx};
use super::super::working_set::WorkingSet;
use super::action::ActionTask::{Demote, Demoted, Promote, Promoted, Running, Start, Stop, Stopped};
use super::action::TransitionAction;
use super::actions::Actions;
use super::change::ResourceChanges;
use super::connections;
use super::own::begins;
use super::wait::WaitReason;
use htools_plan::graph::Strength;

/// Adds the marks between which the containers of a bundle, and the instances in them, stop and start. They do not wait
/// for the fencing of lost hosts.
fn begin(set: &WorkingSet, changes: &ResourceChanges, bundle: &Bundle, actions: &mut Actions) {
    let whole = bundle.whole;
    let containers = &set.resource(whole).members;
    let instances = bundle.inner.map(|inner| set.resource(inner).members.as_slice()).unwrap_or_default();
    let parts = || containers.iter().chain(instances).copied();
    let mut add = |first, last| {
        let first = actions.add(TransitionAction::mark(first, whole));
        let last = actions.add(TransitionAction::mark(last, whole));
        actions.edge(first, last, Strength::Must, WaitReason::Clone(whole));
    };
    let stops = containers.iter().any(|container| changes.get(*container).stops_on().is_some());
    // The loss of a container ends what runs in it, but nobody waits for that if no container of the bundle runs.
    let any_runs = containers.iter().any(|container| set.resource(*container).active.is_some());
    let instance_stops = |instance: &ResourceIdx| {
        changes.by_place[instance.get()].stops_on().is_some() || any_runs && is_lost(set, *instance)
    };
    if stops || instances.iter().any(instance_stops) {
        add(Stop, Stopped);
    }
    let runs = parts().any(|part| changes.get(part).runs_on().is_some());
    // An instance that restarts in the unpromoted role after a demotion does not count.
    let is_demoted = |part: ResourceIdx| {
        let role = changes.roles[part.get()];
        set.resource(part).promoted && role.promoted_on.is_none() && !role.is_blocked
    };
    if runs && parts().any(|part| begins(set, changes, part) && !is_demoted(part)) {
        add(Start, Running);
    }
}

/// Adds the marks of all bundles, around those of the clones in them.
pub(super) fn add(set: &WorkingSet, changes: &ResourceChanges, actions: &mut Actions) {
    for bundle in &set.bundles {
        begin(set, changes, bundle, actions);
        around_inner(set, changes, bundle, actions);
        roles(set, bundle, actions);
    }
}

/// Puts the marks of the clone in a bundle between those of the bundle.
fn around_inner(set: &WorkingSet, changes: &ResourceChanges, bundle: &Bundle, actions: &mut Actions) {
    let Some(inner) = bundle.inner else { return };
    let (whole, why) = (bundle.whole, WaitReason::Clone(bundle.whole));
    for (begin, end) in [(Start, Running), (Stop, Stopped)] {
        let (outer, own) = (actions.with(begin, whole), actions.with(begin, inner));
        actions.edge(outer, own, Strength::Must, why);
        let (own, outer) = (actions.with(end, inner), actions.with(end, whole));
        actions.edge(own, outer, Strength::Must, why);
    }
    // All instances are looked for before any of them starts.
    let start = actions.with(Start, inner);
    for instance in &set.resource(inner).members {
        connections::look_for(set, changes, actions, *instance, start);
    }
}

/// Adds the marks between which the instances of a promotable resource in a bundle change their roles. Only such a
/// bundle starts after it has stopped.
fn roles(set: &WorkingSet, bundle: &Bundle, actions: &mut Actions) {
    let Some(inner) = bundle.inner.filter(|inner| set.resource(*inner).promotion.is_some()) else { return };
    let (whole, why) = (bundle.whole, WaitReason::Clone(bundle.whole));
    for (begin, end) in [(Demote, Demoted), (Promote, Promoted)] {
        let Some(own) = actions.with(begin, inner) else { continue };
        let outer = actions.add(TransitionAction::mark(begin, whole));
        actions.edge(outer, own, Strength::Must, why);
        if let Some(own) = actions.with(end, inner) {
            let done = actions.add(TransitionAction::mark(end, whole));
            actions.edge(outer, done, Strength::Must, why);
            actions.edge(own, done, Strength::Must, why);
        }
    }
    for (before, after) in [
        (Demoted, Stop),
        (Demoted, Start),
        (Demoted, Promote),
        (Stopped, Start),
        (Stopped, Promote),
        (Running, Promote),
    ] {
        actions.edge(actions.with(before, whole), actions.with(after, whole), Strength::Must, why);
    }
}

/// Returns true if an instance runs in a lost container.
fn is_lost(set: &WorkingSet, instance: ResourceIdx) -> bool {
    let is_unclean = |node: HostIdx| set.host(node).state.unclean;
    set.resource(instance).active.is_some() && set.own_node(instance).is_some_and(is_unclean)
}

/// Returns true for an instance in a lost container that restarts for this reason. Where a demotion is enough, it
/// restarts only for its container.
pub(super) fn restarts_alone(set: &WorkingSet, changes: &ResourceChanges, instance: ResourceIdx) -> bool {
    let node = set.own_node(instance).and_then(|node| set.host(node).guest);
    let container = node.map(|parts| changes.by_place[parts.machine.get()]);
    let goes = container.is_some_and(|container| container.runs_on().is_none());
    let role = changes.roles[instance.get()];
    let is_demoted = set.resource(instance).promoted && role.promoted_on.is_none() && !role.is_blocked;
    is_lost(set, instance) && (goes || !is_demoted)
}
