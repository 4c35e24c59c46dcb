//! Where resources run: what their operations left on each host.

use roxmltree::Node;

use super::document::{child, children, id};

/// What the operations of a resource on one host say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trace {
    /// It does not run there.
    Inactive,
    /// It runs there.
    Active,
    /// More than this says it: why it is outside, and whether it may run there.
    Unclear(&'static str, bool),
}

/// An operation of a resource on a host.
#[derive(Debug, Clone, Copy)]
pub(super) struct PastOperation<'a> {
    name: &'a str,
    call: i64,
    status: i64,
    code: i64,
    recurring: bool,
    key: &'a str,
}

impl<'a> PastOperation<'a> {
    /// The operation of which nothing is known yet.
    pub(super) const UNKNOWN: PastOperation<'static> =
        PastOperation { name: "", call: -1, status: 0, code: -1, recurring: false, key: "" };

    /// Takes an attribute of its element into account.
    pub(super) fn note(&mut self, attribute: &str, value: &'a str) {
        let number = || value.parse().ok();
        match attribute {
            "operation" => self.name = value,
            "call-id" => self.call = number().unwrap_or(-1),
            "op-status" => self.status = number().unwrap_or(0),
            "rc-code" => self.code = number().unwrap_or(-1),
            "interval" => self.recurring = number().unwrap_or(0) > 0,
            "transition-key" => self.key = value,
            _ => {}
        }
    }

    /// The exit code that it was meant to have: the third number of its key.
    fn expected(&self) -> Option<i64> {
        self.key.split(':').nth(2)?.parse().ok()
    }
}

/// What is said about each resource on one host, in the order of the document.
pub(super) fn traces<'a>(state: Node<'a, '_>) -> Vec<(&'a str, Trace)> {
    let resources = list(state).into_iter().flat_map(|list| children(list, "lrm_resource"));
    let operation = |node: Node<'a, '_>| {
        let mut operation = PastOperation::UNKNOWN;
        let plain = node.attributes().filter(|attribute| attribute.namespace().is_none());
        plain.for_each(|attribute| operation.note(attribute.name(), attribute.value()));
        operation
    };
    let trace = |resource| {
        let mut operations: Vec<PastOperation> = children(resource, "lrm_rsc_op").map(operation).collect();
        (id(resource), trace(&mut operations))
    };
    resources.map(trace).collect()
}

/// The element of a host's history.
pub(super) fn list<'a, 'i>(state: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
    child(state, "lrm").and_then(|lrm| child(lrm, "lrm_resources"))
}

/// What the operations of a resource come to, in the order of their calls.
pub(super) fn trace(operations: &mut [PastOperation<'_>]) -> Trace {
    operations.sort_by_key(|operation| operation.call);
    let mut active = false;
    let mut unclear = None;
    for of in operations {
        match (of.name, of.status, of.code) {
            // cancelled, and what tells nothing about where it runs
            (_, 1, _) | ("notify" | "meta-data" | "reload" | "reload-agent" | "cancel" | "delete", 0, 0) => {}
            (_, -1, _) => unclear = Some("a pending operation"),
            ("start", 0, 0) => active = true,
            ("monitor", 0, 0) if !of.recurring || of.expected() == Some(0) => active = true,
            ("monitor", 0, 7) if !of.recurring || of.expected() == Some(7) => active = false,
            ("stop", 0, 0) => active = false,
            ("migrate_to" | "migrate_from", _, _) => {
                active |= of.name == "migrate_from";
                unclear = Some("a migration in its history");
            }
            _ => unclear = Some("a failed operation"),
        }
    }
    match (unclear, active) {
        (Some(reason), active) => Trace::Unclear(reason, active),
        (None, true) => Trace::Active,
        (None, false) => Trace::Inactive,
    }
}
