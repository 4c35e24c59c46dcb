//! Guest nodes: VMs that the cluster runs, and that run resources themselves.

use std::borrow::Cow;

use super::index::{HostIdx, ResourceIdx};
use super::placing::AllPlaced;
use super::score::{AllocationScore, ScoreTable};
use super::working_set::{GuestParts, Host, HostState, Requirement, RunCondition, WorkingSet};

/// A resource that was not looked for on a remote node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsearchedNode {
    /// The remote node.
    pub node: HostIdx,
    /// The resource.
    pub resource: ResourceIdx,
}

impl Host {
    /// Returns true if the host can run resources now, before any is placed. A guest node that must be fenced gets its
    /// VM restarted, and can run resources until then. A node in a container cannot if its bundle is to stop.
    pub fn can_run(&self) -> bool {
        match self.guest {
            _ if self.removed => false,
            Some(_) if self.replica && self.state.shutting_down => false,
            Some(parts) if !parts.is_remote_node() => self.lets_run() && self.state.online,
            _ => self.state.available(),
        }
    }

    /// Returns false for a node that only the histories of resources tell of.
    pub(super) fn is_known(&self) -> bool {
        !self.removed || self.listed
    }

    /// Returns true for a remote node that must be fenced even if its connection gets a place.
    pub(super) fn is_given_up(&self) -> bool {
        self.guest.is_some_and(GuestParts::is_remote_node) && self.state.unclean && !self.reconnects
    }

    /// Returns true if a guest node can run resources as soon as its VM runs.
    pub(super) fn lets_run(&self) -> bool {
        let is_leaving = self.state.shutting_down && self.guest.is_some_and(GuestParts::is_remote_node);
        !self.state.standby && !self.state.maintenance && !is_leaving
    }
}

impl WorkingSet {
    /// The same cluster with the states of remote nodes that follow from the places of their connections: some are
    /// reached after all and need no fencing, and others become unreachable.
    pub(super) fn with_connections_placed(&self, placed: &AllPlaced) -> Cow<'_, WorkingSet> {
        let changed = |(host, parts): (HostIdx, GuestParts)| {
            let state = self.remote_state_after(host, parts.connection, placed);
            (parts.is_remote_node() && state != self.host(host).state).then_some((host, state))
        };
        let changed: Vec<(HostIdx, HostState)> = self.guests().filter_map(changed).collect();
        let is_in_reach = |(host, parts): &(HostIdx, GuestParts)| {
            let connection = parts.connection;
            let has_place = self.resource(connection).active.is_some() && placed.host(connection).is_some();
            parts.is_remote_node() && (has_place || self.host(*host).state.online)
        };
        let in_reach: Vec<HostIdx> = match self.without_quorum {
            Some(_) => self.guests().filter(is_in_reach).map(|(host, _)| host).collect(),
            None => Vec::new(),
        };
        if changed.is_empty() && in_reach.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut set = self.clone();
        in_reach.into_iter().for_each(|host| set.hosts[host.get()].in_reach = true);
        for (host, state) in changed {
            set.hosts[host.get()].state = state;
            if state.unclean && set.fencing {
                set.add_unsure_host(host);
            }
        }
        Cow::Owned(set)
    }

    /// Notes that resources which need not wait for fencing wait for that of a remote node all the same, if they were never
    /// looked for there. Connections and fence devices never are.
    fn add_unsure_host(&mut self, host: HostIdx) {
        let waits = |resource: &ResourceIdx| {
            let details = self.resource(*resource);
            let is_unsure = details.fences()
                || details.unknown_on.contains(&host)
                || self.guests().any(|(_, parts)| parts.connection == *resource);
            details.is_primitive() && is_unsure && self.requirement(*resource) == Requirement::Quorum
        };
        let waiting: Vec<ResourceIdx> = self.resource_indices().filter(waits).collect();
        waiting.into_iter().for_each(|one| self.resources[one.get()].unsure_on.push(host));
    }

    /// The state of a remote node once its connection is placed.
    fn remote_state_after(&self, host: HostIdx, connection: ResourceIdx, placed: &AllPlaced) -> HostState {
        let node = self.host(host);
        let details = self.resource(connection);
        if placed.host(connection).is_some() {
            return match node.reconnects {
                true => HostState { online: true, unclean: false, ..node.state },
                false => node.state,
            };
        }
        // Resources are there, or may be.
        let is_used = self.resources.iter().any(|resource| {
            resource.active_hosts().any(|on| on == host) || resource.unknown_on.contains(&host)
        });
        let on_lost = details.active.is_some_and(|on| self.host(on).state.unclean);
        let is_broken = details.active.is_some() && details.condition == RunCondition::Failed;
        // On a lost host, it does not matter if the connection has failed before.
        let is_unreachable = if on_lost { is_used } else { is_broken && (is_used || self.startup_probes) };
        match is_unreachable {
            true => HostState { online: false, unclean: true, ..node.state },
            false => node.state,
        }
    }

    /// Returns true for a remote node that is to be fenced, once the places of connections are known.
    pub(super) fn is_fenced_remote_node(&self, host: HostIdx) -> bool {
        let node = self.host(host);
        node.guest.is_some_and(GuestParts::is_remote_node) && node.state.unclean && self.can_fence(host)
    }

    /// The guest nodes and remote nodes, and the resources behind them.
    pub(super) fn guests(&self) -> impl Iterator<Item = (HostIdx, GuestParts)> + '_ {
        self.host_indices().filter_map(|host| Some((host, self.host(host).guest?)))
    }

    /// The guest nodes that are VMs of the cluster.
    pub(super) fn machines(&self) -> impl Iterator<Item = (HostIdx, GuestParts)> + '_ {
        self.guests().filter(|(_, parts)| !parts.is_remote_node())
    }

    /// The connection to a guest node that failed, or is on a lost host, while its VM does not run. It is not known which
    /// action Pacemaker then takes for the end of the VM.
    pub fn lone_connection(&self) -> Option<ResourceIdx> {
        let machines = self.machines().map(|(_, parts)| parts);
        let mut alone = machines.filter(|parts| self.resource(parts.machine).active.is_none());
        let is_broken = |parts: &GuestParts| {
            let connection = self.resource(parts.connection);
            let is_lost = connection.active.is_some_and(|host| self.host(host).state.unclean);
            connection.active.is_some() && (is_lost || connection.condition == RunCondition::Failed)
        };
        alone.find(is_broken).map(|parts| parts.connection)
    }

    /// A remote node on which not all resources were looked for, and one of these. Pacemaker looks for them as soon as the
    /// node can be reached, and other actions wait for that.
    pub fn unsearched(&self) -> Option<UnsearchedNode> {
        let nodes = || self.guests().filter(|(_, parts)| parts.is_remote_node()).map(|(node, _)| node);
        self.resource_indices().find_map(|resource| {
            let unknown = &self.resource(resource).unknown_on;
            nodes().find(|node| unknown.contains(node)).map(|node| UnsearchedNode { node, resource })
        })
    }

    /// Returns true for a resource that the document does not name: the connection to a guest node, or a part of a bundle
    /// besides its container.
    pub fn is_implied(&self, resource: ResourceIdx) -> bool {
        let mut machines = self.machines();
        self.resource(resource).in_bundle || machines.any(|(_, parts)| parts.connection == resource)
    }

    /// Returns true if the cluster has guest nodes or remote nodes.
    pub fn has_guests(&self) -> bool {
        self.guests().next().is_some()
    }

    /// Sets the scores of remote connections: whatever the constraints say, they may run on every member of the
    /// cluster.
    pub(super) fn open_connections(&mut self) {
        let table = self.base_scores();
        for (_, parts) in self.machines().collect::<Vec<_>>() {
            self.resources[parts.connection.get()].scores = table.clone();
        }
    }

    /// The resources of a guest node that run on members only: its VM, and the connection to it. Unmanaged ones are left
    /// alone, and so are containers, but not the connections to them.
    pub(super) fn kept_to_members(
        &self,
        host: HostIdx,
        parts: GuestParts,
    ) -> impl Iterator<Item = ResourceIdx> + use<> {
        let in_container = self.host(host).replica;
        let machine = (!in_container).then_some(parts.machine);
        let is_kept = in_container || self.may_manage(parts.connection);
        machine.into_iter().chain([parts.connection]).filter(move |_| is_kept)
    }

    /// Keeps from guest nodes the managed resources that can never run there: VMs that are guest nodes, their
    /// connections, and fencing devices. Connections to containers are kept from them even if they are not managed.
    pub(super) fn keep_from_guests(&mut self) {
        let guests: Vec<(HostIdx, GuestParts)> = self.guests().collect();
        if guests.is_empty() {
            return;
        }
        let mut kept: Vec<ResourceIdx> =
            self.guests().flat_map(|(host, parts)| self.kept_to_members(host, parts)).collect();
        kept.extend(
            self.resource_indices().filter(|one| self.resource(*one).fences() && self.may_manage(*one)),
        );
        for resource in kept {
            let scores: &mut ScoreTable = &mut self.resources[resource.get()].scores;
            for (host, _) in &guests {
                scores.add(*host, AllocationScore::MINUS_INFINITY);
            }
        }
    }

    /// In an opt-in cluster, shows for the connection to each container that it is kept from the nodes in containers up to
    /// its own. Otherwise, its scores do not name them.
    pub(super) fn show_replicas(&mut self) {
        if self.symmetric {
            return;
        }
        let mut nodes = Vec::new();
        for inside in self.bundles.iter().flat_map(|bundle| &bundle.replicas).filter_map(|one| one.inside) {
            nodes.push(inside.host);
            let Some(parts) = self.hosts[inside.host.get()].guest else { continue };
            let scores = &mut self.resources[parts.connection.get()].scores;
            nodes.iter().for_each(|node| scores.set(*node, AllocationScore::MINUS_INFINITY));
        }
    }
}
