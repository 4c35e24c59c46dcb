//! Upper bound of the number of instances of one size that any placement adds. docs/bounds.md has the proof.
//!
//! Each group is bounded by itself. The bound of a node comes from the model's own rules, to which instances that arrive
//! together are one large instance.

mod loss;
mod mirrored;
mod stack;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use self::stack::Stack;
use super::{FillGround, Size};
use htools_model::redundancy::global::is_surely_lost;
use htools_model::{Cluster, GroupIdx, NodeIdx, Strictness};

impl FillGround {
    /// Upper bound of the number of instances of one size that any placement adds under the rules of the allocation. The
    /// present instances stay where they are. `None` if nothing limits the number, or an amount is negative.
    pub fn most(&self, cluster: &Cluster, size: Size) -> Option<usize> {
        let targets = match &self.targets {
            Ok(targets) if !self.hopeless => targets,
            _ => return Some(0),
        };
        let stack = Stack::of(self.settings, size)?;
        if self.never_redundant(cluster) {
            return Some(0);
        }
        let mut groups: BTreeMap<GroupIdx, Vec<NodeIdx>> = BTreeMap::new();
        for node in targets.primaries() {
            groups.entry(cluster.node(*node).spec.group).or_default().push(*node);
        }
        let by_group = groups.values().map(|nodes| self.most_in_group(cluster, nodes, &stack));
        by_group.sum::<Option<i64>>().and_then(|most| usize::try_from(most).ok())
    }

    /// Tells if new instances must leave the cluster redundant, and sums prove that it is not, with or without them.
    fn never_redundant(&self, cluster: &Cluster) -> bool {
        let scope = self.scope().filter(|_| !self.settings.template.has_secondary());
        scope.is_some_and(|scope| is_surely_lost(cluster, &cluster.all_nodes(), &scope))
    }

    /// Upper bound for the nodes of one group that may take instances.
    fn most_in_group(&self, cluster: &Cluster, nodes: &[NodeIdx], stack: &Stack) -> Option<i64> {
        if self.settings.template.has_secondary() {
            return mirrored::most(cluster, nodes, stack);
        }
        let on_node = |node: &NodeIdx| stack.most_primaries(cluster, *node, Strictness::Strict);
        let placed = nodes.iter().map(on_node).sum::<Option<i64>>();
        let group = cluster.node(*nodes.first()?).spec.group;
        let relocated = self.scope().and_then(|scope| loss::most(cluster, group, &scope, stack));
        placed.into_iter().chain(relocated).min()
    }
}
