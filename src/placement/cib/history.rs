//! Where resources run: what their operations left on each host.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use roxmltree::Node;

use super::document::{child, children, id};
use super::feature_set::FeatureSet;

/// What the operations of a resource on one host say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trace {
    /// It does not run there; when that changed or was found last, in seconds since 1970, if that is known.
    Inactive(Option<i64>),
    /// It runs there; since when, if that is known.
    Active(Option<i64>),
    /// Not all went well, or has ended: the operations in the order of their calls.
    Troubled(Vec<KeptOperation>),
}

/// An operation that is kept, as more is needed to tell what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeptOperation {
    pub(super) name: String,
    /// How often it is repeated, in milliseconds; 0: it is not.
    pub(super) interval: u64,
    pub(super) status: i64,
    pub(super) code: i64,
    pub(super) expected: Option<i64>,
    /// The name of the host at the other end of a live migration.
    pub(super) peer: String,
    /// When its result changed last, in seconds since 1970.
    pub(super) changed: Option<i64>,
    /// Whether its failure is forgotten.
    pub(super) forgotten: bool,
}

impl KeptOperation {
    /// Whether it only looked for the resource.
    pub(super) fn probes(&self) -> bool {
        self.name == "monitor" && self.interval == 0
    }

    /// Whether it came to its end, so that its code tells how.
    pub(super) fn is_judged(&self) -> bool {
        matches!(self.status, 0 | 4)
    }

    /// Whether it has not ended.
    pub(super) fn is_pending(&self) -> bool {
        self.status == -1
    }

    /// Whether it came to what was meant.
    pub(super) fn is_done(&self) -> bool {
        self.is_judged() && self.code == 0
    }

    /// Whether it changes whether the resource runs, or found that it does not.
    pub(super) fn tells_most(&self) -> bool {
        tells_most(self.name.as_bytes(), self.code)
    }

    /// Whether it came to something else than was meant, or to nothing yet.
    pub(super) fn has_failed(&self) -> bool {
        let is_absent = self.code == 7 && (self.probes() || self.expected == Some(7));
        self.status != 1 && !matches!(self.code, 0 | 8 | 9 | 190 | 191) && !is_absent
    }

    /// Whether it is a stop that failed in a way that leaves nothing to be done here but by a person.
    pub(super) fn cannot_be_stopped(&self) -> bool {
        self.name == "stop" && self.is_judged() && self.is_hard()
    }

    /// Whether it never came to the agent, as that is not installed.
    pub(super) fn lacks_agent(&self) -> bool {
        self.status == 7
    }

    /// Whether the agent, not the attempt, is at fault: trying again here makes no sense.
    pub(super) fn is_hard(&self) -> bool {
        let starts_or_stops =
            self.probes() || matches!(self.name.as_str(), "start" | "stop" | "migrate_to" | "migrate_from");
        self.status == 5
            || self.lacks_agent()
            || self.is_judged() && (matches!(self.code, 2 | 4 | 5) || self.code == 3 && starts_or_stops)
    }
}

/// What a host knows about a resource on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResourceHistory {
    /// What its operations say.
    pub(super) trace: Trace,
    /// When it ran there last, in seconds since 1970, 0 if that is not known; none: it never did.
    pub(super) ran: Option<i64>,
    /// Class, provider and type of what was started, as in [`Resource`](super::super::working_set::Resource), unless it does not
    /// run there.
    pub(super) agent: String,
    /// What was noted of its parameters by the operations since it came to this host.
    pub(super) noted: Vec<NotedParameters>,
    /// What was noted by starts and monitors that are kept as the last failure.
    pub(super) noted_at_failure: Vec<NotedParameters>,
}

impl ResourceHistory {
    /// What the operations of a resource come to, in the order of their calls.
    pub(super) fn of(past: &PastResource<'_>, operations: &mut [PastOperation<'_>]) -> ResourceHistory {
        let trace = trace(operations);
        let ran = ran(operations);
        match trace {
            // of these there are most
            Trace::Inactive(_) => ResourceHistory {
                trace,
                ran,
                agent: String::new(),
                noted: Vec::new(),
                noted_at_failure: Vec::new(),
            },
            trace => {
                let note = |of| NotedParameters::of(of, past.fences());
                let is_failure = |of: &&PastOperation<'_>| of.is_last_failure();
                ResourceHistory {
                    trace,
                    ran,
                    agent: past.agent(),
                    noted: since_it_came(operations).map(note).collect(),
                    noted_at_failure: operations.iter().filter(is_failure).map(note).collect(),
                }
            }
        }
    }
}

/// What an operation noted of the parameters that it was given: check sums, empty ones where there are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotedParameters {
    /// The name of the operation.
    pub(super) operation: String,
    /// How often it is repeated, in milliseconds; 0: it is not.
    pub(super) interval: u64,
    /// Whether what only the cluster reads of a fence device is left out, as older releases did.
    pub(super) without_fencing: bool,
    /// Of all parameters.
    pub(super) all: String,
    /// Of those for which the agent has to be restarted, which are named with blanks around them.
    pub(super) restart: String,
    pub(super) restarting: String,
    /// Of those that are no secrets; the secrets are named.
    pub(super) open: String,
    pub(super) secret: String,
}

impl NotedParameters {
    /// The name of the operation, and its interval in milliseconds.
    pub(super) fn operation(&self) -> (&str, u64) {
        (&self.operation, self.interval)
    }

    fn of(operation: &PastOperation<'_>, fences: bool) -> NotedParameters {
        let text = |at: usize| String::from_utf8_lossy(operation.0[at]).into_owned();
        let features = text(15);
        let is_older = FeatureSet::of(&features) < FeatureSet::NOTES_FENCING_PARAMETERS;
        NotedParameters {
            operation: text(0),
            interval: operation.interval(),
            without_fencing: fences && !features.is_empty() && is_older,
            all: text(9),
            restart: text(10),
            restarting: text(11),
            open: text(12),
            secret: text(13),
        }
    }
}

/// Of operations in the order of their calls, those that started a resource, brought it here or found it, since it was started or
/// brought here last.
fn since_it_came<'o, 'a>(operations: &'o [PastOperation<'a>]) -> impl Iterator<Item = &'o PastOperation<'a>> {
    let came = |of: &PastOperation<'_>| matches!(of.name(), b"start" | b"migrate_from");
    let first = operations.iter().rposition(|of| came(of) || of.name() == b"stop").unwrap_or(0);
    operations[first..].iter().filter(move |of| came(of) || of.name() == b"monitor" && !of.is_recurring())
}

/// The attributes of a resource in a history: its id, and what its agent was.
pub(super) const RESOURCE: [&str; 4] = ["id", "class", "provider", "type"];

/// A resource in a history: the values of its attributes, empty ones where it has none.
#[derive(Debug, Clone, Copy)]
pub(super) struct PastResource<'a>(pub(super) [&'a [u8]; RESOURCE.len()]);

impl<'a> PastResource<'a> {
    pub(super) fn id(&self) -> &'a [u8] {
        self.0[0]
    }

    /// Whether it is a device that fences hosts.
    pub(super) fn fences(&self) -> bool {
        self.0[1] == b"stonith"
    }

    fn agent(&self) -> String {
        let parts = self.0[1..].iter().filter(|part| !part.is_empty());
        parts.map(|part| String::from_utf8_lossy(part)).collect::<Vec<_>>().join(":")
    }
}

/// The attributes of an operation that tell what it left.
pub(super) const OPERATION: [&str; 16] = [
    "operation",
    "call-id",
    "op-status",
    "rc-code",
    "interval",
    "transition-key",
    "migrate_target",
    "last-rc-change",
    "migrate_source",
    "op-digest",
    "op-restart-digest",
    "op-force-restart",
    "op-secure-digest",
    "op-secure-params",
    "id",
    "crm_feature_set",
];

/// An operation of a resource on a host: the values of its attributes, empty ones where it has none.
#[derive(Debug, Clone, Copy)]
pub(super) struct PastOperation<'a>(pub(super) [&'a [u8]; OPERATION.len()]);

impl PastOperation<'_> {
    fn name(&self) -> &[u8] {
        self.0[0]
    }

    fn call(&self) -> i64 {
        number(self.0[1]).unwrap_or(-1)
    }

    /// Whether the node's agent was called for it, as far as is known.
    fn has_call(&self) -> bool {
        self.call() != -1
    }

    /// Whether the same coordinator asked for it in an earlier transition than for another operation.
    fn was_asked_before(&self, other: &PastOperation<'_>) -> bool {
        let transition = |of: &PastOperation<'_>| of.key_part(1).and_then(number);
        let is_earlier = transition(self).zip(transition(other)).is_some_and(|(own, others)| own < others);
        is_earlier && self.key_part(3) == other.key_part(3)
    }

    fn status(&self) -> i64 {
        number(self.0[2]).unwrap_or(0)
    }

    fn code(&self) -> i64 {
        number(self.0[3]).unwrap_or(-1)
    }

    fn is_recurring(&self) -> bool {
        self.interval() > 0
    }

    /// How often it is repeated, in milliseconds; 0: it is not.
    fn interval(&self) -> u64 {
        number(self.0[4]).and_then(|every| u64::try_from(every).ok()).unwrap_or(0)
    }

    /// Whether it is a start or a monitor that is kept as the last failure.
    fn is_last_failure(&self) -> bool {
        self.0[14].ends_with(b"_last_failure_0") && matches!(self.name(), b"start" | b"monitor")
    }

    /// The exit code that it was meant to have.
    fn expected(&self) -> Option<i64> {
        self.key_part(2).and_then(number)
    }

    /// A part of its key: action, transition, expected exit code, coordinator.
    fn key_part(&self, at: usize) -> Option<&[u8]> {
        self.0[5].split(|byte| *byte == b':').nth(at)
    }

    fn changed(&self) -> Option<i64> {
        number(self.0[7])
    }

    fn keep(&self) -> KeptOperation {
        let peer = self.0[if self.name() == b"migrate_from" { 8 } else { 6 }];
        KeptOperation {
            name: String::from_utf8_lossy(self.name()).into_owned(),
            interval: self.interval(),
            status: self.status(),
            code: self.code(),
            expected: self.expected(),
            peer: String::from_utf8_lossy(peer).into_owned(),
            changed: self.changed(),
            forgotten: false,
        }
    }

    /// Whether it looked for the resource and did not find it, in the words of nearly all operations.
    fn found_nothing(&self) -> bool {
        let [name, _, status, code, interval, ..] = self.0;
        name == b"monitor" && status == b"0" && code == b"7" && interval == b"0"
    }
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether an operation changes whether a resource runs, or found that it does not.
fn tells_most(name: &[u8], code: i64) -> bool {
    match name {
        b"monitor" => code == 7,
        _ => matches!(name, b"start" | b"stop" | b"migrate_to" | b"migrate_from" | b"promote" | b"demote"),
    }
}

/// When a resource ran last where operations, in the order of their calls, are known; see [`ResourceHistory::ran`]. What was stopped after
/// it had failed to start did not run.
fn ran(operations: &[PastOperation<'_>]) -> Option<i64> {
    let (mut last, mut has_started) = (None, true);
    for of in operations {
        let is_done = (of.status(), of.code()) == (0, 0);
        let runs = match of.name() {
            b"start" => {
                has_started = is_done;
                is_done
            }
            b"stop" => has_started,
            b"migrate_to" | b"promote" | b"demote" => true,
            b"monitor" => is_done || of.is_recurring(),
            b"migrate_from" => is_done,
            _ => false,
        };
        last = last.max(runs.then(|| of.changed().unwrap_or(0)));
    }
    last
}

/// What is known not to run on a host.
#[derive(Debug, Clone, Default)]
pub(super) struct IdleMarks {
    /// By when that changed or was found last. Much of it was at the same time.
    by_time: BTreeMap<Option<i64>, Vec<NameMark>>,
    /// What has run there, and [when](ResourceHistory::ran).
    ran: Vec<(NameMark, i64)>,
}

impl IdleMarks {
    pub(super) fn add(&mut self, name: &[u8], when: Option<i64>, ran: Option<i64>) {
        let mark = NameMark::of(name);
        self.by_time.entry(when).or_default().push(mark);
        self.ran.extend(ran.map(|ran| (mark, ran)));
    }

    pub(super) fn append(&mut self, mut other: IdleMarks) {
        for (when, mut marks) in other.by_time {
            self.by_time.entry(when).or_default().append(&mut marks);
        }
        self.ran.append(&mut other.ran);
    }

    /// What has run there, and [when](ResourceHistory::ran).
    pub(super) fn ran(&self) -> impl Iterator<Item = (NameMark, i64)> + '_ {
        self.ran.iter().copied()
    }

    /// What all of them are known by.
    pub(super) fn names(&self) -> HashSet<NameMark> {
        self.by_time.values().flatten().copied().collect()
    }

    /// When a resource was last known not to run, if it is one of these.
    pub(super) fn when(&self, name: &[u8]) -> Option<Option<i64>> {
        let mark = NameMark::of(name);
        self.by_time.iter().find(|(_, marks)| marks.contains(&mark)).map(|(when, _)| *when)
    }
}

/// What a name is known by where there are too many to keep them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct NameMark(u64);

impl NameMark {
    pub(super) fn of(name: &[u8]) -> NameMark {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        NameMark(hasher.finish())
    }
}

/// What is said about each resource on one host of which operations are known, in the order of the document; whether one of them
/// fences hosts.
pub(super) fn histories<'a>(state: Node<'a, '_>) -> (Vec<(&'a str, ResourceHistory)>, bool) {
    let resources = list(state).into_iter().flat_map(|list| children(list, "lrm_resource"));
    let operation = |node: Node<'a, '_>| {
        PastOperation(OPERATION.map(|name| node.attribute(name).unwrap_or_default().as_bytes()))
    };
    let mut fences = false;
    let history = |resource: Node<'a, '_>| {
        let mut operations: Vec<PastOperation> = children(resource, "lrm_rsc_op").map(operation).collect();
        let past = PastResource(RESOURCE.map(|name| resource.attribute(name).unwrap_or_default().as_bytes()));
        fences |= past.fences() && !operations.is_empty();
        (!operations.is_empty()).then(|| (id(resource), ResourceHistory::of(&past, &mut operations)))
    };
    (resources.filter_map(history).collect(), fences)
}

/// The element of a host's history.
pub(super) fn list<'a, 'i>(state: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
    child(state, "lrm").and_then(|lrm| child(lrm, "lrm_resources"))
}

/// Sorts operations by when they were: by their calls; of the same call, by when their results changed, where all tell it, and
/// otherwise, as Pacemaker has it, the later in the document is the earlier. What has no call yet is last, unless what ended last was
/// asked for after it.
fn sort_by_time(operations: &mut [PastOperation<'_>]) {
    operations.reverse();
    operations.sort_by_key(|of| (!of.has_call(), of.call()));
    let ended = operations.partition_point(PastOperation::has_call);
    for same in operations[..ended].chunk_by_mut(|one, other| one.call() == other.call()) {
        if same.len() > 1 && same.iter().all(|of| of.changed().is_some()) {
            same.sort_by_key(PastOperation::changed);
        }
    }
    if let Some(last) = operations[..ended].last().copied() {
        operations.sort_by_key(|of| of.has_call() || !of.was_asked_before(&last));
    }
}

/// All that is known of operations, as more is needed to tell what they came to.
fn troubled(operations: &[PastOperation<'_>]) -> Trace {
    Trace::Troubled(operations.iter().map(PastOperation::keep).collect())
}

/// What the operations of a resource come to, in the order of their calls.
fn trace(operations: &mut [PastOperation<'_>]) -> Trace {
    if let [only] = operations
        && only.found_nothing()
        && !only.is_last_failure()
    {
        return Trace::Inactive(only.changed());
    }
    sort_by_time(operations);
    let (mut active, mut newest) = (false, None);
    for of in operations.iter() {
        if tells_most(of.name(), of.code()) {
            newest = newest.max(of.changed());
        }
        match (of.name(), of.status(), of.code()) {
            // whatever it came to, it may be forgotten
            _ if of.is_last_failure() => return troubled(operations),
            // cancelled, and what tells nothing about where it runs
            (_, 1, _)
            | (b"notify" | b"meta-data" | b"reload" | b"reload-agent" | b"cancel" | b"delete", 0, 0) => {}
            (b"start", 0, 0) => active = true,
            (b"monitor", 0, 0) if !of.is_recurring() || of.expected() == Some(0) => active = true,
            (b"monitor", 0, 7) if !of.is_recurring() || of.expected() == Some(7) => active = false,
            (b"stop", 0, 0) => active = false,
            _ => return troubled(operations),
        }
    }
    if active { Trace::Active(newest) } else { Trace::Inactive(newest) }
}
