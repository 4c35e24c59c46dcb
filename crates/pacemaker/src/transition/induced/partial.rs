//! Orders that bind by half: some of several are enough, or it is only said who is stopped first.

use super::super::change::ResourceChange;
use super::super::needs::Need;
use super::super::wait::WaitReason;
use super::state::InducedChanges;
use crate::index::ResourceIdx;
use crate::working_set::ChoiceOrder;

impl InducedChanges<'_> {
    /// Who is started after some of several others does not run if not enough of these do. Nobody starts anew with one of them.
    pub(super) fn follow_choice(&mut self, at: usize, choice: &ChoiceOrder) {
        let set = self.set;
        let why = WaitReason::Choice(at);
        let need = |first, then| Need { first, then, symmetrical: true, why };
        for then in &choice.thens {
            let running = choice.firsts.iter().filter(|first| self.is_there(&need(**first, *then))).count();
            for member in set.primitives(then).iter().filter(|_| running < choice.enough) {
                self.set(*member, self.of(*member).not_started(), why);
            }
        }
    }

    /// Of two of which the later one has to be stopped first, that one gives its live migration up where the other one goes down, and
    /// holds it where nobody touches itself.
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

    /// Whether one of those of which some are needed runs in the end: of a clone one instance, a group in any case.
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
