//! Guest nodes: VMs that the cluster runs, and that run resources themselves.

use super::index::{HostIdx, ResourceIdx};
use super::score::{AllocationScore, ScoreTable};
use super::working_set::{GuestParts, Host, WorkingSet};

impl Host {
    /// Returns true if the host can run resources now, before any is placed. A guest node that must be fenced gets its
    /// VM restarted, and can run resources until then.
    pub fn can_run(&self) -> bool {
        match self.guest {
            Some(_) => self.lets_run() && self.state.online,
            None => self.state.available(),
        }
    }

    /// Returns true for a remote node that must be fenced even if its connection gets a place.
    pub(super) fn is_given_up(&self) -> bool {
        self.guest.is_some_and(GuestParts::is_remote_node) && self.state.unclean && !self.reconnects
    }

    /// Returns true if a guest node can run resources as soon as its VM runs.
    pub(super) fn lets_run(&self) -> bool {
        !self.state.standby && !self.state.maintenance
    }
}

impl WorkingSet {
    /// The guest nodes and remote nodes, and the resources behind them.
    pub(super) fn guests(&self) -> impl Iterator<Item = (HostIdx, GuestParts)> + '_ {
        self.host_indices().filter_map(|host| Some((host, self.host(host).guest?)))
    }

    /// The guest nodes that are VMs of the cluster.
    pub(super) fn machines(&self) -> impl Iterator<Item = (HostIdx, GuestParts)> + '_ {
        self.guests().filter(|(_, parts)| !parts.is_remote_node())
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

    /// Keeps from guest nodes the managed resources that can never run there: VMs that are guest nodes, their
    /// connections, and fencing devices.
    pub(super) fn keep_from_guests(&mut self) {
        let guests: Vec<(HostIdx, GuestParts)> = self.guests().collect();
        if guests.is_empty() {
            return;
        }
        let parts = guests.iter().filter(|(_, parts)| self.may_manage(parts.connection));
        let mut kept: Vec<ResourceIdx> =
            parts.flat_map(|(_, parts)| [parts.machine, parts.connection]).collect();
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
}
