//! Promotions and demotions in a transition: their actions, and the order of these within their clones.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::working_set::{ResourceForm, WorkingSet};
use super::action::ActionTask::{Demote, Demoted, Fence, Promote, Promoted, Running, Start, Stop, Stopped};
use super::action::{ActionTask, TransitionAction};
use super::actions::Actions;
use super::change::{ResourceChanges, RoleChange};
use super::own::ends_by_fencing;
use super::wait::WaitReason;
use htools_plan::graph::Strength;

/// The marks between which the parts of a clone or a group change their roles, for a task.
const MARKS: [(ActionTask, ActionTask); 2] = [(Demote, Demoted), (Promote, Promoted)];

/// Adds the promotions and demotions of all resources.
pub(super) fn add(set: &WorkingSet, changes: &ResourceChanges, actions: &mut Actions) {
    let orphans = set.resource_indices().filter(|one| set.resource(*one).orphaned);
    orphans.for_each(|orphan| demote_orphan(set, changes, orphan, actions));
    let clones: Vec<ResourceIdx> =
        set.clones().filter(|clone| set.resource(*clone).promotion.is_some()).collect();
    for clone in clones {
        for part in set.primitives(&clone).iter() {
            primitive(set, changes, *part, actions);
        }
        let groups = set.resource(clone).members.iter().filter(|one| set.resource(**one).is_group());
        for group in groups {
            marks(set, *group, WaitReason::Group(*group), actions);
            one_by_one(set.in_order(*group), WaitReason::Group(*group), Strength::Must, actions);
        }
        marks(set, clone, WaitReason::Clone(clone), actions);
        if matches!(set.resource(clone).form, ResourceForm::Clone { ordered: true, .. }) {
            one_by_one(&set.resource(clone).members, WaitReason::Clone(clone), Strength::Should, actions);
        }
        let why = WaitReason::Clone(clone);
        for (before, after) in
            [(Demoted, Stop), (Demoted, Start), (Demoted, Promote), (Stopped, Promote), (Running, Promote)]
        {
            actions.edge(actions.with(before, clone), actions.with(after, clone), Strength::Must, why);
        }
    }
}

/// Demotes a promoted resource that is no longer configured wherever it runs, before any of its stops.
fn demote_orphan(set: &WorkingSet, changes: &ResourceChanges, orphan: ResourceIdx, actions: &mut Actions) {
    if changes.roles[orphan.get()].demoted_on.is_none() {
        return;
    }
    for host in set.resource(orphan).active_hosts() {
        let demote = actions.add(TransitionAction::with(Demote, orphan, host));
        let stop = actions.with(Stop, orphan);
        actions.edge(demote, stop, Strength::Must, WaitReason::Change(orphan));
    }
}

fn primitive(set: &WorkingSet, changes: &ResourceChanges, part: ResourceIdx, actions: &mut Actions) {
    let why = WaitReason::Change(part);
    let RoleChange { demoted_on, promoted_on, .. } = changes.roles[part.get()];
    let with = |task, host: HostIdx| TransitionAction {
        // A lost guest node is up again before a promotion.
        pseudo: task == Demote && set.host(host).state.unclean,
        ..TransitionAction::with(task, part, host)
    };
    let demote = demoted_on.map(|host| actions.add(with(Demote, host)));
    let promote = promoted_on.map(|host| actions.add(with(Promote, host)));
    let (stop, start) = (actions.with(Stop, part), actions.with(Start, part));
    actions.edge(demote, stop, Strength::Must, why);
    actions.edge(demote, promote, Strength::Must, why);
    actions.edge(start, promote, Strength::Must, why);
    if let Some(host) = demoted_on.filter(|host| ends_by_fencing(set, part, *host)) {
        actions.edge(actions.to(Fence, host), demote, Strength::Must, WaitReason::Fencing(host));
    }
}

/// Adds the marks between which the parts of a clone or a group are demoted and promoted.
fn marks(set: &WorkingSet, whole: ResourceIdx, why: WaitReason, actions: &mut Actions) {
    let members = &set.resource(whole).members;
    for (task, end) in MARKS {
        if !members.iter().any(|member| actions.with(task, *member).is_some()) {
            continue;
        }
        let begin = actions.add(TransitionAction::mark(task, whole));
        let is_reached = task == Promote || ends_demotions(set, whole, actions);
        let done = is_reached.then(|| actions.add(TransitionAction::mark(end, whole)));
        actions.edge(begin, done, Strength::Must, why);
        for member in members {
            let last = if set.resource(*member).is_group() { end } else { task };
            actions.edge(begin, actions.with(task, *member), Strength::Must, why);
            actions.edge(actions.with(last, *member), done, Strength::Must, why);
        }
    }
}

/// Returns true if the mark behind the demotions of a clone or a group is reached. For a clone, one instance is enough,
/// whether it is demoted or not. A group never reaches it if a member does not run. Pacemaker quirk: neither does a
/// group of which only a part is promoted, if another member was just started.
fn ends_demotions(set: &WorkingSet, whole: ResourceIdx, actions: &Actions) -> bool {
    let details = set.resource(whole);
    if details.is_clone() {
        return details.members.iter().any(|instance| ends_demotions(set, *instance, actions));
    }
    if details.is_primitive() {
        return actions.with(Demote, whole).is_some();
    }
    let is_partly = set.is_promoted(whole);
    details
        .members
        .iter()
        .map(|member| set.resource(*member))
        .all(|member| member.promoted || member.active.is_some() && (!is_partly || member.unpromoted))
}

/// Promotes parts one after the other, and demotes them in the opposite order. Parts that keep their roles separate the
/// others.
fn one_by_one(parts: &[ResourceIdx], why: WaitReason, strength: Strength, actions: &mut Actions) {
    for pair in parts.windows(2) {
        let (promote, next) = (actions.with(Promote, pair[0]), actions.with(Promote, pair[1]));
        actions.edge(promote, next, strength, why);
        let (demote, next) = (actions.with(Demote, pair[1]), actions.with(Demote, pair[0]));
        actions.edge(demote, next, strength, why);
    }
}
