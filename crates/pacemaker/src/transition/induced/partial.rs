//! Orders that bind only partly: some of several resources are enough, or only the order of stops is given.

use super::super::change::ResourceChange;
use super::super::needs::Need;
use super::super::wait::WaitReason;
use super::state::InducedChanges;
use crate::index::ResourceIdx;
use crate::working_set::{ChoiceOrder, OrderedTask};

impl InducedChanges<'_> {
    /// Resources that start after some of several others do not run if too few of these do. They do not restart with
    /// one of them.
    pub(super) fn follow_choice(&mut self, at: usize, choice: &ChoiceOrder) {
        let set = self.set;
        let why = WaitReason::Choice(at);
        let need = |first, then| Need::of_starts(first, then, true, why);
        for then in &choice.dependents {
            let is_there = |first: &&ResourceIdx| match choice.task {
                OrderedTask::Promote => {
                    ChoiceOrder::counts(set, **first, |part| self.is_to_be_promoted(part))
                }
                _ => self.is_there(&need(**first, *then)),
            };
            let running = choice.firsts.iter().filter(is_there).count();
            for member in set.primitives(then).iter().filter(|_| running < choice.enough) {
                self.set(*member, self.without_needed(*member, true), why);
            }
        }
    }

    /// Applies an order of stops. The later resource gives up its live migration if the first goes down. If the later
    /// one is blocked, it holds the first.
    pub(super) fn follow_stop(&mut self, need: &Need) {
        let set = self.set;
        let of_group = set.resource(need.first).is_group();
        let stops = |part: &ResourceIdx| {
            let change = self.of(*part);
            change.goes_down() || (of_group && change.migrates())
        };
        let stops = set.primitives(&need.first).iter().any(stops);
        for member in set.primitives(&need.then).iter() {
            self.wait_for_blocked(need, *member);
            match self.of(*member) {
                ResourceChange::Migrate { from, to } if stops && set.resource(need.then).is_primitive() => {
                    self.set(*member, ResourceChange::Move { from, to }, need.why);
                }
                _ => {}
            }
        }
    }

    /// Applies a mandatory order that begins with a stop or a demotion. If it is symmetrical, a resource that stays
    /// restarts once the first goes down. Otherwise, it waits for a first that nobody may stop, and for the demotion of a
    /// clone that is not promoted.
    pub(super) fn follow_need_of_stop(&mut self, need: &Need) {
        let set = self.set;
        let firsts = set.primitives(&need.first).into_owned();
        let is_demotion = need.tasks.first == OrderedTask::Demote;
        let goes_down = !is_demotion && firsts.iter().any(|first| self.of(*first).goes_down());
        let is_stuck = |first: &ResourceIdx| {
            let details = set.resource(*first);
            let counts = if is_demotion { details.promoted } else { details.active.is_some() };
            counts && !set.is_managed(*first)
        };
        let is_promoted = firsts.iter().any(|first| set.resource(*first).promoted);
        let is_stuck = is_demotion && !is_promoted
            || firsts.iter().any(|first| self.is_blocked(*first))
            || !need.symmetrical && firsts.iter().any(is_stuck);
        for member in set.primitives(&need.then).iter() {
            let change = match (self.of(*member), need.tasks.then) {
                (ResourceChange::Stay(host), _) if need.symmetrical && goes_down => {
                    ResourceChange::Restart(host)
                }
                (now, OrderedTask::Stop) if is_stuck => now.stops_on().map_or(now, ResourceChange::Held),
                (now, OrderedTask::Start) if is_stuck => now.without_needed(false),
                (now, _) => now,
            };
            self.set(*member, change, need.why);
        }
    }

    /// Returns true if one of the alternatives runs in the end: one instance of a clone, and a group in any case.
    fn is_there(&self, need: &Need) -> bool {
        let details = self.set.resource(need.first);
        let runs =
            |one: &ResourceIdx| self.set.primitives(one).iter().all(|part| !self.is_missing(need, *part));
        if details.is_clone() {
            details.members.iter().any(runs)
        } else {
            details.is_group() || runs(&need.first)
        }
    }
}
