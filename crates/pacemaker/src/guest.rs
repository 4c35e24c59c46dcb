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

    /// Returns true if a guest node can run resources as soon as its VM runs.
    pub(super) fn lets_run(&self) -> bool {
        !self.state.standby && !self.state.maintenance
    }
}

impl WorkingSet {
    /// The guest nodes, and the resources behind them.
    pub(super) fn guests(&self) -> impl Iterator<Item = (HostIdx, GuestParts)> + '_ {
        self.host_indices().filter_map(|host| Some((host, self.host(host).guest?)))
    }

    /// Returns true if the cluster has guest nodes.
    pub fn has_guests(&self) -> bool {
        self.guests().next().is_some()
    }

    /// Sets the scores of remote connections: whatever the constraints say, they may run on every member of the
    /// cluster.
    pub(super) fn open_connections(&mut self) {
        let table = self.base_scores();
        for (_, parts) in self.guests().collect::<Vec<_>>() {
            self.resources[parts.connection.get()].scores = table.clone();
        }
    }

    /// Keeps from guest nodes the managed resources that can never run there: VMs that are guest nodes, their
    /// connections, and fencing devices.
    pub(super) fn keep_from_guests(&mut self) {
        let is_open = |(host, _): &(HostIdx, GuestParts)| !self.host(*host).replica;
        let guests: Vec<(HostIdx, GuestParts)> = self.guests().filter(is_open).collect();
        if guests.is_empty() {
            return;
        }
        let parts = self.guests().filter(|(_, parts)| self.may_manage(parts.connection));
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
