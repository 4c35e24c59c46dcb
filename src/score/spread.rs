//! Instances of one service in one location, counted over the whole node set.

use std::collections::HashMap;

use crate::model::{Cluster, Counts, Instance, NodeIdx, NodeSpec, TagId};

/// How often each (location tag, exclusion tag) pair occurs on the online nodes
/// of a set: once for each exclusion tag of each existing primary, in each of
/// its node's locations.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    counts: HashMap<(TagId, TagId), i64>,
    surplus: i64,
}

impl Spread {
    /// Counts the online ones of `nodes`.
    pub fn of(cluster: &Cluster, nodes: &[NodeIdx]) -> Spread {
        let mut spread = Spread::default();
        for node in nodes.iter().map(|n| cluster.node(*n)).filter(|n| !n.spec.offline) {
            if node.spec.location_tags.is_empty() {
                continue;
            }
            for instance in &node.state.primaries {
                for key in pairs(&node.spec, cluster.instance(*instance)) {
                    let count = spread.counts.entry(key).or_insert(0);
                    spread.surplus += i64::from(*count > 0);
                    *count += 1;
                }
            }
        }
        spread
    }

    /// Whether no primary with an exclusion tag is in any location.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
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
        let mut changes = Counts::default();
        for (node, by) in [(from, -1), (to, 1)] {
            if let Some(node) = node.filter(|n| !n.offline) {
                pairs(node, instance).for_each(|key| changes.add(key, by));
            }
        }
        let surplus = |count: i64| (count - 1).max(0);
        changes
            .iter()
            .map(|(key, by)| {
                let before = self.counts.get(&key).copied().unwrap_or(0);
                surplus(before + by) - surplus(before)
            })
            .sum()
    }

    /// Records that primary `instance` went from one node (nowhere, if it is new)
    /// to another.
    pub fn relocate(&mut self, instance: &Instance, from: Option<&NodeSpec>, to: &NodeSpec) {
        self.surplus += self.change(instance, from, Some(to));
        if instance.forthcoming {
            return;
        }
        for (node, by) in [(from, -1), (Some(to), 1)] {
            if let Some(node) = node.filter(|n| !n.offline) {
                for key in pairs(node, instance) {
                    let count = self.counts.entry(key).or_insert(0);
                    *count += by;
                    if *count == 0 {
                        self.counts.remove(&key);
                    }
                }
            }
        }
    }
}

fn pairs<'a>(node: &'a NodeSpec, instance: &'a Instance) -> impl Iterator<Item = (TagId, TagId)> + 'a {
    let tags = &instance.exclusion_tags;
    node.location_tags.iter().flat_map(move |location| tags.iter().map(move |tag| (location, *tag)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster;

    #[test]
    fn one_of_a_service_in_each_location_is_enough() {
        let node = |name: &str, rack: &str| format!("{name}|9000|0|8000|9000|9000|9|N|u|1|rack:{rack}");
        let nodes = [node("n1", "1"), node("n2", "1"), node("n3", "2")];
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let mut cluster = cluster(
            &nodes,
            &["a|500|0|1|running|Y|n1||ext|web:x", "b|500|0|1|running|Y|n2||ext|web:x"],
            &["htools:iextags:web", "htools:nlocation:rack"],
        );
        let all = cluster.all_nodes();
        let spread = Spread::of(&cluster, &all);
        assert_eq!(spread.surplus(), 1);
        let [n1, n2, n3] = [0, 1, 2].map(|n| &cluster.nodes[n].spec);
        let b = &cluster.instances[1];
        assert_eq!(spread.change(b, Some(n2), Some(n3)), -1);
        assert_eq!(spread.change(b, Some(n2), Some(n1)), 0);
        assert_eq!(spread.change(b, Some(n2), None), -1);
        let mut moved = spread.clone();
        moved.relocate(b, Some(n2), n3);
        assert_eq!(moved.surplus(), 0);
        cluster.nodes[1].spec.offline = true;
        assert_eq!(Spread::of(&cluster, &all).surplus(), 0, "offline nodes do not count");
    }
}
