//! The memory that a group has for its instances on shared storage when several of its nodes are lost at once.
//!
//! Of a node let b be what it has unallocated beyond the largest such instance (0 if it has less), and o what has to
//! leave it when it is lost. One of those that leave is left without a place only if no node has more
//! unallocated than its size, so only if they have taken all that the other nodes have beyond the largest. So whichever K nodes are
//! lost, all find a place if the sum of b over all nodes exceeds the sum of b + o over the K nodes where that is most.
//!
//! Where some nodes do not reach the storage pools of some instances, the same is asked for each set of pools that
//! instances need: the largest is that of those instances, b is 0 where the pools are not reached, and o is what could
//! go to a node that reaches them.

use std::cmp::Reverse;
use std::sync::OnceLock;

use super::class::{Class, loses_data};
use super::cluster::Cluster;
use super::index::{GroupIdx, NodeIdx};
use super::instance::Instance;
use super::node::Node;
use super::storage::GroupPools;
use super::tags::TagSet;
use super::units::Mib;

/// An online node of a group: what its loss takes away and sends elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeStake {
    /// The node.
    pub node: NodeIdx,
    /// Memory that no instance has; nothing if the node does not reach the pools in question.
    pub unallocated: Option<Mib>,
    /// Memory of its primaries that find their disks elsewhere.
    pub leaving: Mib,
}

impl NodeStake {
    /// What it has beyond an instance of that size, and how much of the group's sum its loss costs.
    fn weighed(&self, largest: Mib) -> (i128, i128) {
        let beyond = |there: Mib| (i128::from(there.0) - i128::from(largest.0)).max(0);
        let beyond = self.unallocated.map_or(0, beyond);
        (beyond, beyond + i128::from(self.leaving.0))
    }

    /// The same once an instance has come (`sign` 1) or gone (-1).
    fn changed(&self, instance: &Instance, leaves: bool, sign: i64) -> NodeStake {
        let mem = Mib(instance.mem_in_use().0.saturating_mul(sign));
        NodeStake {
            unallocated: self.unallocated.map(|there| there - mem),
            leaving: if leaves { self.leaving + mem } else { self.leaving },
            ..*self
        }
    }
}

/// What the nodes of a group have for its instances that need certain pools.
#[derive(Debug, Clone)]
struct Lane {
    /// The most memory of such an instance.
    largest: Mib,
    /// All pools that are reached where these are, in different sets.
    reached: Vec<TagSet>,
    /// Ascending by node.
    stakes: Vec<NodeStake>,
    beyond: i128,
    /// What the loss of each node costs, the most first.
    costs: Vec<(i128, NodeIdx)>,
}

impl Lane {
    fn of(largest: Mib, reached: Vec<TagSet>, stakes: Vec<NodeStake>) -> Lane {
        let weighed = || stakes.iter().map(|stake| (stake.weighed(largest), stake.node));
        let mut costs: Vec<(i128, NodeIdx)> = weighed().map(|((_, cost), node)| (cost, node)).collect();
        costs.sort_unstable_by_key(|(cost, node)| (Reverse(*cost), *node));
        let beyond = weighed().map(|((beyond, _), _)| beyond).sum();
        Lane { largest, reached, stakes, beyond, costs }
    }

    /// Takes in that an instance has come to a node (`sign` 1) or left it (-1).
    fn change(&mut self, instance: &Instance, node: NodeIdx, sign: i64) {
        let Ok(at) = self.stakes.binary_search_by_key(&node, |stake| stake.node) else { return };
        let before = self.stakes[at];
        let after = before.changed(instance, takes_room(&self.reached, instance), sign);
        let [(had, old), (has, new)] = [before, after].map(|stake| stake.weighed(self.largest));
        let place = |costs: &[(i128, NodeIdx)], cost: i128| {
            costs.partition_point(|(other, of)| (Reverse(*other), *of) < (Reverse(cost), node))
        };
        self.costs.remove(place(&self.costs, old));
        self.costs.insert(place(&self.costs, new), (new, node));
        self.beyond += has - had;
        self.stakes[at] = after;
    }

    /// How much more the nodes have than is taken and sent elsewhere, whichever are lost, once an instance has come to the first
    /// node and left the second; nodes that are none of the group do not count.
    fn margin(&self, losses: usize, moved: Option<(&Instance, NodeIdx, Option<NodeIdx>)>) -> i128 {
        let mut beyond = self.beyond;
        // of those that change, then of the others: both the most first
        let mut changed: Vec<(i128, NodeIdx)> = Vec::new();
        if let Some((instance, to, from)) = moved {
            let leaves = takes_room(&self.reached, instance);
            let ends = [(to, 1)].into_iter().chain(from.map(|node| (node, -1)));
            for (node, sign) in ends.filter(|_| from != Some(to)) {
                let Ok(at) = self.stakes.binary_search_by_key(&node, |stake| stake.node) else { continue };
                let before = &self.stakes[at];
                let (new, cost) = before.changed(instance, leaves, sign).weighed(self.largest);
                beyond += new - before.weighed(self.largest).0;
                changed.push((cost, node));
            }
        }
        changed.sort_unstable_by_key(|(cost, _)| Reverse(*cost));
        let is_same = |node: NodeIdx| changed.iter().all(|(_, other)| *other != node);
        let same = self.costs.iter().filter(|(_, node)| is_same(*node));
        let mut same = same.map(|(cost, _)| *cost).peekable();
        let mut changed = changed.iter().map(|(cost, _)| *cost).peekable();
        let most = (0..losses).map_while(|_| match (same.peek(), changed.peek()) {
            (Some(a), Some(b)) if a >= b => same.next(),
            (Some(_), None) => same.next(),
            _ => changed.next(),
        });
        let lost: i128 = most.sum();
        beyond - lost
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub struct GroupReserve {
    losses: usize,
    lanes: Vec<Lane>,
}

impl GroupReserve {
    /// Of the online nodes of a group, ascending, that all reach the same pools and whose largest instance on shared storage
    /// has so much memory, if any `losses` of them may be lost at once.
    pub fn of(stakes: Vec<NodeStake>, largest: Mib, losses: usize) -> GroupReserve {
        let reached = vec![TagSet::default()];
        GroupReserve { losses, lanes: vec![Lane::of(largest, reached, stakes)] }
    }

    /// How much more the nodes have than is taken and sent elsewhere, in MiB, whichever are lost: there is a place for all
    /// if it is above 0. Of several sets of pools it is that of the one that has least.
    pub fn margin(&self) -> i128 {
        self.least(None)
    }

    /// The same once an instance runs on a node, and no more on another one if it did.
    pub fn margin_moving(&self, instance: &Instance, from: Option<NodeIdx>, to: NodeIdx) -> i128 {
        self.least(Some((instance, to, from)))
    }

    /// Takes in that an instance of the group has come to a node (`sign` 1) or left it (-1).
    pub(crate) fn change(&mut self, instance: &Instance, node: NodeIdx, sign: i64) {
        self.lanes.iter_mut().for_each(|lane| lane.change(instance, node, sign));
    }

    /// Tells if nodes have room to spare and reach all pools that count, so that an instance which moves between them
    /// leaves the margin as it is, whatever else moves between such nodes.
    pub(crate) fn is_even(&self, instance: &Instance, nodes: &[NodeIdx]) -> bool {
        let even = |lane: &Lane, node: &NodeIdx| {
            let stake = lane.stakes.binary_search_by_key(node, |stake| stake.node).map(|at| &lane.stakes[at]);
            stake.is_ok_and(|stake| stake.unallocated.is_some_and(|there| there >= lane.largest))
        };
        let of_lane =
            |lane: &Lane| takes_room(&lane.reached, instance) && nodes.iter().all(|node| even(lane, node));
        self.lanes.iter().all(of_lane)
    }

    fn least(&self, moved: Option<(&Instance, NodeIdx, Option<NodeIdx>)>) -> i128 {
        self.lanes.iter().map(|lane| lane.margin(self.losses, moved)).min().unwrap_or(i128::MAX)
    }
}

/// Whether an instance leaves a node that is lost, and could then take room where such sets of pools are reached.
fn takes_room(reached: &[TagSet], instance: &Instance) -> bool {
    !loses_data(instance, |_| false) && reached.iter().any(|pools| instance.pools.is_subset(pools))
}

/// The pools of an instance that not all nodes of a group reach, or none.
fn lacked(there: &GroupPools, instance: &Instance) -> TagSet {
    if there.lack(&instance.pools) { instance.pools.clone() } else { TagSet::default() }
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
        let with_it = || self.group_reserve_with(group, instance);
        let after = if source == group { moving(reserve) } else { moving(&with_it()?) };
        Some(ReserveChange { before: reserve.margin(), after })
    }

    /// What it does to the reserve of a group if a new instance runs on a node; nothing if no more is asked for than
    /// N+1.
    pub fn reserve_change_of_new(&self, instance: &Instance, to: NodeIdx) -> Option<ReserveChange> {
        let spec = &self.node(to).spec;
        let before = self.group_reserve(spec.group)?.margin();
        let mut instance = instance.clone();
        instance.settle_pools(spec);
        let after = self.group_reserve_with(spec.group, &instance)?.margin_moving(&instance, None, to);
        Some(ReserveChange { before, after })
    }

    /// What a group has for its instances on shared storage when as many nodes are lost at once as `--keep-reserve`
    /// says; nothing if it does not say more than one.
    pub fn group_reserve(&self, group: GroupIdx) -> Option<&GroupReserve> {
        let all = self
            .group_reserves
            .0
            .get_or_init(|| self.groups.iter().map(|group| self.reserve_of(group.idx, None)).collect());
        all[group.get()].as_ref()
    }

    /// The same where an instance comes to the group that was not there.
    pub fn group_reserve_with(&self, group: GroupIdx, instance: &Instance) -> Option<GroupReserve> {
        match Class::of(instance.template) {
            Class::Relocate => self.reserve_of(group, Some(instance)),
            _ => self.group_reserve(group).cloned(),
        }
    }

    /// What a group has for those that are there, and for one that comes.
    fn reserve_of(&self, group: GroupIdx, newcomer: Option<&Instance>) -> Option<GroupReserve> {
        let nodes = self.nodes_of(group);
        let losses = nodes.first().map(|n| self.node(*n).spec.joint_losses).filter(|losses| *losses > 1)?;
        let online = || nodes.iter().map(|n| self.node(*n)).filter(|node| !node.spec.offline);
        let there = || online().flat_map(|node| &node.state.primaries).map(|i| self.instance(*i));
        let pools = &self.group(group).pools;
        let mut needs: Vec<(TagSet, Mib)> = Vec::new();
        for instance in there().chain(newcomer).filter(|i| Class::of(i.template) == Class::Relocate) {
            let (lacked, mem) = (lacked(pools, instance), instance.mem_in_use());
            match needs.iter_mut().find(|(known, _)| *known == lacked) {
                Some((_, largest)) => *largest = mem.max(*largest),
                None => needs.push((lacked, mem)),
            }
        }
        let lane = |(needs, largest): (TagSet, Mib)| {
            let reaching = online().map(|node| &node.spec.pools).filter(|pools| needs.is_subset(pools));
            let mut reached: Vec<TagSet> = Vec::new();
            for pools in reaching {
                if !reached.contains(pools) {
                    reached.push(pools.clone());
                }
            }
            let stake = |node: &Node| {
                let there = node.state.primaries.iter().map(|i| self.instance(*i));
                let unallocated = || node.state.ledger.mem_unallocated(&node.spec);
                NodeStake {
                    node: node.spec.idx,
                    unallocated: needs.is_subset(&node.spec.pools).then(unallocated),
                    leaving: there.filter(|i| takes_room(&reached, i)).map(Instance::mem_in_use).sum(),
                }
            };
            let stakes = online().map(stake).collect();
            Lane::of(largest, reached, stakes)
        };
        Some(GroupReserve { losses, lanes: needs.into_iter().map(lane).collect() })
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

    /// Two instances of 1000 MiB in the pool x, which some of four nodes with 2001 MiB each reach.
    fn pooled(reaching: &[&str]) -> Option<i128> {
        let node = |name: &str, used: i64| {
            let tag = if reaching.contains(&name) { "x" } else { "y" };
            format!("{name}|{}|0|2001|9000|9000|9|N|u|1|htools:pool:{tag}", 2001 + used)
        };
        let nodes = [node("a", 1000), node("b", 1000), node("c", 0), node("d", 0)];
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let instances = ["one|1000|0|1|running|Y|a||ext|", "two|1000|0|1|running|Y|b||ext|"];
        let mut cluster = cluster(&nodes, &instances, &[]);
        cluster.keep_reserve(Some(2));
        cluster.group_reserve(GroupIdx::new(0)).map(GroupReserve::margin)
    }

    #[test]
    fn only_nodes_that_reach_the_disks_count() {
        assert_eq!(pooled(&["a", "b", "c", "d"]), Some(2));
        // the loss of a and c sends 1000 MiB to b, which has 1001 beyond the largest
        assert_eq!(pooled(&["a", "b", "c"]), Some(3 * 1001 - 2 * 2001));
        assert_eq!(pooled(&["a", "b"]), Some(-2000));
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
