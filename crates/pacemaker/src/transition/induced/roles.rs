//! Changes of roles, and the effects of orders of promotions.

use super::super::change::{ResourceChange, RoleChange};
use super::super::needs::Need;
use super::super::wait::WaitReason;
use super::state::{InducedChanges, InducedRole};
use crate::index::{HostIdx, ResourceIdx};
use crate::working_set::{OrderedTask, Requirement};

impl InducedChanges<'_> {
    /// Changes of the roles of all primitives.
    pub(super) fn role_changes(&self) -> Vec<RoleChange> {
        self.set.resource_indices().map(|resource| self.role_change(resource)).collect()
    }

    /// Change of the role of a primitive.
    fn role_change(&self, part: ResourceIdx) -> RoleChange {
        let details = self.set.resource(part);
        let needs_quorum = self.set.requirement(part) > Requirement::Nothing;
        let (was, wanted) = (details.promoted, self.should_be_promoted(part));
        if !self.set.is_managed(part) {
            return RoleChange { ends_promoted: was, ..RoleChange::default() };
        }
        let change = self.of(part);
        let role = self.roles[part.get()];
        let demotes = was && !matches!(change, ResourceChange::Held(_));
        let demotes = demotes && (change.stops_on().is_some() || !wanted || details.demoted);
        // A restart for others, or for another agent, leaves the promotion to the next transition. A restart for the
        // container does not.
        let by_place = self.by_place[part.get()];
        let in_bundle = details.instance_of.is_some_and(|clone| self.set.resource(clone).in_bundle);
        let is_for_agent = self.restarts_for_agent(part);
        let is_own = by_place.stops_on().is_some() && !is_for_agent || details.demoted || in_bundle;
        let runs = change.runs_on().filter(|host| self.placed.host(part) == Some(*host));
        let again = role.again || runs.is_some_and(|host| self.comes_up_with_machine(host));
        let promotes = wanted && runs.is_some() && (!was || demotes && is_own || again);
        // Without quorum, nobody is promoted.
        let lacks_quorum = needs_quorum && self.set.without_quorum.is_some();
        let is_blocked = role.blocked || lacks_quorum && !was;
        let promoted_on = runs.filter(|_| promotes && !is_blocked);
        RoleChange {
            demoted_on: details.active.filter(|_| demotes),
            promoted_on,
            is_blocked: promotes && is_blocked && !was,
            ends_promoted: promoted_on.is_some() || was && !demotes,
            is_postponed: was && wanted && is_for_agent && promoted_on.is_none(),
        }
    }

    /// Returns true if a primitive should be promoted on its host.
    pub(in crate::transition) fn should_be_promoted(&self, part: ResourceIdx) -> bool {
        self.placed.promoted[part.get()] && !self.set.demotes_for_lack_of_quorum(part)
    }

    /// Returns true for a guest node whose VM is started. A promotion there waits for that, and is carried out anew.
    fn comes_up_with_machine(&self, host: HostIdx) -> bool {
        let parts = self.set.host(host).guest.filter(|parts| !parts.is_remote_node());
        parts.is_some_and(|parts| self.of(parts.machine).comes_up())
    }

    /// Applies the need of a promotion for another resource. Pacemaker quirk: two bundles do not go by each other in
    /// this.
    pub(super) fn follow_need_of_promotion(&mut self, need: &Need) {
        let set = self.set;
        if set.bundle(need.first).is_some() && set.bundle(need.then).is_some() {
            return;
        }
        let firsts = match need.tasks.first {
            OrderedTask::Promote => set.primitives(&set.with_roles(need.first)).into_owned(),
            _ => set.primitives(&need.first).into_owned(),
        };
        let is_missing = |first: &ResourceIdx| match need.tasks.first {
            // In a group, a promotion that is left to the next transition is none.
            OrderedTask::Promote if matches!(need.why, WaitReason::Group(_)) => {
                !self.role_change(*first).ends_promoted
            }
            OrderedTask::Promote => {
                !self.is_to_be_promoted(*first) || self.set.resource(*first).kept_by_ticket
            }
            _ => self.is_missing(need, *first),
        };
        let comes = |first: &ResourceIdx| match need.tasks.first {
            OrderedTask::Promote => self.role_change(*first).promoted_on.is_some(),
            _ => self.of(*first).comes_up(),
        };
        let is_clone = set.resource(need.first).is_clone();
        let missing = if is_clone { firsts.iter().all(is_missing) } else { firsts.iter().any(is_missing) };
        let again = need.symmetrical && firsts.iter().any(comes);
        for part in set.primitives(&set.with_roles(need.then)).iter() {
            let role = &mut self.roles[part.get()];
            let now = InducedRole { blocked: role.blocked || missing, again: role.again || again };
            self.again |= now.blocked != role.blocked || now.again != role.again;
            *role = now;
        }
    }

    /// Keeps a primitive from being promoted.
    pub(super) fn block_promotion(&mut self, part: ResourceIdx) {
        self.again |= !std::mem::replace(&mut self.roles[part.get()].blocked, true);
    }

    /// Applies the need of a resource for a promoted instance.
    pub(super) fn follow_need_of_promoted(&mut self, need: &Need) {
        let set = self.set;
        let firsts = set.primitives(&set.with_roles(need.first)).into_owned();
        let then = set.resource(need.then);
        let (interleaves, goes_by_all) = (then.interleaves(), self.goes_by_all(need));
        for member in set.primitives(&need.then).iter() {
            let now = self.of(*member);
            let here = now.comes_to().or(now.runs_on());
            let is_here = |host: Option<HostIdx>| host.is_some() && host == here;
            let is_promoted = |first: &ResourceIdx| {
                self.counts_as_promoted(*first)
                    && (!interleaves || is_here(self.beneath(self.of(*first).runs_on())))
            };
            let promotes = |first: &ResourceIdx| {
                let on = self.role_change(*first).promoted_on;
                on.is_some() && (goes_by_all || is_here(self.beneath(on)))
            };
            let change = match now {
                _ if !firsts.iter().any(is_promoted) => self.without_needed(*member, need.symmetrical),
                ResourceChange::Stay(host) | ResourceChange::Start(host)
                    if need.symmetrical && self.has_begun(*member) && firsts.iter().any(promotes) =>
                {
                    ResourceChange::Restart(host)
                }
                _ => now,
            };
            let is_restart = now != change && matches!(change, ResourceChange::Restart(_));
            if is_restart && set.member(need.then, false) == Some(*member) {
                self.restarts_with_group[member.get()] = then.is_group();
            }
            self.set(*member, change, need.why);
        }
    }

    /// The host of a container, for the node in it.
    fn beneath(&self, host: Option<HostIdx>) -> Option<HostIdx> {
        let node = self.set.host(host?);
        match node.guest.filter(|_| node.replica) {
            Some(parts) => self.of(parts.machine).runs_on(),
            None => host,
        }
    }

    /// Returns true if a primitive stays promoted, or is promoted in this transition or the next one.
    pub(super) fn is_to_be_promoted(&self, part: ResourceIdx) -> bool {
        let role = self.role_change(part);
        let comes = self.should_be_promoted(part)
            && !self.roles[part.get()].blocked
            && !role.is_blocked
            && self.of(part).runs_on().is_some();
        self.counts_as_promoted(part) || comes
    }

    /// Returns true if others find a primitive promoted in the end. One that stays so because of a ticket does not count,
    /// nor does an unmanaged group, which is a Pacemaker quirk.
    fn counts_as_promoted(&self, part: ResourceIdx) -> bool {
        let details = self.set.resource(part);
        let is_shown = details.group.is_none() || self.set.is_managed(part);
        self.role_change(part).counts_as_promoted() && !details.kept_by_ticket && is_shown
    }
}
