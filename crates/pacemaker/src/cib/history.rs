//! Histories of resources: results of their operations on each host.

mod idle;
mod noted;
mod past;

use roxmltree::Node;

pub(super) use self::idle::{IdleMarks, NameMark};
pub(super) use self::noted::NotedParameters;
use self::past::expects_success;
pub(super) use self::past::{
    LOCK, OPERATION, OperationKey, PastDevice, PastOperation, PastResource, RESOURCE,
};
use super::document::{child, children, id};
use noted::since_it_came;

/// Outcome of the operations of a resource on one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RecordedState {
    /// It does not run there. Time of the last change or check, in seconds since 1970, if known.
    Inactive(Option<i64>),
    /// It runs there. Time of the last change, in seconds since 1970, if known.
    Active(Option<i64>),
    /// Some operations have failed or not ended: all of them, in the order of their calls.
    Unsettled(Vec<KeptOperation>),
}

/// An operation that is kept, as its meaning depends on others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeptOperation {
    pub(super) name: String,
    /// Interval at which it is repeated, in milliseconds; 0 if it is not.
    pub(super) interval: u64,
    pub(super) status: i64,
    pub(super) code: i64,
    pub(super) expected: Option<i64>,
    /// The names of the hosts at this end of a live migration, and at the other.
    pub(super) own_end: String,
    pub(super) peer: String,
    /// Time when its result changed last, in seconds since 1970.
    pub(super) changed: Option<i64>,
    /// True if its failure is forgotten.
    pub(super) forgotten: bool,
    /// True if Pacemaker does not write operations so.
    pub(super) garbled: bool,
    /// Name and interval of the configured operation that it stands for.
    configured: Option<(String, u64)>,
}

impl KeptOperation {
    pub(super) fn key(&self) -> OperationKey<'_> {
        OperationKey { name: &self.name, interval: self.interval }
    }

    /// Key of the configured operation that it stands for, if its own key names one.
    pub(super) fn configured(&self) -> Option<OperationKey<'_>> {
        self.configured.as_ref().map(|(name, interval)| OperationKey { name, interval: *interval })
    }

    /// Key of the operation that it is by its own words.
    pub(super) fn named(&self) -> OperationKey<'_> {
        self.configured().unwrap_or_else(|| self.key())
    }

    /// Returns true for a probe.
    pub(super) fn probes(&self) -> bool {
        self.name == "monitor" && self.interval == 0
    }

    /// Returns true if it has ended, so that its exit code is valid.
    pub(super) fn is_judged(&self) -> bool {
        matches!(self.status, 0 | 4)
    }

    /// Returns true if it has not ended.
    pub(super) fn is_pending(&self) -> bool {
        self.status == -1
    }

    /// Returns true if it succeeded, as was expected.
    pub(super) fn is_done(&self) -> bool {
        self.is_judged() && self.code == 0 && expects_success(self.expected, self.probes())
    }

    /// Returns true if it changes whether the resource runs, or found that it does not.
    pub(super) fn tells_most(&self) -> bool {
        tells_most(self.name.as_bytes(), self.code)
    }

    /// Returns true if its result is not the intended one, or is still missing.
    pub(super) fn has_failed(&self) -> bool {
        let is_absent = self.code == 7 && (self.probes() || self.expected == Some(7));
        self.status != 1 && !matches!(self.code, 0 | 8 | 9 | 190 | 191) && !is_absent
    }

    /// Returns true for a stop that failed in such a way that only an administrator can help here.
    pub(super) fn cannot_be_stopped(&self) -> bool {
        self.name == "stop" && self.is_judged() && self.is_hard()
    }

    /// Returns true if its agent is not installed.
    pub(super) fn lacks_agent(&self) -> bool {
        self.status == 7
    }

    /// Returns true if the agent, not the attempt, is at fault, so that a retry on this host makes no sense.
    pub(super) fn is_hard(&self) -> bool {
        let starts_or_stops =
            self.probes() || matches!(self.name.as_str(), "start" | "stop" | "migrate_to" | "migrate_from");
        self.status == 5
            || self.lacks_agent()
            || self.is_judged() && (matches!(self.code, 2 | 4 | 5) || self.code == 3 && starts_or_stops)
    }
}

/// History of a resource on one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResourceHistory {
    /// Outcome of its operations.
    pub(super) recorded_state: RecordedState,
    /// Time when it ran there last, in seconds since 1970; 0 if unknown, `None` if it never did.
    pub(super) ran: Option<i64>,
    /// Class, provider and type of the started agent, as in [`Resource`](super::super::working_set::Resource); empty if
    /// it does not run there.
    pub(super) agent: String,
    /// The VM of the guest node that it connects to; empty for all other resources.
    pub(super) container: String,
    /// Names of the hosts that its operations name as theirs; empty if it does not run there.
    pub(super) on_nodes: Vec<String>,
    /// Parameters recorded by operations since it came to this host.
    pub(super) noted: Vec<NotedParameters>,
    /// Parameters recorded by the starts and monitors that are kept as the last failure.
    pub(super) noted_at_failure: Vec<NotedParameters>,
    /// True if it was demoted or found running since it was last started or promoted there.
    pub(super) unpromoted: bool,
}

impl ResourceHistory {
    /// History by the operations of a resource, which are sorted by time.
    pub(super) fn of(past: &PastResource<'_>, operations: &mut [PastOperation<'_>]) -> ResourceHistory {
        let recorded_state = recorded_state(past.id(), operations);
        let ran = ran(operations);
        match recorded_state {
            // Most histories are of this kind.
            RecordedState::Inactive(_) => ResourceHistory {
                recorded_state,
                ran,
                agent: String::new(),
                container: String::new(),
                on_nodes: Vec::new(),
                noted: Vec::new(),
                noted_at_failure: Vec::new(),
                unpromoted: false,
            },
            recorded_state => {
                let note = |operation| NotedParameters::of(operation, past.fences());
                let is_failure = |operation: &&PastOperation<'_>| operation.is_last_failure();
                ResourceHistory {
                    recorded_state,
                    ran,
                    agent: past.agent(),
                    container: past.container(),
                    on_nodes: on_nodes(operations),
                    noted: since_it_came(operations).map(note).collect(),
                    noted_at_failure: operations.iter().filter(is_failure).map(note).collect(),
                    unpromoted: is_unpromoted(operations),
                }
            }
        }
    }
}

/// The different names of hosts in the operations of a resource.
fn on_nodes(operations: &[PastOperation<'_>]) -> Vec<String> {
    let mut names: Vec<&[u8]> = operations.iter().map(PastOperation::on_node).collect();
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// Returns true for operations that change whether a resource runs, or found that it does not.
fn tells_most(name: &[u8], code: i64) -> bool {
    match name {
        b"monitor" => code == 7,
        _ => matches!(name, b"start" | b"stop" | b"migrate_to" | b"migrate_from" | b"promote" | b"demote"),
    }
}

/// Returns true if the operations of a resource, which are sorted by time, tell that it is in the unpromoted role: a
/// demotion, or a monitor that found it running without a start.
fn is_unpromoted(operations: &[PastOperation<'_>]) -> bool {
    let (mut runs, mut unpromoted) = (false, false);
    for operation in operations {
        (runs, unpromoted) = match (operation.name(), operation.code()) {
            (b"demote", _) => (true, true),
            (b"start" | b"promote", 0) => (true, false),
            (b"stop", 0) | (b"monitor", 7) => (false, false),
            (b"monitor", 0) if !runs => (true, true),
            _ => (runs, unpromoted),
        };
    }
    unpromoted
}

/// Time when a resource ran last, by its operations in the order of their calls; see [`ResourceHistory::ran`]. If a
/// start failed, the stop after it does not count.
fn ran(operations: &[PastOperation<'_>]) -> Option<i64> {
    let (mut last, mut has_started) = (None, true);
    for operation in operations {
        let is_done = (operation.status(), operation.code()) == (0, 0);
        let runs = match operation.name() {
            b"start" => {
                has_started = is_done;
                is_done
            }
            b"stop" => has_started,
            b"migrate_to" | b"promote" | b"demote" => true,
            b"monitor" => is_done || operation.is_recurring(),
            b"migrate_from" => is_done,
            _ => false,
        };
        last = last.max(runs.then(|| operation.changed().unwrap_or(0)));
    }
    last
}

/// Histories of the resources with operations on one host, in the order of the document. The second value holds those of
/// these resources that fence hosts.
pub(super) fn histories<'a>(state: Node<'a, '_>) -> (Vec<(&'a str, ResourceHistory)>, Vec<PastDevice>) {
    let resources = list(state).into_iter().flat_map(|list| children(list, "lrm_resource"));
    let mut fencing = Vec::new();
    let history = |resource: Node<'a, '_>| {
        let (history, fences) = history(resource)?;
        fencing.extend(fences);
        Some((id(resource), history))
    };
    let histories = resources.filter_map(history).collect();
    (histories, fencing)
}

/// Histories of the resources of one type of agent on one host.
pub(super) fn histories_of<'a>(state: Node<'a, '_>, kind: &str) -> Vec<(&'a str, ResourceHistory)> {
    let resources = list(state).into_iter().flat_map(|list| children(list, "lrm_resource"));
    let is_of_kind = |resource: &Node<'_, '_>| {
        resource.attribute("type").is_some_and(|other| other.eq_ignore_ascii_case(kind))
    };
    resources.filter(is_of_kind).filter_map(|resource| Some((id(resource), history(resource)?.0))).collect()
}

/// History of a resource, unless it has no operations, and the device that it is if it fences hosts.
fn history<'a>(resource: Node<'a, '_>) -> Option<(ResourceHistory, Option<PastDevice>)> {
    let operation = |node: Node<'a, '_>| {
        let values = OPERATION.map(|name| node.attribute(name).unwrap_or_default().as_bytes());
        PastOperation::of(values, node.document().input_text()[node.range()].as_bytes())
    };
    let mut operations: Vec<PastOperation> = children(resource, "lrm_rsc_op").map(operation).collect();
    let past = PastResource(RESOURCE.map(|name| resource.attribute(name).unwrap_or_default().as_bytes()));
    let fencing = past.fencing().filter(|_| !operations.is_empty());
    (!operations.is_empty()).then(|| (ResourceHistory::of(&past, &mut operations), fencing))
}

/// The element with the history of a host.
pub(super) fn list<'a, 'i>(state: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
    child(state, "lrm").and_then(|lrm| child(lrm, "lrm_resources"))
}

/// Sorts operations by time. Their calls decide. Within one call, the times of their results decide if all are known.
/// Otherwise, the later one in the document is the earlier, as in Pacemaker. Operations without a call are last, unless
/// they were requested before the last one that ended.
fn sort_by_time(operations: &mut [PastOperation<'_>]) {
    operations.reverse();
    operations.sort_by_key(|operation| (!operation.has_call(), operation.call()));
    let ended = operations.partition_point(PastOperation::has_call);
    for same in operations[..ended].chunk_by_mut(|one, other| one.call() == other.call()) {
        if same.len() > 1 && same.iter().all(|operation| operation.changed().is_some()) {
            same.sort_by_key(PastOperation::changed);
        }
    }
    if let Some(last) = operations[..ended].last().copied() {
        operations.sort_by_key(|operation| operation.has_call() || !operation.was_asked_before(&last));
    }
}

/// Keeps all operations, as their meaning depends on more.
fn unsettled(resource: &[u8], operations: &[PastOperation<'_>]) -> RecordedState {
    RecordedState::Unsettled(operations.iter().map(|operation| operation.keep(resource)).collect())
}

/// Outcome of the operations of a resource, which are sorted by time.
fn recorded_state(resource: &[u8], operations: &mut [PastOperation<'_>]) -> RecordedState {
    if let [only] = operations
        && only.found_nothing()
        && !only.is_last_failure()
    {
        return RecordedState::Inactive(only.changed());
    }
    sort_by_time(operations);
    let (mut active, mut newest) = (false, None);
    for operation in operations.iter() {
        if tells_most(operation.name(), operation.code()) {
            newest = newest.max(operation.changed());
        }
        match (operation.name(), operation.status(), operation.code()) {
            // Whatever its result, it may be forgotten.
            _ if operation.is_last_failure() || operation.is_garbled() => {
                return unsettled(resource, operations);
            }
            // Cancelled operations and those below do not tell where it runs.
            (_, 1, _)
            | (b"notify" | b"meta-data" | b"reload" | b"reload-agent" | b"cancel" | b"delete", 0, 0) => {}
            (b"start" | b"monitor", 0, 0) if operation.is_success() => active = true,
            (b"monitor", 0, 7) if !operation.is_recurring() || operation.expected() == Some(7) => {
                active = false
            }
            (b"stop", 0, 0) if operation.is_success() => active = false,
            _ => return unsettled(resource, operations),
        }
    }
    if active { RecordedState::Active(newest) } else { RecordedState::Inactive(newest) }
}
