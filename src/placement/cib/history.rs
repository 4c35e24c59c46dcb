//! Where resources run: what their operations left on each host.

use std::collections::HashMap;

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

/// The traces on one host, by the id of the resource.
pub(super) fn traces<'a>(state: Node<'a, '_>) -> HashMap<&'a str, Trace> {
    let resources = child(state, "lrm").and_then(|lrm| child(lrm, "lrm_resources"));
    let resources = resources.into_iter().flat_map(|list| children(list, "lrm_resource"));
    resources.map(|resource| (id(resource), trace(resource))).collect()
}

/// What the operations of a resource come to, in the order of their calls.
fn trace(resource: Node<'_, '_>) -> Trace {
    let number = |op: &Node<'_, '_>, name| op.attribute(name).and_then(|text| text.parse::<i64>().ok());
    let mut operations: Vec<Node<'_, '_>> = children(resource, "lrm_rsc_op").collect();
    operations.sort_by_key(|op| number(op, "call-id").unwrap_or(-1));
    let mut active = false;
    let mut unclear = None;
    for op in operations {
        let status = number(&op, "op-status").unwrap_or(0);
        let code = number(&op, "rc-code").unwrap_or(-1);
        let recurring = number(&op, "interval").unwrap_or(0) > 0;
        match (op.attribute("operation").unwrap_or_default(), status, code) {
            // cancelled, and what tells nothing about where it runs
            (_, 1, _) | ("notify" | "meta-data" | "reload" | "reload-agent" | "cancel" | "delete", 0, 0) => {}
            (_, -1, _) => unclear = Some("a pending operation"),
            ("start", 0, 0) => active = true,
            ("monitor", 0, 0) if !recurring || expected(op) == Some(0) => active = true,
            ("monitor", 0, 7) if !recurring || expected(op) == Some(7) => active = false,
            ("stop", 0, 0) => active = false,
            ("migrate_to" | "migrate_from", _, _) => {
                active |= op.attribute("operation") == Some("migrate_from");
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

/// The exit code that an operation was meant to have: the third number of its key.
fn expected(op: Node<'_, '_>) -> Option<i64> {
    let key = op.attribute("transition-key")?;
    key.split(':').nth(2)?.parse().ok()
}
