//! Guest nodes, remote nodes and bundles in the search for the best placement. What runs on such a node stays where
//! Pacemaker places it, and so do the connections to remote nodes and the parts of bundles. VMs of guest nodes move, and
//! take along what is inside.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::placing::AllPlaced;
use super::super::working_set::{GuestParts, WorkingSet};

/// Treatment of the VMs of guest nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Machines {
    /// They may be placed anywhere.
    Free,
    /// They stay where Pacemaker places them.
    Pinned,
}

impl Machines {
    /// The treatment with which a best placement was found.
    pub(super) fn as_in(set: &WorkingSet, best: &AllPlaced) -> Machines {
        let is_pinned = |(_, parts): (HostIdx, GuestParts)| {
            best.optimum.as_ref().is_some_and(|optimum| optimum.pinned.contains(&parts.machine))
        };
        if set.virtual_machines().any(is_pinned) { Machines::Pinned } else { Machines::Free }
    }
}

impl WorkingSet {
    /// The guest nodes that are VMs, without containers.
    pub(super) fn virtual_machines(&self) -> impl Iterator<Item = (HostIdx, GuestParts)> + '_ {
        self.machines().filter(|(host, _)| !self.host(*host).replica)
    }

    /// The primitives that stay where Pacemaker places them: those on guest nodes, remote nodes and in containers, the
    /// connections, and the addresses of bundles.
    pub(super) fn pinned(&self, placed: &AllPlaced, machines: Machines) -> Vec<ResourceIdx> {
        let is_inside = |one: &ResourceIdx| {
            let inside = placed.host(*one).is_some_and(|host| self.host(host).guest.is_some());
            self.resource(*one).is_primitive() && inside
        };
        let mut pinned: Vec<ResourceIdx> = self.resource_indices().filter(is_inside).collect();
        for (host, parts) in self.guests() {
            if self.host(host).replica || parts.is_remote_node() || machines == Machines::Pinned {
                pinned.extend([parts.machine, parts.connection]);
            }
        }
        pinned.extend(self.bundles.iter().flat_map(|bundle| bundle.addresses()));
        pinned.sort_unstable();
        pinned.dedup();
        pinned
    }
}
