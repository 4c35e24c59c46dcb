//! What unfencing hosts does to what runs there, and to those that need it.

use std::collections::HashSet;

use super::super::change::ResourceChange;
use super::super::wait::WaitReason;
use super::{InducedChanges, Need};
use crate::index::{HostIdx, ResourceIdx};
use crate::placing::AllPlaced;
use crate::working_set::{Unfencing, WorkingSet};

/// The hosts that have to be unfenced: also those on which something that requires it has its place, whether it is started or not,
/// or runs a device that was changed.
pub(super) fn unfenced_hosts(set: &WorkingSet, placed: &AllPlaced) -> Vec<HostIdx> {
    let (mut used, mut changed) = (HashSet::new(), HashSet::new());
    for resource in set.resource_indices().filter(|one| set.needs_unfenced_host(*one)) {
        let of = set.resource(resource);
        let restarts = of.fences() && of.revision.restarts() && set.is_managed(resource);
        let changed_on = of.active.filter(|host| restarts && set.host(*host).state.available());
        used.extend(placed.host(resource));
        changed.extend(changed_on);
    }
    let is_due = |host: &HostIdx| match set.host(*host).unfencing {
        Unfencing::Done => changed.contains(host),
        Unfencing::WhenUsed => used.contains(host),
        Unfencing::Due => true,
    };
    set.host_indices().filter(is_due).collect()
}

impl InducedChanges<'_> {
    /// Whether a part of a group or a clone restarts as its host is unfenced, and those that need the whole do not hear of it: of a
    /// clone nobody does, of a group those that were placed before it.
    pub(super) fn is_unheard_unfencing(&self, need: &Need, part: ResourceIdx) -> bool {
        let whole = self.set.resource(need.first);
        let unfenced = |one: ResourceIdx| matches!(self.causes[one.get()], Some(WaitReason::Unfencing(_)));
        let is_for_that = |part: ResourceIdx| match self.causes[part.get()] {
            Some(WaitReason::Group(group)) => {
                self.set.resource(group).members.iter().any(|member| unfenced(*member))
            }
            _ => unfenced(part),
        };
        let restarts = matches!(self.of(part), ResourceChange::Restart(_)) && is_for_that(part);
        restarts && (whole.is_clone() || whole.is_group() && self.turn(need.then) >= self.turn(need.first))
    }
}
