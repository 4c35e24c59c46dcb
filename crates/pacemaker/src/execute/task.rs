//! Tasks of a run, and a check that the cluster is still as it was when they were planned.

use std::collections::BTreeSet;
use std::fmt;

use crate::cib::change::CibChange;
use crate::pinning::{ExpectedPlace, Foresight, NodeInRole, by_resource};
use htools_model::shown::{printable, shown_name};

/// Source of documents, for errors.
const SOURCE: &str = "the cluster";

/// A part of a run. Doing it again does no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CibTask<'a> {
    /// The configuration is changed.
    Make(&'a CibChange),
    /// The cluster is waited for.
    Await,
    /// The hosts of resources are compared with the expected ones.
    Compare,
}

/// The task in words, for people.
impl fmt::Display for CibTask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CibTask::Make(change) => change.fmt(f),
            CibTask::Await => f.write_str("wait until the cluster is at rest"),
            CibTask::Compare => f.write_str("compare where resources run with the plan"),
        }
    }
}

/// Reason why a change must not be made in the cluster of a document. Its resources may have moved since, or the change
/// may no longer lead to the expected result.
pub fn obstacle(
    change: &CibChange,
    was: &[ExpectedPlace],
    expected: &[ExpectedPlace],
    document: &str,
) -> Option<String> {
    let look = |text: &str| Foresight::of(text, SOURCE).map_err(|error| printable(&error.to_string(), 300));
    let found = || -> Result<Option<String>, String> {
        let now = look(document)?;
        if let Some(unsupported) = now.set.unsupported.first() {
            let (element, id) = (printable(&unsupported.element, 60), printable(&unsupported.id, 60));
            return Ok(Some(format!(
                "the cluster has an element with unknown effects: {element} '{id}': {}",
                unsupported.reason
            )));
        }
        if let Some(difference) = difference(was, &now.current()) {
            return Ok(Some(format!("the cluster has changed since this was planned: {difference}")));
        }
        let made = change.made_in(document, SOURCE).map_err(|error| error.to_string())?;
        Ok(match look(&made)?.expected() {
            None => Some("the cluster would not come to rest".to_owned()),
            Some(end) => difference(expected, &end).map(|difference| {
                format!("the cluster would no longer reach the planned state: {difference}")
            }),
        })
    };
    found().unwrap_or_else(Some)
}

/// Text about the first resource that is not where it should be, or not in its role.
pub fn difference(wanted: &[ExpectedPlace], found: &[ExpectedPlace]) -> Option<String> {
    let (wanted, found) = (by_resource(wanted), by_resource(found));
    let node = |there: &NodeInRole<'_>| {
        let role = if there.promoted { " (promoted)" } else { "" };
        format!("{}{role}", shown_name(there.node))
    };
    let shown = |nodes: &BTreeSet<NodeInRole<'_>>| {
        if nodes.is_empty() {
            "stopped".to_owned()
        } else {
            format!("on {}", nodes.iter().map(node).collect::<Vec<_>>().join(", "))
        }
    };
    for (resource, want) in &wanted {
        match found.get(resource) {
            None => return Some(format!("{} is gone", shown_name(resource))),
            Some(is) if is != want => {
                return Some(format!("{} is {}, not {}", shown_name(resource), shown(is), shown(want)));
            }
            Some(_) => {}
        }
    }
    let new = found.keys().find(|resource| !wanted.contains_key(*resource));
    new.map(|resource| format!("{} is new", shown_name(resource)))
}
