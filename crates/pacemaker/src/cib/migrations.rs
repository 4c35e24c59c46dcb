//! Live migrations in the history. Each is recorded on two hosts, and the meaning of one record depends on the other.

use super::super::index::HostIdx;
use super::Reader;
use super::history::{KeptOperation, RecordedState};

/// Records of a resource on the host at the other end of a live migration.
#[derive(Debug, Clone, Copy)]
pub(super) struct OtherEnd<'o> {
    host: HostIdx,
    /// True if the host is a member of the cluster.
    online: bool,
    /// All operations if one of them is a migration or failed, otherwise none. `None` if no operation has ended there.
    operations: Option<&'o [KeptOperation]>,
    /// Time of the last operation that changed whether it runs or found that it does not, in seconds since 1970.
    newest: Option<i64>,
}

/// A host with operations, and access to the other ends of migrations.
pub(super) struct HistoryPlace<'o> {
    pub(super) name: &'o str,
    /// True if the host can be fenced.
    pub(super) can_be_fenced: bool,
    /// True if stops count that failed for good, although their failures are forgotten.
    pub(super) keeps_forgotten: bool,
    /// Finds the other end by the name of its host.
    pub(super) other: &'o dyn Fn(&str) -> Option<OtherEnd<'o>>,
}

/// Meaning of a live migration for one of its two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MigrationOutcome {
    /// None, as later operations decide.
    Over,
    /// It has not ended, and the resource runs where it was. Holds the target, if this host is the source.
    Begun(Option<HostIdx>),
    /// The resource arrived here.
    Arrived,
    /// The resource arrived on the other host, and its remains here are not stopped.
    Left,
    /// The resource was sent, and its arrival is unknown. Holds the other host, if the resource may run there, too.
    Sent(Option<HostIdx>),
    /// It failed on the other host, and the resource runs here. Holds the other host, if the resource may run there,
    /// too.
    FailedThere(Option<HostIdx>),
    /// It failed here. Holds the other host, if the resource may run there, too.
    FailedHere(Option<HostIdx>),
}

impl MigrationOutcome {
    /// Meaning of a migration, with the operations after it in `later`.
    pub(super) fn of(
        operation: &KeptOperation,
        later: &[KeptOperation],
        here: &HistoryPlace<'_>,
    ) -> MigrationOutcome {
        let other = (here.other)(&operation.peer);
        let known = other.and_then(|other| other.operations);
        let host = other.filter(|_| known.is_some()).map(|other| other.host);
        if operation.is_pending() {
            return MigrationOutcome::Begun(
                other.filter(|_| operation.name == "migrate_to").map(|other| other.host),
            );
        }
        let arrives = operation.name == "migrate_from";
        // A resource that was sent from another host, or to none, tells nothing but its failure.
        if !arrives && (operation.own_end != here.name || operation.peer.is_empty()) {
            return match operation.is_done() {
                true => MigrationOutcome::Over,
                false => MigrationOutcome::FailedHere(None),
            };
        }
        let is_online = other.is_some_and(|other| other.online);
        let counterpart = counterpart(known.unwrap_or_default(), here.name, !arrives);
        // Operations after a successful migration tell more than the migration.
        let moved_on = counterpart
            .is_some_and(|(operation, later)| operation.is_done() && later.iter().any(tells_where));
        // Hosts are compared by their own clocks; an operation without a time is never later.
        let newest = other.and_then(|other| other.newest);
        let is_outdated = operation.changed.is_some_and(|at| newest.is_some_and(|newest| newest > at));
        match (operation.is_done(), counterpart) {
            (true, _) if arrives => MigrationOutcome::Arrived,
            (false, _) => MigrationOutcome::FailedHere(host.filter(|_| !moved_on && !is_outdated)),
            (true, Some(_))
                if later.iter().any(|operation| matches!(operation.name.as_str(), "start" | "stop")) =>
            {
                MigrationOutcome::Over
            }
            (true, Some((from, _))) if from.is_done() => MigrationOutcome::Left,
            (true, Some((from, later))) => {
                let went_on = later.iter().any(tells_where);
                if from.is_pending() && !went_on && is_online {
                    MigrationOutcome::Sent(host)
                } else {
                    MigrationOutcome::FailedThere(host.filter(|_| !went_on))
                }
            }
            (true, None) if is_online && !is_outdated => MigrationOutcome::Sent(host),
            (true, None) if is_outdated && later.iter().any(|operation| operation.name != "monitor") => {
                MigrationOutcome::Over
            }
            (true, None) => MigrationOutcome::FailedThere(None),
        }
    }
}

/// The last live migration to or from a host, and the operations after it.
fn counterpart<'o>(
    operations: &'o [KeptOperation],
    peer: &str,
    arrives: bool,
) -> Option<(&'o KeptOperation, &'o [KeptOperation])> {
    let name = if arrives { "migrate_from" } else { "migrate_to" };
    let at = operations.iter().rposition(|operation| operation.name == name && operation.peer == peer)?;
    Some((&operations[at], &operations[at + 1..]))
}

/// Returns true if an operation starts, stops or probes the resource.
fn tells_where(operation: &KeptOperation) -> bool {
    matches!(operation.name.as_str(), "start" | "stop") || operation.probes()
}

impl Reader<'_, '_> {
    /// Records of a resource on the host with a name.
    pub(super) fn other_end<'o>(
        &self,
        resource: &str,
        recorded_states: &'o [(HostIdx, RecordedState)],
        name: &str,
    ) -> Option<OtherEnd<'o>> {
        let host = *self.hosts.get(name)?;
        let nothing = Some([].as_slice());
        let (operations, newest) = match recorded_states
            .iter()
            .find(|(other, _)| *other == host)
            .map(|(_, recorded_state)| recorded_state)
        {
            Some(RecordedState::Unsettled(operations)) => {
                let has_ended = operations.iter().any(|operation| !operation.is_pending());
                let newest = operations
                    .iter()
                    .filter(|operation| operation.tells_most())
                    .filter_map(|operation| operation.changed)
                    .max();
                (has_ended.then_some(operations.as_slice()), newest)
            }
            Some(RecordedState::Active(when) | RecordedState::Inactive(when)) => (nothing, *when),
            None => match self.idle.get(host.get()).and_then(|idle| idle.when(resource.as_bytes())) {
                Some(when) => (nothing, when),
                None => (None, None),
            },
        };
        Some(OtherEnd { host, online: self.set.host(host).state.online, operations, newest })
    }
}
