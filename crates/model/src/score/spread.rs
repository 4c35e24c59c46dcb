//! Spread of services: instances of one service in one location, counted over the whole set of nodes.

use std::collections::HashMap;

use crate::{Cluster, Instance, NodeIdx, NodeSpec, Occurrences, TagId, TagSet};

/// Number of occurrences of each (location tag, exclusion tag) pair on the online nodes of a set. Each exclusion tag of
/// each existing primary counts once in each location of its node.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    /// For each exclusion tag, its occurrences by location.
    services: HashMap<TagId, Occurrences<TagId>>,
    surplus: i64,
}

/// Amount that the arrival of a primary adds to the surplus, by location of the new node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpreadArrivals {
    /// In all locations not listed in `there`.
    pub elsewhere: i64,
    /// In the listed locations, ascending.
    pub there: Vec<(TagId, i64)>,
}

/// Instances beyond the first.
fn surplus(count: i64) -> i64 {
    (count - 1).max(0)
}

/// Growth of the surplus when `by` instances join `count`.
fn growth(count: i64, by: i64) -> i64 {
    surplus(count + by) - surplus(count)
}

impl Spread {
    /// Counts the primaries on the online nodes among `nodes`.
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

    /// Adds `by` to the count of an exclusion tag in all locations of a node.
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

    /// Change of the surplus if primary `instance` goes from one node to another, leaves (`to` is `None`) or arrives
    /// (`from` is `None`). Offline nodes are ignored.
    pub fn change(&self, instance: &Instance, from: Option<&NodeSpec>, to: Option<&NodeSpec>) -> i64 {
        if instance.forthcoming || instance.exclusion_tags.is_empty() {
            return 0;
        }
        let nowhere = TagSet::default();
        let [from, to] = [from, to].map(|node| locations(node).unwrap_or(&nowhere));
        // Locations that both nodes share keep their counts.
        let sum = |tag, own, [at, other]: [&TagSet; 2]| -> i64 {
            self.counts(tag, at.without(other)).map(|(_, count)| growth(count, own)).sum()
        };
        let tags = instance.exclusion_tags.counts().iter();
        tags.map(|(tag, own)| sum(tag, -own, [from, to]) + sum(tag, own, [to, from])).sum()
    }

    /// Change of the surplus if primary `instance` goes from one node to any other: the part of its departure, and the
    /// part of the new node's locations. Their sum is [`change`](Self::change).
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
            // In a location that the old and the new node share, the instance does not leave.
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

    /// Occurrences of an exclusion tag in each of `locations`, which must be ascending.
    fn counts<'a>(
        &'a self,
        tag: TagId,
        locations: impl Iterator<Item = TagId> + 'a,
    ) -> impl Iterator<Item = (TagId, i64)> + 'a {
        static NONE: Occurrences<TagId> = Occurrences::new();
        self.services.get(&tag).unwrap_or(&NONE).look_up(locations, |location| *location)
    }

    /// Records that primary `instance` moved from one node (none, if it is new) to another.
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

/// The locations of a node if it counts, that is if it is online.
fn locations(node: Option<&NodeSpec>) -> Option<&TagSet> {
    node.filter(|n| !n.offline && !n.location_tags.is_empty()).map(|n| &n.location_tags)
}
