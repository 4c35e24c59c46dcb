//! Resources and operations of histories, by the attributes of their elements.

use memchr::memmem;

use super::KeptOperation;
use super::idle::NameMark;

/// The attributes of a resource in a history: its id, its agent, since when it is locked to the host, and the VM of the
/// guest node that it connects to.
pub(in crate::cib) const RESOURCE: [&str; 6] = ["id", "class", "provider", "type", LOCK, "container"];

/// Attribute of a resource that is locked to the host, as that was shut down.
pub(in crate::cib) const LOCK: &str = "shutdown-lock";

/// A resource in a history: the values of its attributes; missing ones are empty.
#[derive(Debug, Clone, Copy)]
pub(in crate::cib) struct PastResource<'a>(pub(in crate::cib) [&'a [u8]; RESOURCE.len()]);

impl<'a> PastResource<'a> {
    pub(in crate::cib) fn id(&self) -> &'a [u8] {
        self.0[0]
    }

    /// Returns true for a fencing device.
    pub(in crate::cib) fn fences(&self) -> bool {
        self.0[1] == b"stonith"
    }

    /// The device that it is, if it fences hosts.
    pub(in crate::cib) fn fencing(&self) -> Option<PastDevice> {
        let bare = self.id().split(|byte| *byte == b':').next().unwrap_or_default();
        self.fences().then(|| PastDevice::of(bare, &self.agent()))
    }

    /// Returns true if it is locked to the host.
    pub(in crate::cib) fn is_locked(&self) -> bool {
        !self.0[4].is_empty()
    }

    pub(super) fn agent(&self) -> String {
        let parts = self.0[1..4].iter().filter(|part| !part.is_empty());
        parts.map(|part| String::from_utf8_lossy(part)).collect::<Vec<_>>().join(":")
    }

    pub(super) fn container(&self) -> String {
        String::from_utf8_lossy(self.0[5]).into_owned()
    }
}

/// A fencing device in a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::cib) struct PastDevice {
    /// Its name without the number of an instance.
    pub(in crate::cib) name: NameMark,
    /// Its agent then.
    agent: NameMark,
}

impl PastDevice {
    pub(in crate::cib) fn of(name: &[u8], agent: &str) -> PastDevice {
        PastDevice { name: NameMark::of(name), agent: NameMark::of(agent.as_bytes()) }
    }
}

/// Key by which the operations of a resource differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cib) struct OperationKey<'a> {
    pub(in crate::cib) name: &'a str,
    /// Interval at which it is repeated, in milliseconds; 0 if it is not.
    pub(in crate::cib) interval: u64,
}

/// The attributes of an operation that are read.
pub(in crate::cib) const OPERATION: [&str; 18] = [
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
    "operation_key",
    "on_node",
];

/// Status of an operation that has not ended, and all that there are.
const PENDING: i64 = -1;
const KNOWN_STATUS: std::ops::RangeInclusive<i64> = PENDING..=11;

/// An operation of a resource on a host: the values of its attributes; missing ones are empty.
#[derive(Debug, Clone, Copy)]
pub(in crate::cib) struct PastOperation<'a>(pub(in crate::cib) [&'a [u8]; OPERATION.len()]);

/// Value of an empty list of parameters that require a restart, as a missing list stands for all of them.
const NO_PARAMETER: &[u8] = b" ";
/// Name of the node of an operation on one without a name, as a missing name stands for the node of the history.
const NO_NODE: &[u8] = b" ";

impl<'a> PastOperation<'a> {
    /// The operation of an element with these values; `text` is that element.
    pub(in crate::cib) fn of(mut values: [&'a [u8]; OPERATION.len()], text: &[u8]) -> PastOperation<'a> {
        let is_there =
            |empty: [&str; 2]| empty.iter().any(|one| memmem::find(text, one.as_bytes()).is_some());
        let [.., digest, list, _, _, _, _, _, node] = &mut values;
        if !digest.is_empty() && list.is_empty() && is_there(["op-force-restart=\"\"", "op-force-restart=''"])
        {
            *list = NO_PARAMETER;
        }
        if node.is_empty() && is_there(["on_node=\"\"", "on_node=''"]) {
            *node = NO_NODE;
        }
        PastOperation(values)
    }
}

impl PastOperation<'_> {
    pub(super) fn name(&self) -> &[u8] {
        self.0[0]
    }

    pub(super) fn call(&self) -> i64 {
        number(self.0[1]).unwrap_or(-1)
    }

    /// Returns true if the node is known to have called an agent for it.
    pub(super) fn has_call(&self) -> bool {
        self.call() != -1
    }

    /// Returns true if the same coordinator requested it in an earlier transition than another operation.
    pub(super) fn was_asked_before(&self, other: &PastOperation<'_>) -> bool {
        let transition = |operation: &PastOperation<'_>| operation.key_part(1).and_then(number);
        let is_earlier = transition(self).zip(transition(other)).is_some_and(|(own, others)| own < others);
        is_earlier && self.key_part(3) == other.key_part(3)
    }

    /// Its status. Without one it tells nothing, as if it was cancelled; one that is no number means that it goes on.
    pub(super) fn status(&self) -> i64 {
        match self.0[2] {
            b"" => 1,
            status => number(status).unwrap_or(-1),
        }
    }

    /// Its exit code; a missing one is 0.
    pub(super) fn code(&self) -> i64 {
        match self.0[3] {
            b"" => 0,
            code => number(code).unwrap_or(-1),
        }
    }

    /// Name of the node that it was done on.
    pub(super) fn on_node(&self) -> &[u8] {
        self.0[17]
    }

    /// Returns true if Pacemaker does not write an operation so: with a status or an exit code that there is not,
    /// repeated although it is no monitor, or as a live migration without its two ends or its key.
    pub(super) fn is_garbled(&self) -> bool {
        let (status, code) = (number(self.0[2]), number(self.0[3]));
        let is_known = status.is_some_and(|status| KNOWN_STATUS.contains(&status))
            && code.is_some_and(|code| code >= 0 || status == Some(PENDING));
        let migrates = matches!(self.name(), b"migrate_to" | b"migrate_from");
        let has_ends = !migrates || !self.0[6].is_empty() && !self.0[8].is_empty();
        let has_key = !migrates || !self.0[5].is_empty();
        !is_known || !has_ends || !has_key || self.is_recurring() && self.name() != b"monitor"
    }

    pub(super) fn is_recurring(&self) -> bool {
        self.interval() > 0
    }

    /// Interval at which it is repeated, in milliseconds; 0 if it is not.
    pub(super) fn interval(&self) -> u64 {
        number(self.0[4]).and_then(|every| u64::try_from(every).ok()).unwrap_or(0)
    }

    /// Returns true for a start or a monitor that is kept as the last failure.
    pub(super) fn is_last_failure(&self) -> bool {
        self.0[14].ends_with(b"_last_failure_0") && matches!(self.name(), b"start" | b"monitor")
    }

    /// The expected exit code. An incomplete key tells none.
    pub(super) fn expected(&self) -> Option<i64> {
        let is_complete = [0, 1].iter().all(|at| self.key_number(*at).is_some())
            && self.key_part(3).is_some_and(|coordinator| !coordinator.is_empty());
        self.key_number(2).filter(|code| is_complete && *code >= 0)
    }

    fn key_number(&self, at: usize) -> Option<i64> {
        self.key_part(at).and_then(|part| number(part.trim_ascii_start()))
    }

    /// A part of its key: action, transition, expected exit code, coordinator.
    fn key_part(&self, at: usize) -> Option<&[u8]> {
        self.0[5].split(|byte| *byte == b':').nth(at)
    }

    /// Returns true if its result is 0, and that is what was expected.
    pub(super) fn is_success(&self) -> bool {
        let is_probe = self.name() == b"monitor" && !self.is_recurring();
        self.status() == 0 && self.code() == 0 && expects_success(self.expected(), is_probe)
    }

    pub(super) fn changed(&self) -> Option<i64> {
        number(self.0[7])
    }

    /// Name and interval in milliseconds of the configured operation that its key means, if the key is one of a resource.
    /// Elements without a key have it as their id.
    fn configured(&self, resource: &[u8]) -> Option<(String, u64)> {
        let key = if self.0[16].is_empty() { self.0[14] } else { self.0[16] };
        let rest = std::str::from_utf8(key.strip_prefix(resource)?.strip_prefix(b"_")?).ok()?;
        let (name, interval) = rest.rsplit_once('_')?;
        Some((name.to_owned(), interval.parse().ok()?))
    }

    /// Returns true if its key is one of another resource. An instance of a clone may have the key of another one.
    fn has_key_of_another(&self, resource: &[u8]) -> bool {
        let bare = resource.split(|byte| *byte == b':').next().unwrap_or_default();
        !self.0[16].is_empty() && !self.0[16].starts_with(bare)
    }

    /// All about it; `resource` is the id of its resource in the history.
    pub(super) fn keep(&self, resource: &[u8]) -> KeptOperation {
        let (own, peer) = if self.name() == b"migrate_from" { (6, 8) } else { (8, 6) };
        let text = |at: usize| String::from_utf8_lossy(self.0[at]).into_owned();
        KeptOperation {
            name: String::from_utf8_lossy(self.name()).into_owned(),
            interval: self.interval(),
            status: self.status(),
            code: self.code(),
            expected: self.expected(),
            own_end: text(own),
            peer: text(peer),
            changed: self.changed(),
            forgotten: false,
            garbled: self.is_garbled() || self.is_last_failure() && self.has_key_of_another(resource),
            configured: self.configured(resource),
        }
    }

    /// Returns true for a probe that did not find the resource, in the form of nearly all operations.
    pub(super) fn found_nothing(&self) -> bool {
        let [name, _, status, code, interval, ..] = self.0;
        name == b"monitor" && status == b"0" && code == b"7" && interval == b"0"
    }
}

/// Returns true if an operation of which this exit code is expected may end with 0. A probe may also find a resource that
/// nobody expected.
pub(super) fn expects_success(expected: Option<i64>, is_probe: bool) -> bool {
    expected == Some(0) || is_probe && expected == Some(7)
}

pub(super) fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
