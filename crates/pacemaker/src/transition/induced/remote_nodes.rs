//! Effects of connections to remote nodes on the resources there.

use super::super::super::index::ResourceIdx;
use super::super::super::working_set::WorkingSet;
use super::super::change::ResourceChange;
use super::super::wait::WaitReason;
use super::InducedChanges;

impl ResourceChange {
    /// The change if nothing can be stopped on a remote node whose connection is down for good: resources are held there
    /// unless the node is fenced.
    pub(super) fn where_reached(self, set: &WorkingSet) -> ResourceChange {
        let host = self.stops_on().filter(|_| self.beyond(set).is_some());
        host.map_or(self, ResourceChange::Held)
    }

    /// The connection that is down for good to the remote node on which something is to be stopped, without fencing.
    pub(super) fn beyond(self, set: &WorkingSet) -> Option<ResourceIdx> {
        let node = set.host(self.stops_on()?);
        let parts = node.guest.filter(|parts| parts.is_remote_node())?;
        (node.state.unclean && !set.fencing).then_some(parts.connection)
    }
}

impl InducedChanges<'_> {
    /// Moves resources by a stop and a start if the connection to the remote node that they leave is stopped.
    pub(super) fn follow_connections(&mut self) {
        let set = self.set;
        for (node, parts) in set.guests().filter(|(_, parts)| parts.is_remote_node()) {
            let connection = self.of(parts.connection);
            let Some(host) = connection.stops_on().filter(|_| !connection.migrates()) else { continue };
            let is_stuck = |one: &ResourceIdx| {
                self.is_blocked(*one) && set.resource(*one).active_hosts().any(|on| on == node)
            };
            // A connection cannot be stopped before all resources on its node are.
            if let Some(stuck) = set.resource_indices().find(is_stuck) {
                self.set(parts.connection, ResourceChange::Held(host), WaitReason::Machine(stuck));
                continue;
            }
            for resource in set.resource_indices() {
                match self.of(resource) {
                    ResourceChange::Migrate { from, to } if from == node => {
                        let why = WaitReason::Connection(parts.connection);
                        self.set(resource, ResourceChange::Move { from, to }, why);
                    }
                    _ => {}
                }
            }
        }
        self.follow_lost_connections();
    }

    /// Stops what runs in a container whose connection is not started again.
    fn follow_lost_connections(&mut self) {
        let set = self.set;
        for (node, parts) in set.machines().filter(|(node, _)| set.host(*node).replica) {
            let connection = self.of(parts.connection);
            if !connection.falls_short_of(self.by_place[parts.connection.get()]) {
                continue;
            }
            let placed = self.placed;
            let is_there = |one: &ResourceIdx| placed.host(*one) == Some(node) && set.is_managed(*one);
            for resource in set.resource_indices().filter(is_there) {
                let why = WaitReason::Connection(parts.connection);
                self.set(resource, self.of(resource).not_started(), why);
            }
        }
    }
}
