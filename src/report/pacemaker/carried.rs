//! Changes of a cluster, in words.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::pacemaker::cib::change::{CibChange, LocationPin};
use crate::pacemaker::pinning::{Foresight, NodeInRole, by_resource};

/// The location constraints that lead to a placement.
pub(crate) fn pins(pins: &[LocationPin]) -> Vec<String> {
    if pins.is_empty() {
        return vec![String::new(), "Pacemaker does that by itself: no constraints are needed.".to_owned()];
    }
    let mut lines =
        vec![String::new(), format!("Pacemaker comes there with {}:", counted(pins.len(), "constraint"))];
    lines.extend(pins.iter().map(|pin| {
        let [id, resource, node] = [&pin.id, &pin.resource, &pin.node].map(|name| shown_name(name));
        let role = if pin.promoted { " promoted" } else { "" };
        format!("  {id}: {resource}{role} on {node}")
    }));
    lines
}

/// A change, in a few words.
pub(crate) fn change(change: &CibChange) -> String {
    let words = change.to_string();
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}

/// The nodes on which a resource is promoted now and in the end.
struct PromotedNodes {
    resource: String,
    now: BTreeSet<String>,
    end: BTreeSet<String>,
}

/// The resources that are promoted now or in the end, in the order of their names.
fn promoted(outlook: &Foresight) -> Vec<PromotedNodes> {
    let (now, end) = (outlook.current(), outlook.expected().unwrap_or_else(|| outlook.first()));
    let (now, end) = (by_resource(&now), by_resource(&end));
    let nodes = |all: &BTreeMap<&str, BTreeSet<NodeInRole<'_>>>, name: &str| {
        let promoted = all.get(name).into_iter().flatten().filter(|there| there.promoted);
        promoted.map(|there| there.node.to_owned()).collect::<BTreeSet<String>>()
    };
    let of = |name: &&str| PromotedNodes {
        resource: (*name).to_owned(),
        now: nodes(&now, name),
        end: nodes(&end, name),
    };
    now.keys().map(of).filter(|one| !one.now.is_empty() || !one.end.is_empty()).collect()
}

/// Changes of roles until the cluster is at rest.
pub(crate) fn roles(outlook: &Foresight) -> Vec<String> {
    let listed = |nodes: &mut dyn Iterator<Item = &String>| {
        nodes.map(|node| shown_name(node).to_string()).collect::<Vec<_>>().join(", ")
    };
    let line = |one: &PromotedNodes| {
        let demoted = listed(&mut one.now.difference(&one.end));
        let promoted = listed(&mut one.end.difference(&one.now));
        let parts = [("demoted", demoted), ("promoted", promoted)].into_iter();
        let parts: Vec<String> = parts
            .filter(|(_, nodes)| !nodes.is_empty())
            .map(|(what, nodes)| format!("{what} on {nodes}"))
            .collect();
        (!parts.is_empty()).then(|| format!("{} is {}", shown_name(&one.resource), parts.join(" and ")))
    };
    promoted(outlook).iter().filter_map(line).collect()
}

/// The first resource of which fewer instances are promoted in the end than now.
pub(crate) fn loses_role(outlook: &Foresight) -> Option<String> {
    promoted(outlook).into_iter().find(|one| one.end.len() < one.now.len()).map(|one| one.resource)
}

/// Further changes that the cluster makes after the first transition.
pub(crate) fn later(outlook: &Foresight) -> Vec<String> {
    let Some(end) = outlook.expected() else {
        return vec!["Warning: the cluster never settles: it moves resources back and forth".to_owned()];
    };
    let first = outlook.first();
    let (before, after) = (by_resource(&first), by_resource(&end));
    let mut seen = BTreeSet::new();
    let names = first.iter().map(|place| place.resource.as_str()).filter(|name| seen.insert(*name));
    let none = BTreeSet::new();
    let of = |name: &str| (before.get(name).unwrap_or(&none), after.get(name).unwrap_or(&none));
    names.flat_map(|name| later_changes(name, of(name))).collect()
}

/// Further changes of a resource, of which the nodes before and after them are given.
fn later_changes(
    name: &str,
    (before, after): (&BTreeSet<NodeInRole<'_>>, &BTreeSet<NodeInRole<'_>>),
) -> Vec<String> {
    let shown = shown_name(name);
    if after.is_empty() && !before.is_empty() {
        return vec![format!("Once that is done, {shown} is stopped")];
    }
    let is_demoted = |there: &NodeInRole<'_>| before.contains(&NodeInRole { promoted: true, ..*there });
    let line = |there: &NodeInRole<'_>| {
        let what = match there.promoted {
            true => "is promoted on",
            false if is_demoted(there) => "is demoted on",
            false => "goes to",
        };
        format!("Once that is done, {shown} {what} {}", shown_name(there.node))
    };
    after.difference(before).map(line).collect()
}
