//! Candidates for going online or offline, and their order.

use super::standby::{SizeSource, sized};
use super::{Hindrance, Reach, SqueezeOptions, Standby};
use htools_model::known_tags::{STANDBY, STANDBY_AUTO};
use htools_model::standby::standby_tags;
use htools_model::{Cluster, InstanceIdx, Mirroring, NodeIdx};

/// Order in which nodes go online: numbers, words, then `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StandbyPriority {
    Number(u64),
    Word,
    Auto,
}

fn priority(tag: &str) -> StandbyPriority {
    match (tag, tag[STANDBY.len()..].parse()) {
        (STANDBY_AUTO, _) => StandbyPriority::Auto,
        (_, Ok(number)) => StandbyPriority::Number(number),
        (_, Err(_)) => StandbyPriority::Word,
    }
}

/// The nodes that can go online, in order; those of unknown size come last.
pub(super) fn online_candidates(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &SqueezeOptions,
) -> Vec<Standby> {
    let mut standby: Vec<(StandbyPriority, Standby)> = nodes
        .iter()
        .filter(|n| cluster.node(**n).spec.offline && !options.left_alone.contains(n))
        .filter_map(|node| {
            let first = standby_tags(cluster, *node).map(priority).min()?;
            Some((first, sized(cluster, *node, &options.known_sizes)))
        })
        .collect();
    standby.sort_by_key(|(priority, s)| (s.source == SizeSource::Unknown, *priority, s.node));
    standby.into_iter().map(|(_, standby)| standby).collect()
}

/// The nodes that may be freed, in the order of the listing: those with most instances that must be stopped
/// come first, then those with most instances.
pub(super) fn offline_candidates(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &SqueezeOptions,
) -> Vec<NodeIdx> {
    let online = nodes.iter().copied().filter(|n| !cluster.node(*n).spec.offline);
    let mut candidates: Vec<NodeIdx> = online.filter(|n| refusal(cluster, *n, options).is_none()).collect();
    let count = |node: &NodeIdx| {
        let state = &cluster.node(*node).state;
        let stopped = state.primaries.iter().filter(|i| !cluster.instance(**i).template.is_movable());
        (stopped.count(), state.primaries.len() + state.secondaries.len())
    };
    candidates.sort_by_key(|node| std::cmp::Reverse(count(node)));
    candidates
}

/// The reason why an online node is not a candidate.
pub(super) fn refusal(cluster: &Cluster, node: NodeIdx, options: &SqueezeOptions) -> Option<Hindrance> {
    let there = cluster.node(node);
    if there.spec.master {
        return Some(Hindrance::Master);
    }
    if options.left_alone.contains(&node) {
        return Some(Hindrance::LeftAlone);
    }
    let template = |i: &InstanceIdx| cluster.instance(*i).template;
    let in_reach = |i: &InstanceIdx| match options.reach {
        Reach::All => true,
        Reach::Drbd => template(i).is_movable(),
        Reach::External => template(i).is_movable() && template(i).mirroring() == Mirroring::External,
    };
    let secondary_in_reach = |i: &InstanceIdx| options.reach != Reach::External && in_reach(i);
    let primary = there.state.primaries.iter().find(|i| !in_reach(i)).map(|i| Hindrance::NotInReach(*i));
    let secondary = || there.state.secondaries.iter().find(|i| !secondary_in_reach(i));
    primary.or_else(|| secondary().map(|i| Hindrance::SecondaryOf(*i)))
}
