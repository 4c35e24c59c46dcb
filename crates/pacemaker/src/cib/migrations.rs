//! Live migrations in the history: each is known on two hosts, and what one of them says hangs on what the other knows.

use super::super::index::HostIdx;
use super::Reader;
use super::history::{KeptOperation, Trace};

/// What is known about a resource on the host at the other end of a live migration.
#[derive(Debug, Clone, Copy)]
pub(super) struct OtherEnd<'o> {
    host: HostIdx,
    /// Whether the host is a member of the cluster.
    online: bool,
    /// The operations of which any is a migration, or did not go well. None, if no operation has ended there.
    operations: Option<&'o [KeptOperation]>,
    /// When the last of its operations was that tells most, in seconds since 1970.
    newest: Option<i64>,
}

/// A host on which operations were, and what others know.
pub(super) struct HistoryPlace<'o> {
    /// The name of the host.
    pub(super) name: &'o str,
    /// Whether the host can be fenced.
    pub(super) can_be_fenced: bool,
    /// The host of a name.
    pub(super) other: &'o dyn Fn(&str) -> Option<OtherEnd<'o>>,
}

/// What a live migration tells about one of its two hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    /// Nothing: later operations do.
    Over,
    /// It has not ended, and runs where it was; the host to which it goes, if it goes from here.
    Begun(Option<HostIdx>),
    /// It arrived here.
    Arrived,
    /// It arrived on the other host, and what is left here is not stopped.
    Left,
    /// It was sent; that it arrived is not known. Whether it may run on the other host, too.
    Sent(Option<HostIdx>),
    /// It failed on the other host, and runs here. Whether it may run there, too.
    FailedThere(Option<HostIdx>),
    /// It failed here. Whether it may run on the other host, too.
    FailedHere(Option<HostIdx>),
}

impl Passage {
    /// What a migration tells, `later` being what came after it.
    pub(super) fn of(operation: &KeptOperation, later: &[KeptOperation], here: &HistoryPlace<'_>) -> Passage {
        let other = (here.other)(&operation.peer);
        let known = other.and_then(|other| other.operations);
        let host = other.filter(|_| known.is_some()).map(|other| other.host);
        if operation.is_pending() {
            return Passage::Begun(other.filter(|_| operation.name == "migrate_to").map(|other| other.host));
        }
        let is_online = other.is_some_and(|other| other.online);
        let arrives = operation.name == "migrate_from";
        let counterpart = counterpart(known.unwrap_or_default(), here.name, !arrives);
        // what came after a migration that went well tells more than the migration
        let moved_on = counterpart
            .is_some_and(|(operation, later)| operation.is_done() && later.iter().any(tells_where));
        // hosts are compared by their clocks; what has no time is never later
        let newest = other.and_then(|other| other.newest);
        let is_outdated = operation.changed.is_some_and(|at| newest.is_some_and(|newest| newest > at));
        match (operation.is_done(), counterpart) {
            (true, _) if arrives => Passage::Arrived,
            (false, _) => Passage::FailedHere(host.filter(|_| !moved_on && !is_outdated)),
            (true, Some(_))
                if later.iter().any(|operation| matches!(operation.name.as_str(), "start" | "stop")) =>
            {
                Passage::Over
            }
            (true, Some((from, _))) if from.is_done() => Passage::Left,
            (true, Some((from, later))) => {
                let went_on = later.iter().any(tells_where);
                if from.is_pending() && !went_on && is_online {
                    Passage::Sent(host)
                } else {
                    Passage::FailedThere(host.filter(|_| !went_on))
                }
            }
            (true, None) if is_online && !is_outdated => Passage::Sent(host),
            (true, None) if is_outdated && later.iter().any(|operation| operation.name != "monitor") => {
                Passage::Over
            }
            (true, None) => Passage::FailedThere(None),
        }
    }
}

/// The last live migration to or from a host, and what came after it.
fn counterpart<'o>(
    operations: &'o [KeptOperation],
    peer: &str,
    arrives: bool,
) -> Option<(&'o KeptOperation, &'o [KeptOperation])> {
    let name = if arrives { "migrate_from" } else { "migrate_to" };
    let at = operations.iter().rposition(|operation| operation.name == name && operation.peer == peer)?;
    Some((&operations[at], &operations[at + 1..]))
}

/// Whether an operation changes whether a resource runs, or looked whether it does.
fn tells_where(operation: &KeptOperation) -> bool {
    matches!(operation.name.as_str(), "start" | "stop") || operation.probes()
}

impl Reader<'_, '_> {
    /// What is known about a resource on the host of a name.
    pub(super) fn other_end<'o>(
        &self,
        resource: &str,
        traces: &'o [(HostIdx, Trace)],
        name: &str,
    ) -> Option<OtherEnd<'o>> {
        let host = *self.hosts.get(name)?;
        let nothing = Some([].as_slice());
        let (operations, newest) =
            match traces.iter().find(|(other, _)| *other == host).map(|(_, trace)| trace) {
                Some(Trace::Troubled(operations)) => {
                    let has_ended = operations.iter().any(|operation| !operation.is_pending());
                    let newest = operations
                        .iter()
                        .filter(|operation| operation.tells_most())
                        .filter_map(|operation| operation.changed)
                        .max();
                    (has_ended.then_some(operations.as_slice()), newest)
                }
                Some(Trace::Active(when) | Trace::Inactive(when)) => (nothing, *when),
                None => match self.idle.get(host.get()).and_then(|idle| idle.when(resource.as_bytes())) {
                    Some(when) => (nothing, when),
                    None => (None, None),
                },
            };
        Some(OtherEnd { host, online: self.set.host(host).state.online, operations, newest })
    }
}
