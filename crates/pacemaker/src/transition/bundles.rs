//! Marks of bundles: the points between which their containers and the resources in them stop, start and change roles.

use super::super::bundle::Bundle;
use super::super::working_set::WorkingSet;
use super::action::ActionTask::{Demote, Demoted, Promote, Promoted, Running, Start, Stop, Stopped};
use super::action::TransitionAction;
use super::actions::Actions;
use super::change::ResourceChanges;
use super::connections;
use super::wait::WaitReason;
use htools_plan::graph::Strength;

/// Adds the marks of all bundles around those of the clones in them.
pub(super) fn add(set: &WorkingSet, changes: &ResourceChanges, actions: &mut Actions) {
    for bundle in &set.bundles {
        begin_inner(set, changes, bundle, actions);
        roles(set, bundle, actions);
    }
}

/// Puts the marks of the clone in a bundle between those of the bundle.
fn begin_inner(set: &WorkingSet, changes: &ResourceChanges, bundle: &Bundle, actions: &mut Actions) {
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
