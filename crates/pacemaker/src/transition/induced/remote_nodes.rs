//! Effects of connections on the resources on their nodes, and of addresses on their containers.

use super::super::super::index::{HostIdx, ResourceIdx};
use super::super::super::working_set::{StartOrder, WorkingSet};
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
        self.follow_lost_addresses();
        self.follow_lost_connections();
        self.hold_on_unreachable_nodes();
    }

    /// Leaves what runs on a remote node alone, and starts nothing there, if the connection to it does not come up for lack
    /// of quorum.
    fn hold_on_unreachable_nodes(&mut self) {
        let set = self.set;
        if set.without_quorum.is_none() {
            return;
        }
        for (node, parts) in set.guests().filter(|(_, parts)| parts.is_remote_node()) {
            let is_up = |host: HostIdx| !set.host(host).state.unclean;
            let is_connected = set.resource(parts.connection).active_hosts().any(is_up);
            let comes_up = self.of(parts.connection).starts_on().is_some();
            // Fencing ends what runs there, unless the node is fenced for a failure there.
            let is_ended = set.is_fenced_remote_node(node) && !set.host(node).state.online;
            if is_connected || comes_up || is_ended {
                continue;
            }
            let why = WaitReason::Connection(parts.connection);
            for resource in set.resource_indices().filter(|one| set.is_managed(*one)) {
                let now = self.of(resource);
                let is_there = set.resource(resource).active == Some(node);
                let change = match now {
                    _ if is_there => ResourceChange::Held(node),
                    ResourceChange::Migrate { from, to } if to == node => ResourceChange::Move { from, to },
                    ResourceChange::Move { to, .. } | ResourceChange::Start(to)
                        if to == node && !self.is_sent_to(resource, node) =>
                    {
                        now.not_started()
                    }
                    _ => continue,
                };
                self.set(resource, change, why);
            }
        }
    }

    /// Returns true if a resource should run by its own place, but does not.
    pub(super) fn falls_short(&self, resource: ResourceIdx) -> bool {
        self.of(resource).falls_short_of(self.by_place[resource.get()])
    }

    /// Stops containers whose addresses are not started again.
    fn follow_lost_addresses(&mut self) {
        let set = self.set;
        for replica in set.bundles.iter().flat_map(|bundle| &bundle.replicas) {
            let Some(address) = replica.address.filter(|address| self.falls_short(*address)) else {
                continue;
            };
            let is_tie = |order: &StartOrder| order.first == address && order.then == replica.container;
            let why =
                set.orders.iter().position(is_tie).map_or(WaitReason::Change(address), WaitReason::Order);
            self.set(replica.container, self.of(replica.container).not_started(), why);
        }
    }

    /// Stops what runs on a guest node, on a remote node or in a container whose connection is not started again.
    fn follow_lost_connections(&mut self) {
        let set = self.set;
        for (node, parts) in set.guests() {
            // Resources can have their place on a node whose connection has none.
            let is_left = matches!(self.of(parts.connection), ResourceChange::Stop(_));
            if !is_left && !self.falls_short(parts.connection) {
                continue;
            }
            let placed = self.placed;
            let is_there = |one: &ResourceIdx| placed.host(*one) == Some(node) && set.is_managed(*one);
            let is_machine = !parts.is_remote_node() && !set.host(node).replica;
            let why = match is_machine && self.falls_short(parts.machine) {
                true => WaitReason::Machine(parts.machine),
                false => WaitReason::Connection(parts.connection),
            };
            for resource in set.resource_indices().filter(is_there) {
                if !self.is_sent_to(resource, node) {
                    self.set(resource, self.of(resource).not_started(), why);
                }
            }
        }
    }

    /// Returns true for what would migrate to a guest or remote node. Pacemaker quirk: it is sent there even if the node
    /// does not come up.
    fn is_sent_to(&self, resource: ResourceIdx, node: HostIdx) -> bool {
        let sends = !self.set.host(node).replica;
        sends && matches!(self.by_place[resource.get()], ResourceChange::Migrate { to, .. } if to == node)
    }
}
