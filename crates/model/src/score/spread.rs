//! Instances of one service in one location, counted over the whole node set.

use std::collections::HashMap;

use crate::{Cluster, Instance, NodeIdx, NodeSpec, Occurrences, TagId, TagSet};

/// How often each (location tag, exclusion tag) pair occurs on the online nodes
/// of a set: once for each exclusion tag of each existing primary, in each of
/// its node's locations.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    /// By exclusion tag, how often it occurs in each location.
    services: HashMap<TagId, Occurrences<TagId>>,
    surplus: i64,
}

/// What the arrival of a primary adds to the surplus, by location of the new node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpreadArrivals {
    /// In a location of which nothing else is said.
    pub elsewhere: i64,
    /// In the others, ascending.
    pub there: Vec<(TagId, i64)>,
}

/// Instances beyond the first.
fn surplus(count: i64) -> i64 {
    (count - 1).max(0)
}

/// By how much the surplus grows where there are `count`, and then `by` more.
fn growth(count: i64, by: i64) -> i64 {
    surplus(count + by) - surplus(count)
}

impl Spread {
    /// Counts the online ones of `nodes`.
    pub(crate) fn of(cluster: &Cluster, nodes: &[NodeIdx]) -> Spread {
        let mut spread = Spread::default();
        for node in nodes.iter().map(|n| cluster.node(*n)).filter(|n| !n.spec.offline) {
            if node.spec.location_tags.is_empty() {
                continue;
            }
            let primaries = node.state.primaries.iter().map(|i| cluster.instance(*i));
            let tags: Occurrences<TagId> = primaries.flat_map(|i| &i.exclusion_tags).copied().collect();
            for (tag, by) in tags.iter() {
                spread.add(tag, &node.spec, by);
            }
        }
        spread.surplus = spread.services.values().map(Occurrences::surplus).sum();
        spread
    }

    /// Counts an exclusion tag in all locations of a node so many times more.
    fn add(&mut self, tag: TagId, node: &NodeSpec, by: i64) {
        let counts = self.services.entry(tag).or_default();
        counts.add_each(node.location_tags.iter().map(|location| (location, by)));
        if counts.is_empty() {
            self.services.remove(&tag);
        }
    }

    /// Instances beyond the first of each pair.
    pub fn surplus(&self) -> i64 {
        self.surplus
    }

    /// By how much the surplus changes if primary `instance` goes from one node
    /// to another, just goes away (`to` is nothing) or just comes (`from` is
    /// nothing). Offline nodes do not count.
    pub fn change(&self, instance: &Instance, from: Option<&NodeSpec>, to: Option<&NodeSpec>) -> i64 {
        if instance.forthcoming || instance.exclusion_tags.is_empty() {
            return 0;
        }
        let nowhere = TagSet::default();
        let [from, to] = [from, to].map(|node| locations(node).unwrap_or(&nowhere));
        // what is in both stays as it is
        let sum = |tag, own, [at, other]: [&TagSet; 2]| -> i64 {
            self.counts(tag, at.without(other)).map(|(_, count)| growth(count, own)).sum()
        };
        let tags = instance.exclusion_tags.counts().iter();
        tags.map(|(tag, own)| sum(tag, -own, [from, to]) + sum(tag, own, [to, from])).sum()
    }

    /// By how much the surplus changes if primary `instance` goes from one node to any
    /// other: what its departure adds, and what the locations of the new node add. The sum
    /// is [`change`](Self::change).
    pub fn departure(&self, instance: &Instance, from: Option<&NodeSpec>) -> (i64, SpreadArrivals) {
        let mut leaving = 0;
        let mut arrivals = SpreadArrivals { elsewhere: 0, there: Vec::new() };
        if instance.forthcoming {
            return (leaving, arrivals);
        }
        let mut there: Occurrences<TagId> = Occurrences::default();
        for (tag, own) in instance.exclusion_tags.counts().iter() {
            let alone = growth(0, own);
            arrivals.elsewhere += alone;
            if let Some(counts) = self.services.get(&tag) {
                there.add_each(counts.iter().map(|(location, count)| (location, growth(count, own) - alone)));
            }
            let Some(from) = locations(from) else { continue };
            // who goes to a location of the old node does not leave it
            let stays: Vec<(TagId, i64)> = self
                .counts(tag, from.iter())
                .map(|(location, count)| (location, growth(count, -own), growth(count, own) - alone))
                .map(|(location, gone, come)| {
                    leaving += gone;
                    (location, -gone - come - alone)
                })
                .collect();
            there.add_each(stays.into_iter());
        }
        arrivals.there = there.iter().map(|(location, by)| (location, arrivals.elsewhere + by)).collect();
        (leaving, arrivals)
    }

    /// How often an exclusion tag occurs in each of some locations, in ascending order.
    fn counts<'a>(
        &'a self,
        tag: TagId,
        locations: impl Iterator<Item = TagId> + 'a,
    ) -> impl Iterator<Item = (TagId, i64)> + 'a {
        static NONE: Occurrences<TagId> = Occurrences::new();
        self.services.get(&tag).unwrap_or(&NONE).look_up(locations, |location| *location)
    }

    /// Records that primary `instance` went from one node (nowhere, if it is new)
    /// to another.
    pub fn relocate(&mut self, instance: &Instance, from: Option<&NodeSpec>, to: &NodeSpec) {
        self.surplus += self.change(instance, from, Some(to));
        if instance.forthcoming {
            return;
        }
        for (node, by) in [(from, -1), (Some(to), 1)] {
            if let Some(node) = node.filter(|n| locations(Some(n)).is_some()) {
                for (tag, own) in instance.exclusion_tags.counts().iter() {
                    self.add(tag, node, by * own);
                }
            }
        }
    }
}

/// The locations of a node, if it has any that count.
fn locations(node: Option<&NodeSpec>) -> Option<&TagSet> {
    node.filter(|n| !n.offline && !n.location_tags.is_empty()).map(|n| &n.location_tags)
}
