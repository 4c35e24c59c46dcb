//! Checks of a cluster before a node counts as back.

use std::collections::BTreeSet;

use super::{CibBatch, FailureCount, MARK};
use crate::pinning::current;
use crate::rolling::{NodeHold, loss, standing};
use crate::score::AllocationScore;
use crate::working_set::WorkingSet;
use htools_model::shown::{printable, shown_name};

/// Prefix of the node attributes that count failures.
const FAILURES: &str = "fail-count-";

/// A node, as a look sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeSight {
    /// It is no member of the cluster.
    Away,
    /// It is a member, and was one since it got its mark.
    Same,
    /// It is a member without the mark.
    New,
}

/// Sight of a node; `mark` is the value of its mark.
pub(super) fn sight(set: &WorkingSet, node: &str, mark: &str) -> NodeSight {
    let Some(host) = set.hosts.iter().find(|host| host.name == node) else { return NodeSight::Away };
    let state = host.state;
    match host.attribute(MARK) == Some(mark) {
        _ if !state.online || state.joining || state.unclean || state.shutting_down => NodeSight::Away,
        true => NodeSight::Same,
        false => NodeSight::New,
    }
}

/// The failures that the attributes of nodes count.
pub(super) fn failures(set: &WorkingSet) -> Vec<FailureCount> {
    let mut all = Vec::new();
    for host in &set.hosts {
        for (attribute, value) in host.attributes.iter().filter(|(name, _)| name.starts_with(FAILURES)) {
            let count = i64::from(AllocationScore::parse(value).unwrap_or_default().get());
            let (node, attribute) = (host.name.clone(), attribute.clone());
            all.push(FailureCount { node, attribute, count });
        }
    }
    all
}

/// The tickets that the cluster has.
pub(super) fn tickets(set: &WorkingSet) -> Vec<String> {
    let allowed = set.tickets.states.iter().filter(|(_, state)| state.allows());
    allowed.map(|(name, _)| name.clone()).collect()
}

/// The reason why nodes of a batch do not count as back, if there is one.
pub(super) fn gate_problem(set: &WorkingSet, batch: &CibBatch, nodes: &[String]) -> Option<String> {
    for node in nodes {
        if let Err(why) = standing(set, node) {
            return Some(format!("{}: {why}", shown_name(node)));
        }
    }
    if set.without_quorum.is_some() {
        return Some("the cluster has no quorum".to_owned());
    }
    let has = tickets(set);
    if let Some(ticket) = batch.tickets.iter().find(|ticket| !has.contains(ticket)) {
        return Some(format!("the cluster has lost the ticket {}", shown_name(ticket)));
    }
    let is_new = |now: &&FailureCount| {
        let known = |was: &&FailureCount| was.node == now.node && was.attribute == now.attribute;
        now.count > batch.failures.iter().find(known).map_or(0, |was| was.count)
    };
    if let Some(failed) = failures(set).iter().find(is_new) {
        let what = failed.attribute.strip_prefix(FAILURES).unwrap_or(&failed.attribute);
        return Some(format!("{} failed on {}", printable(what, 100), shown_name(&failed.node)));
    }
    let down: BTreeSet<&str> = batch.nodes.iter().map(String::as_str).collect();
    loss_of(set, batch, &down)
}

/// The first resource that runs less than before a batch, in words.
pub(super) fn loss_of(set: &WorkingSet, batch: &CibBatch, down: &BTreeSet<&str>) -> Option<String> {
    loss(set, &batch.before, &current(set), down).map(|lost| match lost {
        NodeHold::Stops(resource) | NodeHold::Stays(resource) => {
            format!("{} does not run as before", shown_name(&resource))
        }
        NodeHold::Demotes(resource) => {
            format!("fewer instances of {} are promoted than before", shown_name(&resource))
        }
        other => other.to_string(),
    })
}
