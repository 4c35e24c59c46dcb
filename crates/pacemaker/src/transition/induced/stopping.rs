//! Stops that need the start of another resource.

use super::super::change::ResourceChange;
use super::super::needs::Need;
use super::state::InducedChanges;
use crate::index::ResourceIdx;

impl InducedChanges<'_> {
    /// Keeps a resource from stopping after another one that does not start.
    pub(super) fn follow_need_of_stopping(&mut self, need: &Need) {
        let set = self.set;
        let firsts = set.primitives(&need.first).into_owned();
        // One that runs need not start, even if it is unmanaged and ends with its host.
        let runs_alone = |first: ResourceIdx| {
            !set.is_managed(first) && !self.is_blocked(first) && self.of(first).runs_on().is_some()
        };
        if !firsts.iter().any(|first| self.is_missing(need, *first) && !runs_alone(*first)) {
            return;
        }
        for member in set.primitives(&need.then).iter() {
            let leaves = match self.of(*member) {
                ResourceChange::Stay(host) => Some(host),
                other => other.stops_on(),
            };
            if let Some(host) = leaves.filter(|_| set.is_managed(*member)) {
                self.held[member.get()] = true;
                self.set(*member, ResourceChange::Held(host), need.why);
            }
        }
    }
}
