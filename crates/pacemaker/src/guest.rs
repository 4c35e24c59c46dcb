//! Guest nodes: machines that the cluster runs, and that run resources themselves.

use super::index::{HostIdx, ResourceIdx};
use super::score::{AllocationScore, ScoreTable};
use super::working_set::{GuestParts, Host, WorkingSet};

impl Host {
    /// Whether it can run resources as things are, before any of them is placed. A guest node that is to be fenced has its machine
    /// restarted, and can until then.
    pub fn can_run(&self) -> bool {
        match self.guest {
            Some(_) => self.lets_run() && self.state.online,
            None => self.state.available(),
        }
    }

    /// Whether nothing but its machine keeps a guest node from running resources.
    pub(super) fn lets_run(&self) -> bool {
        !self.state.standby && !self.state.maintenance
    }
}

impl WorkingSet {
    /// The hosts that are machines of the cluster, and what they are made of.
    pub(super) fn guests(&self) -> impl Iterator<Item = (HostIdx, GuestParts)> + '_ {
        self.host_indices().filter_map(|host| Some((host, self.host(host).guest?)))
    }

    /// Whether any host is a machine of the cluster.
    pub fn has_guests(&self) -> bool {
        self.guests().next().is_some()
    }

    /// Sets the scores of connections: whatever the constraints say, they may be on every member of the cluster.
    pub(super) fn open_connections(&mut self) {
        let table = self.base_scores();
        for (_, parts) in self.guests().collect::<Vec<_>>() {
            self.resources[parts.connection.get()].scores = table.clone();
        }
    }

    /// Keeps from machines of the cluster what never runs in one: machines with guest nodes, their connections, and what fences;
    /// unless nobody manages it.
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
