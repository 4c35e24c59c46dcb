//! Resources locked to hosts that were shut down, or are being shut down (`shutdown-lock`).

use std::collections::{BTreeSet, HashMap};

use super::super::index::{HostIdx, ResourceIdx};
use super::super::number::leading;
use super::super::score::AllocationScore;
use super::super::working_set::{LocationScore, Resource};
use super::document::{child, children, id};
use super::history::{LOCK, list};
use super::orphans::unsupported;
use super::properties::Properties;
use super::resources::CONNECTION;
use super::spans::milliseconds;
use super::{HostRecord, Reader};

/// Id under which locks count as locations.
const ID: &str = "shutdown-lock";

/// Rules of locks.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShutdownLocks {
    /// Time after which a lock expires, in seconds; 0 if it never does.
    limit: i64,
}

/// A lock that the history of a host records.
#[derive(Debug, Clone, Copy)]
struct RecordedLock {
    host: HostIdx,
    /// Start of the lock, in seconds since 1970.
    since: i64,
}

impl ShutdownLocks {
    pub(super) fn of(options: &Properties<'_>) -> Option<ShutdownLocks> {
        let limit = options.get("shutdown-lock-limit").map_or(0, milliseconds) / 1000;
        options
            .flag("shutdown-lock", false)
            .then_some(ShutdownLocks { limit: i64::try_from(limit).unwrap_or(i64::MAX) })
    }
}

impl Reader<'_, '_> {
    /// Keeps locked resources from all hosts but one.
    pub(super) fn lock_resources(&mut self) {
        let Some(locks) = self.locks else { return };
        self.report_unclear_ends();
        let recorded = self.recorded_locks();
        for at in 0..self.set.resources.len() {
            let resource = ResourceIdx::new(at);
            if !self.can_be_locked(resource) {
                continue;
            }
            let details = self.set.resource(resource);
            let recorded = recorded.get(details.id.as_str()).copied();
            let Some(host) = self.lock_of(details, recorded, locks) else { continue };
            let others = self.set.host_indices().filter(|other| *other != host);
            let score = AllocationScore::MINUS_INFINITY;
            let bans = others.map(|host| LocationScore {
                id: ID.to_owned(),
                resource,
                host,
                score,
                exclusive: false,
            });
            self.set.locations.extend(bans);
        }
    }

    /// The locks in the histories by resource. Of several, the last of the document counts.
    fn recorded_locks(&self) -> HashMap<String, RecordedLock> {
        let by_id: HashMap<&str, HostIdx> =
            self.set.host_indices().map(|host| (self.set.host(host).id.as_str(), host)).collect();
        let states = child(self.root, "status").into_iter().flat_map(|status| children(status, "node_state"));
        let mut recorded = HashMap::new();
        for state in states {
            let Some(host) = by_id.get(id(state)).copied() else { continue };
            for entry in list(state).into_iter().flat_map(|list| children(list, "lrm_resource")) {
                let since = entry.attribute(LOCK).and_then(leading).filter(|since| *since > 0);
                recorded.extend(since.map(|since| (id(entry).to_owned(), RecordedLock { host, since })));
            }
        }
        recorded
    }

    /// Reports resources that ran on a host that is gone. With locks, Pacemaker takes them for running.
    fn report_unclear_ends(&mut self) {
        let is_gone = |record: &HostRecord<'_>| {
            let state = self.set.host(record.host).state;
            !state.online && !state.unclean
        };
        let unclear = self.records.iter().filter(|(_, records)| records.iter().any(is_gone));
        let unclear: BTreeSet<&str> = unclear.map(|(name, _)| *name).collect();
        let reason = "it was not stopped on a node that is gone, in a cluster with locks (shutdown-lock)";
        self.set.unsupported.extend(unclear.into_iter().map(|name| unsupported(name, reason)));
    }

    /// Returns true for a primitive that is in no clone, fences no host and is no connection to one.
    fn can_be_locked(&self, resource: ResourceIdx) -> bool {
        let details = self.set.resource(resource);
        let is_instance = |details: &Resource| details.instance_of.is_some();
        details.is_primitive()
            && !details.orphaned
            && !details.agent.starts_with("stonith:")
            && details.agent != CONNECTION
            && !is_instance(details)
            && !details.group.is_some_and(|group| is_instance(self.set.resource(group)))
    }

    /// The host to which a resource is locked: the one that shuts down with it, or the one that did. A recorded lock is
    /// over once the resource runs.
    fn lock_of(
        &self,
        details: &Resource,
        recorded: Option<RecordedLock>,
        locks: ShutdownLocks,
    ) -> Option<HostIdx> {
        let is_valid = |lock: &RecordedLock| {
            locks.limit <= 0 || lock.since.saturating_add(locks.limit) >= self.clock.seconds()
        };
        let recorded = recorded.filter(is_valid);
        let mut active = details.active_hosts();
        match (active.next(), active.next()) {
            (None, _) => recorded.map(|lock| lock.host),
            // The resource came back, and the lock is over.
            (Some(_), _) if recorded.is_some() => None,
            (Some(host), None) => {
                let state = self.set.host(host).state;
                // A guest node whose VM stops is not shut down.
                let leaves = match self.is_guest_node(host) {
                    true => self.leaving_guests.contains(&host),
                    false => state.shutting_down,
                };
                (leaves && !state.unclean).then_some(host)
            }
            (Some(_), Some(_)) => None,
        }
    }
}
