//! Nodes that an instance can reach, by migration tags and storage pools.

use super::arrival_costs::ArrivalKind;
use htools_model::{Cluster, Instance, NodeIdx, NodeSpec, TagSet};

/// Nodes that arrivals of each kind can reach.
pub(super) struct Reachability {
    pub tags: TagKinds,
    pub pools: PoolKinds,
}

impl Reachability {
    pub(super) fn of(cluster: &Cluster, instances: &[&Instance]) -> Reachability {
        Reachability { tags: TagKinds::of(cluster), pools: PoolKinds::of(cluster, instances) }
    }

    /// Returns true if the arrival can go to the node.
    pub(super) fn reaches(&self, arrival: &ArrivalKind, node: NodeIdx) -> bool {
        self.tags.reaches(arrival.from, node) && self.pools.reaches(arrival.pools, node)
    }
}

/// Kinds of nodes. Nodes of a kind have the same migration tags and can receive instances from the same tags.
pub(super) struct TagKinds {
    /// Kind of each node of the cluster.
    kind_of: Vec<u32>,
    /// For each pair of kinds, true if instances can migrate from the first to the second.
    reachable: Vec<bool>,
    count: usize,
}

impl TagKinds {
    /// With more kinds than this, nodes are not told apart.
    const MOST: usize = 8;

    fn of(cluster: &Cluster) -> TagKinds {
        let mut examples: Vec<&NodeSpec> = Vec::new();
        let mut kind_of = Vec::with_capacity(cluster.nodes.len());
        for node in cluster.nodes.iter().map(|n| &n.spec) {
            let alike = |e: &&NodeSpec| {
                e.migration_tags == node.migration_tags && e.receivable_tags == node.receivable_tags
            };
            let kind = examples.iter().position(alike).unwrap_or_else(|| {
                examples.push(node);
                examples.len() - 1
            });
            if examples.len() > TagKinds::MOST {
                return TagKinds { kind_of: vec![0; cluster.nodes.len()], reachable: vec![true], count: 1 };
            }
            kind_of.push(kind as u32);
        }
        let reachable = examples.iter().flat_map(|from| examples.iter().map(|to| from.can_migrate_to(to)));
        TagKinds { kind_of, reachable: reachable.collect(), count: examples.len() }
    }

    /// The kind of the node, if its instances cannot migrate to some node.
    pub(super) fn restricting(&self, node: NodeIdx) -> Option<u32> {
        let kind = self.kind_of[node.get()];
        let from = kind as usize * self.count;
        self.reachable[from..from + self.count].contains(&false).then_some(kind)
    }

    /// Returns true if instances can migrate from nodes of the kind to the node.
    fn reaches(&self, from: Option<u32>, to: NodeIdx) -> bool {
        from.is_none_or(|from| self.reachable[from as usize * self.count + self.kind_of[to.get()] as usize])
    }
}

/// Sets of storage pools that instances need.
pub(super) struct PoolKinds {
    /// The sets by number; empty if there are too many to tell them apart.
    sets: Vec<TagSet>,
    /// For each set and node of the cluster, true if the node reaches all pools of the set.
    reached: Vec<Vec<bool>>,
}

impl PoolKinds {
    /// With more sets than this, they are not told apart.
    const MOST: usize = 16;

    fn of(cluster: &Cluster, instances: &[&Instance]) -> PoolKinds {
        let mut sets: Vec<TagSet> = Vec::new();
        for instance in instances {
            if !sets.contains(&instance.needs) {
                sets.push(instance.needs.clone());
            }
            if sets.len() > PoolKinds::MOST {
                sets.clear();
                break;
            }
        }
        let reaching =
            |set: &TagSet| cluster.nodes.iter().map(|node| set.is_subset(&node.spec.offers)).collect();
        PoolKinds { reached: sets.iter().map(reaching).collect(), sets }
    }

    /// Number of sets with rows of their own, at least 1.
    pub(super) fn count(&self) -> usize {
        self.sets.len().max(1)
    }

    /// Number of the set that the instance needs, if sets are told apart.
    pub(super) fn needed_by(&self, instance: &Instance) -> Option<u32> {
        self.sets.iter().position(|set| *set == instance.needs).map(|number| number as u32)
    }

    /// Returns true if the node reaches all pools of the set.
    fn reaches(&self, pools: Option<u32>, node: NodeIdx) -> bool {
        pools.is_none_or(|pools| self.reached[pools as usize][node.get()])
    }
}
