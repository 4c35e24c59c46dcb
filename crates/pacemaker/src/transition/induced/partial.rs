//! Orders that bind only partly: some of several resources are enough, or only the order of stops is given.

use super::super::change::ResourceChange;
use super::super::needs::Need;
use super::super::wait::WaitReason;
use super::state::InducedChanges;
use crate::index::ResourceIdx;
use crate::working_set::ChoiceOrder;

impl InducedChanges<'_> {
    /// Resources that start after some of several others do not run if too few of these do. They do not restart with
    /// one of them.
    pub(super) fn follow_choice(&mut self, at: usize, choice: &ChoiceOrder) {
        let set = self.set;
        let why = WaitReason::Choice(at);
        let need = |first, then| Need { first, then, symmetrical: true, why };
        for then in &choice.dependents {
            let running = choice.firsts.iter().filter(|first| self.is_there(&need(**first, *then))).count();
            for member in set.primitives(then).iter().filter(|_| running < choice.enough) {
                self.set(*member, self.of(*member).not_started(), why);
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
