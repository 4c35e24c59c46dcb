//! Changes while they are worked out, and questions about them.

use super::super::change::ResourceChange;
use super::super::needs::Need;
use super::super::wait::WaitReason;
use crate::index::ResourceIdx;
use crate::placing::AllPlaced;
use crate::working_set::{Revision, RunCondition, WorkingSet};

/// Effects of orders on the role of a primitive.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InducedRole {
    /// It cannot be promoted, as something is missing.
    pub(super) blocked: bool,
    /// It is promoted again, as something that comes before its promotion starts anew.
    pub(super) again: bool,
}

/// Changes on their way to a stable state.
pub(super) struct InducedChanges<'a> {
    pub(super) set: &'a WorkingSet,
    pub(super) placed: &'a AllPlaced,
    pub(super) by_place: Vec<ResourceChange>,
    pub(super) changes: Vec<ResourceChange>,
    pub(super) causes: Vec<Option<WaitReason>>,
    /// By resource; true if it should be stopped but cannot, or is behind such a resource.
    pub(super) held: Vec<bool>,
    /// By resource; true if it should start but cannot, as the next member of its group cannot be stopped.
    pub(super) unstarted: Vec<bool>,
    /// By resource; true if it restarts only because its group does, as its first member.
    pub(super) restarts_with_group: Vec<bool>,
    /// By resource; true if its host has no instance of a clone that it needs, and with which it interleaves.
    pub(super) unmatched: Vec<bool>,
    /// By group; true if it starts after others that start.
    pub(super) waits: Vec<bool>,
    /// By resource; true if an order puts it before another one.
    pub(super) awaited: Vec<bool>,
    /// By resource, effects of orders on its role.
    pub(super) roles: Vec<InducedRole>,
    pub(super) again: bool,
}

impl InducedChanges<'_> {
    pub(super) fn of(&self, resource: ResourceIdx) -> ResourceChange {
        self.changes[resource.get()]
    }

    /// Sets the change of a resource, if it is a new one.
    pub(super) fn set(&mut self, resource: ResourceIdx, change: ResourceChange, why: WaitReason) {
        if self.changes[resource.get()] != change {
            self.changes[resource.get()] = change;
            self.causes[resource.get()] = Some(why);
            self.again = true;
        }
    }

    /// Returns true if a resource runs and stays, or if its start had begun. Such a start is given up for others.
    pub(super) fn has_begun(&self, resource: ResourceIdx) -> bool {
        match self.of(resource) {
            ResourceChange::Stay(_) => true,
            ResourceChange::Start(_) => self.set.resource(resource).condition == RunCondition::Starting,
            _ => false,
        }
    }

    /// Returns true if a resource runs and is blocked. Pacemaker quirk: one that runs on several hosts is none if any of
    /// them has it by another agent.
    pub(super) fn is_blocked(&self, resource: ResourceIdx) -> bool {
        let details = self.set.resource(resource);
        let is_replaced = details.runs_twice() && details.revision.has_other_agent();
        details.is_blocked() && details.active.is_some() && !is_replaced
    }

    /// Holds a resource that must be stopped after a blocked one.
    pub(super) fn wait_for_blocked(&mut self, need: &Need, then: ResourceIdx) {
        let set = self.set;
        let is_order = matches!(need.why, WaitReason::Order(_));
        // Groups and clones count as stopped, whatever holds their parts.
        let are_primitives = [need.first, need.then].iter().all(|one| set.resource(*one).is_primitive());
        let is_held = is_order && are_primitives && !set.resource(then).runs_twice();
        if !need.symmetrical || !self.is_blocked(then) || !is_held {
            return;
        }
        if let Some(host) = self.of(need.first).stops_on() {
            self.held[need.first.get()] = true;
            self.set(need.first, ResourceChange::Held(host), need.why);
        }
    }

    /// Returns true if a needed resource does not run in the end, or not where it should.
    pub(super) fn is_missing(&self, need: &Need, first: ResourceIdx) -> bool {
        // Resources that were placed later do not wait for a group with a member that cannot leave, unless it restarts
        // or waits for others itself.
        let restarts = || self.set.is_managed(first) && matches!(self.of(first), ResourceChange::Restart(_));
        let is_earlier = || self.turn(need.then) < self.turn(need.first);
        let counts = || {
            !self.set.resource(need.first).is_group()
                || is_earlier()
                || restarts()
                || self.waits[need.first.get()]
        };
        // The same applies if a member cannot start.
        if self.unstarted[first.get()] && !counts() {
            return false;
        }
        let is_held = self.held[first.get()] && counts();
        is_held || self.is_blocked(first) || self.of(first).lasts_on(self.set).is_none()
    }

    /// Returns true if a needed resource is down for a while. If a member of a group migrates, this is a restart for
    /// others that need the group, and for its later members. If a group restarts, Pacemaker does not look again at
    /// resources that were placed later and need its first member.
    pub(super) fn interrupts(&self, need: &Need, first: ResourceIdx) -> bool {
        let of_group = matches!(need.why, WaitReason::Group(_)) || self.set.resource(need.first).is_group();
        let group =
            self.set.resource(first).group.filter(|_| self.restarts_with_group[first.get()] && !of_group);
        let has_effect = group.is_none_or(|group| self.turn(need.then) < self.turn(group))
            && !self.is_late_without_effect(need, first);
        let change = self.of(first);
        // Running resources do not miss one that was already being started.
        let is_new = self.set.resource(first).condition != RunCondition::Starting
            || !matches!(change, ResourceChange::Start(_));
        (change.comes_up() && is_new && has_effect) || (of_group && change.migrates())
    }

    /// Position at which a resource had its turn to be placed, or its group if it has one.
    pub(super) fn turn(&self, resource: ResourceIdx) -> Option<usize> {
        let whole = self.set.resource(resource).group.unwrap_or(resource);
        self.placed.sequence.iter().position(|other| *other == whole)
    }

    /// Returns true if a part of a group or a clone restarts without effect on a resource that needs the whole, as Pacemaker
    /// finds the reason too late: the unfencing of its host, or another agent. For a clone, no resource is affected, except
    /// by other agents of primitives with which its instances interleave. For a group, only those that were placed before it
    /// are.
    fn is_late_without_effect(&self, need: &Need, part: ResourceIdx) -> bool {
        let whole = self.set.resource(need.first);
        let is_late = |one: ResourceIdx| {
            matches!(self.causes[one.get()], Some(WaitReason::Unfencing(_)))
                || self.restarts_for_agent(one) && !self.is_direct(need, one)
        };
        let is_for_that = |part: ResourceIdx| match self.causes[part.get()] {
            Some(WaitReason::Group(group)) => {
                self.set.resource(group).members.iter().any(|member| is_late(*member))
            }
            _ => is_late(part),
        };
        let restarts = matches!(self.of(part), ResourceChange::Restart(_)) && is_for_that(part);
        restarts && (whole.is_clone() || whole.is_group() && self.turn(need.then) >= self.turn(need.first))
    }

    /// Returns true if a resource restarts on its host only because its agent is another one.
    pub(super) fn restarts_for_agent(&self, resource: ResourceIdx) -> bool {
        let details = self.set.resource(resource);
        matches!(self.by_place[resource.get()], ResourceChange::Restart(_))
            && details.condition == RunCondition::Sound
            && details.revision == Revision::Agent
            && !details.runs_too_often()
    }

    /// Returns true if a needed part of a clone is itself the instance beside which another one interleaves.
    fn is_direct(&self, need: &Need, part: ResourceIdx) -> bool {
        self.set.resource(need.then).interleaves() && self.set.resource(part).group.is_none()
    }
}
