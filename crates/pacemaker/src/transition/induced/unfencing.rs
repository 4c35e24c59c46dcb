//! Hosts that must be unfenced.

use std::collections::HashSet;

use crate::index::HostIdx;
use crate::placing::AllPlaced;
use crate::working_set::{Unfencing, WorkingSet};

/// The hosts that must be unfenced. They include those where a resource that requires it has its place, started or not,
/// and those that run a changed fencing device.
pub(super) fn unfenced_hosts(set: &WorkingSet, placed: &AllPlaced) -> Vec<HostIdx> {
    let (mut used, mut changed) = (HashSet::new(), HashSet::new());
    for resource in set.resource_indices().filter(|one| set.needs_unfenced_host(*one)) {
        let details = set.resource(resource);
        let is_changed = details.fences() && details.revision.restarts();
        // Neither maintenance nor unmanaged devices make a difference.
        let changed_on = details.active.filter(|host| is_changed && set.host(*host).state.follows_changes());
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
