//! Sets of nodes with fast membership tests. Their memory is proportional to their own size, not to the cluster's.

use super::index::NodeIdx;

/// Marks nodes outside the set in the table.
const OUTSIDE: u32 = u32::MAX;
/// A set has a table if the cluster has at most this many times as many nodes as the set.
const WORTH_A_TABLE: usize = 64;

/// Some nodes of a cluster, ascending. A cluster with many groups is split into many sets, so a small set must not take
/// memory for all nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeSet {
    nodes: Vec<NodeIdx>,
    /// For each node of the cluster, its position in the set. Empty for small sets, which use binary search.
    table: Vec<u32>,
}

impl NodeSet {
    /// The set of `nodes` (ascending) of a cluster of `all` nodes.
    pub(crate) fn of(all: usize, nodes: &[NodeIdx]) -> NodeSet {
        debug_assert!(nodes.is_sorted(), "sets are ascending");
        let mut table = Vec::new();
        if nodes.len().saturating_mul(WORTH_A_TABLE) >= all {
            table.resize(all, OUTSIDE);
            nodes.iter().zip(0..).for_each(|(node, at)| table[node.get()] = at);
        }
        NodeSet { nodes: nodes.to_vec(), table }
    }

    /// The nodes, ascending.
    pub(crate) fn nodes(&self) -> &[NodeIdx] {
        &self.nodes
    }

    /// The position of a node in the set, if it is a member.
    pub(crate) fn position(&self, node: NodeIdx) -> Option<usize> {
        match self.table.get(node.get()) {
            Some(at) => (*at != OUTSIDE).then_some(*at as usize),
            None => self.nodes.binary_search(&node).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_sets_know_their_members() {
        for step in [1, 3, 200] {
            let nodes: Vec<NodeIdx> = (0..1000).step_by(step).map(NodeIdx::new).collect();
            let set = NodeSet::of(1000, &nodes);
            for node in (0..1000).map(NodeIdx::new) {
                let expected = (node.get() % step == 0).then_some(node.get() / step);
                assert_eq!(set.position(node), expected, "{node} of every {step}");
            }
        }
    }

    #[test]
    fn sets_of_a_split_cluster_take_memory_by_its_size() {
        let (all, each) = (100_000, 2);
        let sets = (0..all).step_by(each).map(|first| {
            let nodes: Vec<NodeIdx> = (first..first + each).map(NodeIdx::new).collect();
            NodeSet::of(all, &nodes)
        });
        let held: usize = sets.map(|set| set.nodes.capacity() + set.table.capacity()).sum();
        assert!(held <= all * (WORTH_A_TABLE + 1), "{held} for {all}");
    }
}
