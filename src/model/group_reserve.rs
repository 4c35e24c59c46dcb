//! The memory that a group has for its instances on shared storage when several of its nodes are lost at once.
//!
//! Of a node let b be what it has unallocated beyond the largest such instance (0 if it has less), and o what has to
//! leave it when it is lost. One of those that leave is left without a place only if no node has more
//! unallocated than its size, so only if they have taken all that the other nodes have beyond the largest. So whichever K nodes are
//! lost, all find a place if the sum of b over all nodes exceeds the sum of b + o over the K nodes where that is most.

use std::cmp::Reverse;
use std::sync::OnceLock;

use super::class::{Class, loses_data};
use super::cluster::Cluster;
use super::index::{GroupIdx, NodeIdx};
use super::instance::Instance;
use super::units::Mib;

/// An online node of a group: what its loss takes away and sends elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeStake {
    /// The node.
    pub node: NodeIdx,
    /// Memory that no instance has.
    pub unallocated: Mib,
    /// Memory of its primaries that find their disks elsewhere.
    pub leaving: Mib,
}

impl NodeStake {
    /// What it has beyond an instance of that size, and how much of the group's sum its loss costs.
    fn weighed(&self, largest: Mib) -> (i128, i128) {
        let beyond = (i128::from(self.unallocated.0) - i128::from(largest.0)).max(0);
        (beyond, beyond + i128::from(self.leaving.0))
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub struct GroupReserve {
    losses: usize,
    largest: Option<Mib>,
    /// Ascending by node.
    stakes: Vec<NodeStake>,
    beyond: i128,
    /// What the loss of each node costs, the most first.
    costs: Vec<(i128, NodeIdx)>,
}

impl GroupReserve {
    /// Of the online nodes of a group, ascending, whose largest instance on shared storage has so much memory, if there is
    /// one, if any `losses` of them may be lost at once.
    pub fn of(stakes: Vec<NodeStake>, largest: Option<Mib>, losses: usize) -> GroupReserve {
        let size = largest.unwrap_or(Mib::ZERO);
        let weighed = || stakes.iter().map(|stake| (stake.weighed(size), stake.node));
        let mut costs: Vec<(i128, NodeIdx)> = weighed().map(|((_, cost), node)| (cost, node)).collect();
        costs.sort_unstable_by_key(|(cost, node)| (Reverse(*cost), *node));
        let beyond = weighed().map(|((beyond, _), _)| beyond).sum();
        GroupReserve { losses, largest, stakes, beyond, costs }
    }

    /// The same where an instance comes to the group that was not there.
    #[must_use]
    pub fn with_another(&self, instance: &Instance) -> GroupReserve {
        let size = (Class::of(instance.template) == Class::Relocate).then(|| instance.mem_in_use());
        GroupReserve::of(self.stakes.clone(), self.largest.max(size), self.losses)
    }

    /// How much more the nodes have than is taken and sent elsewhere, in MiB, whichever are lost: there is a place for all
    /// if it is above 0.
    pub fn margin(&self) -> i128 {
        self.margin_with(&[])
    }

    /// The same once an instance runs on a node, and no more on another one if it did.
    pub fn margin_moving(&self, instance: &Instance, from: Option<NodeIdx>, to: NodeIdx) -> i128 {
        let mem = instance.mem_in_use();
        let leaving = if Class::of(instance.template) == Class::Recreate { Mib::ZERO } else { mem };
        let comes = NodeStake { node: to, unallocated: -mem, leaving };
        match from {
            Some(node) => self.margin_with(&[comes, NodeStake { node, unallocated: mem, leaving: -leaving }]),
            None => self.margin_with(&[comes]),
        }
    }

    /// The same with changes of some nodes, of which those that are none of the group do not count.
    fn margin_with(&self, changes: &[NodeStake]) -> i128 {
        let Some(largest) = self.largest else { return i128::MAX };
        let mut beyond = self.beyond;
        // of those that change, then of the others: both the most first
        let mut changed: Vec<i128> = Vec::new();
        for change in changes {
            let Ok(at) = self.stakes.binary_search_by_key(&change.node, |stake| stake.node) else { continue };
            let before = &self.stakes[at];
            let after = NodeStake {
                unallocated: before.unallocated + change.unallocated,
                leaving: before.leaving + change.leaving,
                ..*before
            };
            let (new, cost) = after.weighed(largest);
            beyond += new - before.weighed(largest).0;
            changed.push(cost);
        }
        changed.sort_unstable_by_key(|cost| Reverse(*cost));
        let same = self.costs.iter().filter(|(_, node)| changes.iter().all(|change| change.node != *node));
        let mut same = same.map(|(cost, _)| *cost).peekable();
        let mut changed = changed.into_iter().peekable();
        let most = (0..self.losses).map_while(|_| match (same.peek(), changed.peek()) {
            (Some(a), Some(b)) if a >= b => same.next(),
            (Some(_), None) => same.next(),
            _ => changed.next(),
        });
        let lost: i128 = most.sum();
        beyond - lost
    }
}

/// What a group has for the loss of several nodes at once, as [`GroupReserve::margin`] says it, before and after an instance
/// has come to one of its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReserveChange {
    /// Before.
    pub before: i128,
    /// After.
    pub after: i128,
}

impl ReserveChange {
    /// Whether enough is left, or no less than there was.
    pub fn is_allowed(self) -> bool {
        self.after > 0 || self.after >= self.before
    }
}

impl Cluster {
    /// Has strict placement keep memory for the loss of so many nodes at once; one, N+1, unless that is said.
    pub fn keep_reserve(&mut self, losses: Option<usize>) {
        self.group_reserves.forget();
        for node in &mut self.nodes {
            node.spec.joint_losses = losses.unwrap_or(1);
            node.update_joint();
        }
    }

    /// What it does to the reserve of a group if an instance that is on one node runs on another one; nothing if no more is
    /// asked for than N+1.
    pub fn reserve_change(&self, instance: &Instance, from: NodeIdx, to: NodeIdx) -> Option<ReserveChange> {
        let [source, group] = [from, to].map(|node| self.node(node).spec.group);
        let reserve = self.group_reserve(group)?;
        let moving = |reserve: &GroupReserve| reserve.margin_moving(instance, Some(from), to);
        let after = if source == group { moving(reserve) } else { moving(&reserve.with_another(instance)) };
        Some(ReserveChange { before: reserve.margin(), after })
    }

    /// What a group has for its instances on shared storage when as many nodes are lost at once as `--keep-reserve`
    /// says; nothing if it does not say more than one.
    pub fn group_reserve(&self, group: GroupIdx) -> Option<&GroupReserve> {
        let all = self
            .group_reserves
            .0
            .get_or_init(|| self.members().iter().map(|of| self.reserve_of(&of.nodes)).collect());
        all[group.get()].as_ref()
    }

    fn reserve_of(&self, nodes: &[NodeIdx]) -> Option<GroupReserve> {
        let losses = nodes.first().map(|n| self.node(*n).spec.joint_losses).filter(|losses| *losses > 1)?;
        let mut largest = None;
        let mut stakes = Vec::with_capacity(nodes.len());
        for node in nodes.iter().map(|n| self.node(*n)).filter(|node| !node.spec.offline) {
            let mut leaving = Mib::ZERO;
            for instance in node.state.primaries.iter().map(|i| self.instance(*i)) {
                if !loses_data(instance, |_| false) {
                    leaving += instance.mem_in_use();
                }
                if Class::of(instance.template) == Class::Relocate {
                    largest = largest.max(Some(instance.mem_in_use()));
                }
            }
            let unallocated = node.state.ledger.mem_unallocated(&node.spec);
            stakes.push(NodeStake { node: node.spec.idx, unallocated, leaving });
        }
        Some(GroupReserve::of(stakes, largest, losses))
    }
}

/// What groups have, as far as somebody has asked since the last change.
#[derive(Debug, Clone, Default)]
pub struct GroupReserves(OnceLock<Vec<Option<GroupReserve>>>);

impl GroupReserves {
    /// Something has changed.
    pub(super) fn forget(&mut self) {
        self.0.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Draft, InstanceIdx};
    use crate::testing::cluster;

    /// Four nodes with `free` MiB each, and an instance of 1000 MiB on the first two.
    fn four(free: i64) -> Draft {
        let node = |name: &str, used: i64| format!("{name}|{}|0|{free}|9000|9000|9|N|u", free + used);
        let nodes = [node("a", 1000), node("b", 1000), node("c", 0), node("d", 0)];
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let instances = ["one|1000|0|1|running|Y|a||ext|", "two|1000|0|1|running|Y|b||ext|"];
        let mut cluster = cluster(&nodes, &instances, &[]);
        cluster.keep_reserve(Some(2));
        cluster.into()
    }

    #[test]
    fn what_is_left_must_exceed_what_is_sent_away() {
        let group = GroupIdx::new(0);
        let margin = |draft: &Draft| draft.group_reserve(group).map(GroupReserve::margin);
        // a and b are lost: 2000 MiB have to go where 2 * (2001 - 1000) are
        assert_eq!(margin(&four(2001)), Some(2));
        let draft = four(2000);
        assert_eq!(margin(&draft), Some(0));
        let [a, c] = [0, 2].map(NodeIdx::new);
        let change = draft.reserve_change(draft.instance(InstanceIdx::new(0)), a, c);
        // c takes it beyond the largest, and would be lost then as a was before
        assert_eq!(change, Some(ReserveChange { before: 0, after: 0 }));
        assert!(change.unwrap().is_allowed());
    }

    #[test]
    fn a_change_makes_it_be_found_anew() {
        let mut draft = four(2001);
        let group = GroupIdx::new(0);
        assert_eq!(draft.group_reserve(group).map(GroupReserve::margin), Some(2));
        let mark = draft.mark();
        draft.set_offline(&[NodeIdx::new(3)], true);
        assert_eq!(draft.group_reserve(group).map(GroupReserve::margin), Some(1001 - 2000));
        draft.back_to(mark);
        assert_eq!(draft.group_reserve(group).map(GroupReserve::margin), Some(2));
        let mut cluster = draft.into_cluster();
        cluster.keep_reserve(None);
        assert!(cluster.group_reserve(group).is_none(), "N+1 does not look at groups");
    }
}
