//! Memory reserve of a group for its instances on shared storage when several nodes are lost at once.
//!
//! For each node, let b be its unallocated memory beyond the size of the largest such instance, or 0 if it has less.
//! Let o be the memory of the instances that must leave it when it is lost. An instance is left without a place only if
//! no node has more unallocated memory than it needs. By then, the instances that left must have used up all of b on
//! the surviving nodes. So all instances find a place, whichever K nodes are lost, if the sum of b over all nodes is
//! large enough. It must exceed the largest sum of b + o over any K nodes.
//!
//! A group whose nodes reach different storage pools must pass this test for each set of pools that its instances need.
//! For one set, the largest instance is the largest that needs the set, and b is 0 on nodes that do not reach it. o
//! counts only instances that could go to a node that does.

use std::cmp::Reverse;
use std::sync::OnceLock;

use super::class::{Class, loses_data};
use super::cluster::Cluster;
use super::index::{GroupIdx, NodeIdx};
use super::instance::Instance;
use super::node::{Node, NodeSpec};
use super::storage::GroupOffers;
use super::tags::TagSet;
use super::units::Mib;

/// Share of an online node in its group's reserve: unallocated memory, and memory that must leave if it is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeStake {
    /// The node.
    pub node: NodeIdx,
    /// Unallocated memory; `None` if the node does not reach the pools of the lane.
    pub unallocated: Option<Mib>,
    /// Memory of its primaries that can restart elsewhere, because their disks survive.
    pub leaving: Mib,
}

impl NodeStake {
    /// b and b + o of the node (see the module), in MiB.
    fn weighed(&self, largest: Mib) -> (i128, i128) {
        let beyond = |there: Mib| (i128::from(there.0) - i128::from(largest.0)).max(0);
        let beyond = self.unallocated.map_or(0, beyond);
        (beyond, beyond + i128::from(self.leaving.0))
    }

    /// The stake after an instance has come (`sign` 1) or gone (-1).
    fn changed(&self, instance: &Instance, leaves: bool, sign: i64) -> NodeStake {
        let mem = Mib(instance.mem_in_use().0.saturating_mul(sign));
        NodeStake {
            unallocated: self.unallocated.map(|there| there - mem),
            leaving: if leaves { self.leaving + mem } else { self.leaving },
            ..*self
        }
    }
}

/// An instance that has come to a node and, if it had one before, left another node.
#[derive(Clone, Copy)]
struct Arrival<'i> {
    instance: &'i Instance,
    to: NodeIdx,
    from: Option<NodeIdx>,
}

/// Reserve of a group for those of its instances that need one set of pools.
#[derive(Debug, Clone)]
struct Lane {
    /// Memory of the largest of these instances.
    largest: Mib,
    /// Distinct pool sets of the nodes that reach the lane's set.
    reached: Vec<TagSet>,
    /// Ascending by node.
    stakes: Vec<NodeStake>,
    beyond: i128,
    /// Cost of the loss of each node (b + o), the largest first.
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

    /// Position of a node in `stakes`; `None` if it is not an online node of the group.
    fn position(&self, node: NodeIdx) -> Option<usize> {
        self.stakes.binary_search_by_key(&node, |stake| stake.node).ok()
    }

    /// Enters an instance that has come to a node (`sign` 1) or left it (-1).
    fn change(&mut self, instance: &Instance, node: NodeIdx, sign: i64) {
        let Some(at) = self.position(node) else { return };
        let before = self.stakes[at];
        let after = before.changed(instance, takes_room(&self.reached, instance), sign);
        let [(had, old), (has, new)] = [before, after].map(|stake| stake.weighed(self.largest));
        let place = |costs: &[(i128, NodeIdx)], cost: i128| {
            costs.partition_point(|(other, there)| (Reverse(*other), *there) < (Reverse(cost), node))
        };
        self.costs.remove(place(&self.costs, old));
        self.costs.insert(place(&self.costs, new), (new, node));
        self.beyond += has - had;
        self.stakes[at] = after;
    }

    /// Memory in MiB left after the worst loss of `losses` nodes: all instances find a place if it is above 0. Nodes of
    /// other groups in `arrival` are ignored.
    fn margin(&self, losses: usize, arrival: Option<Arrival<'_>>) -> i128 {
        let mut beyond = self.beyond;
        // Costs of the changed nodes, then of the others, each in descending order.
        let mut changed: Vec<(i128, NodeIdx)> = Vec::new();
        if let Some(Arrival { instance, to, from }) = arrival {
            let leaves = takes_room(&self.reached, instance);
            let ends = [(to, 1)].into_iter().chain(from.map(|node| (node, -1)));
            for (node, sign) in ends.filter(|_| from != Some(to)) {
                let Some(at) = self.position(node) else { continue };
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

/// Memory reserve of a group for the loss of several nodes at once; see the module documentation.
#[derive(Debug, Clone)]
pub struct GroupReserve {
    losses: usize,
    lanes: Vec<Lane>,
}

impl GroupReserve {
    /// Reserve for the loss of any `losses` of the online nodes (ascending), which all reach the same pools. `largest`
    /// is the memory of their largest instance on shared storage.
    pub(crate) fn of(stakes: Vec<NodeStake>, largest: Mib, losses: usize) -> GroupReserve {
        let reached = vec![TagSet::default()];
        GroupReserve { losses, lanes: vec![Lane::of(largest, reached, stakes)] }
    }

    /// Memory in MiB left after the worst loss of nodes: all instances find a place if it is above 0. The set of pools
    /// with the least memory left decides.
    pub fn margin(&self) -> i128 {
        self.least(None)
    }

    /// The margin if an instance runs on node `to`, and no longer on `from` if given.
    pub(crate) fn margin_moving(&self, instance: &Instance, from: Option<NodeIdx>, to: NodeIdx) -> i128 {
        self.least(Some(Arrival { instance, to, from }))
    }

    /// Enters an instance of the group that has come to a node (`sign` 1) or left it (-1).
    pub fn change(&mut self, instance: &Instance, node: NodeIdx, sign: i64) {
        self.lanes.iter_mut().for_each(|lane| lane.change(instance, node, sign));
    }

    /// Tells if moving an instance between `nodes` leaves the margin unchanged, whatever else moves: the nodes have
    /// room to spare and reach the pools of every lane.
    pub fn is_even(&self, instance: &Instance, nodes: &[NodeIdx]) -> bool {
        let even = |lane: &Lane, node: &NodeIdx| {
            let there = lane.position(*node).and_then(|at| lane.stakes[at].unallocated);
            there.is_some_and(|there| there >= lane.largest)
        };
        let of_lane =
            |lane: &Lane| takes_room(&lane.reached, instance) && nodes.iter().all(|node| even(lane, node));
        self.lanes.iter().all(of_lane)
    }

    fn least(&self, arrival: Option<Arrival<'_>>) -> i128 {
        self.lanes.iter().map(|lane| lane.margin(self.losses, arrival)).min().unwrap_or(i128::MAX)
    }
}

/// Tells if an instance survives the loss of its node and could then go to a node with one of the given pool sets.
fn takes_room(reached: &[TagSet], instance: &Instance) -> bool {
    !loses_data(instance, |_| false) && reached.iter().any(|pools| instance.needs.is_subset(pools))
}

/// The pools of an instance if some node of the group lacks one of them; otherwise the empty set.
fn lacked(there: &GroupOffers, instance: &Instance) -> TagSet {
    if there.lack(&instance.needs) { instance.needs.clone() } else { TagSet::default() }
}

/// [`GroupReserve::margin`] of a group before and after an instance comes to one of its nodes, in MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReserveChange {
    /// Margin before.
    pub before: i128,
    /// Margin after.
    pub after: i128,
}

impl ReserveChange {
    /// Tells if the margin is positive afterwards, or at least does not shrink.
    pub fn is_allowed(self) -> bool {
        self.after > 0 || self.after >= self.before
    }
}

/// Reserve of a group that is about to take a new instance.
#[derive(Debug, Clone)]
pub struct ReserveForInstance {
    group: GroupIdx,
    /// Margin without the instance, in MiB.
    before: i128,
    reserve: GroupReserve,
    /// The instance, with those of its pools that matter in the group.
    instance: Instance,
}

impl ReserveForInstance {
    /// Tells if this is the reserve of `group` for an instance that needs `pools` there.
    pub fn is_for(&self, group: GroupIdx, pools: &TagSet) -> bool {
        self.group == group && self.instance.needs == *pools
    }

    /// Margin of the group before and after the instance runs on node `to`.
    pub fn change(&self, to: NodeIdx) -> ReserveChange {
        let after = self.reserve.margin_moving(&self.instance, None, to);
        ReserveChange { before: self.before, after }
    }
}

impl Cluster {
    /// Makes strict placement keep memory for the loss of `losses` nodes at once; 1 (N+1) if not given.
    pub fn keep_reserve(&mut self, losses: Option<usize>) {
        self.forget_derived();
        for node in &mut self.nodes {
            node.spec.joint_losses = losses.unwrap_or(1);
            node.update_joint();
        }
    }

    /// Effect of moving an instance between two nodes on the reserve of the target's group; `None` if only N+1 is
    /// required.
    pub fn reserve_change(&self, instance: &Instance, from: NodeIdx, to: NodeIdx) -> Option<ReserveChange> {
        let [source, group] = [from, to].map(|node| self.node(node).spec.group);
        let reserve = self.group_reserve(group)?;
        let moving = |reserve: &GroupReserve| reserve.margin_moving(instance, Some(from), to);
        let with_it = || self.group_reserve_with(group, instance);
        let after = if source == group { moving(reserve) } else { moving(&with_it()?) };
        Some(ReserveChange { before: reserve.margin(), after })
    }

    /// Reserve of a node's group for a new instance; `None` if only N+1 is required.
    pub fn reserve_for_newcomer(&self, instance: &Instance, spec: &NodeSpec) -> Option<ReserveForInstance> {
        let group = spec.group;
        let before = self.group_reserve(group)?.margin();
        let mut instance = instance.clone();
        instance.settle_pools(spec);
        let reserve = self.group_reserve_with(group, &instance)?;
        Some(ReserveForInstance { group, before, reserve, instance })
    }

    /// Reserve of a group on shared storage for the loss of as many nodes at once as `--keep-reserve` asks for; `None`
    /// if that is no more than one.
    pub fn group_reserve(&self, group: GroupIdx) -> Option<&GroupReserve> {
        let all = self
            .group_reserves
            .0
            .get_or_init(|| self.groups.iter().map(|group| self.reserve_of(group.idx, None)).collect());
        all[group.get()].as_ref()
    }

    /// Reserve of a group that is about to take an instance from another group, which may be its largest then.
    pub(crate) fn group_reserve_with(&self, group: GroupIdx, instance: &Instance) -> Option<GroupReserve> {
        match Class::of(instance.template) {
            Class::Relocate => self.reserve_of(group, Some(instance)),
            _ => self.group_reserve(group).cloned(),
        }
    }

    /// Reserve of a group for its own instances and, if given, a newcomer.
    fn reserve_of(&self, group: GroupIdx, newcomer: Option<&Instance>) -> Option<GroupReserve> {
        let nodes = self.nodes_of(group);
        let losses = nodes.first().map(|n| self.node(*n).spec.joint_losses).filter(|losses| *losses > 1)?;
        let online = || nodes.iter().map(|n| self.node(*n)).filter(|node| !node.spec.offline);
        let there = || online().flat_map(|node| &node.state.primaries).map(|i| self.instance(*i));
        let pools = &self.group(group).offers;
        let mut needs: Vec<(TagSet, Mib)> = Vec::new();
        for instance in there().chain(newcomer).filter(|i| Class::of(i.template) == Class::Relocate) {
            let (lacked, mem) = (lacked(pools, instance), instance.mem_in_use());
            match needs.iter_mut().find(|(known, _)| *known == lacked) {
                Some((_, largest)) => *largest = mem.max(*largest),
                None => needs.push((lacked, mem)),
            }
        }
        let lane = |(needs, largest): (TagSet, Mib)| {
            let reaching = online().map(|node| &node.spec.offers).filter(|pools| needs.is_subset(pools));
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
                    unallocated: needs.is_subset(&node.spec.offers).then(unallocated),
                    leaving: there.filter(|i| takes_room(&reached, i)).map(Instance::mem_in_use).sum(),
                }
            };
            let stakes = online().map(stake).collect();
            Lane::of(largest, reached, stakes)
        };
        Some(GroupReserve { losses, lanes: needs.into_iter().map(lane).collect() })
    }
}

/// Reserves of the groups, computed on first use after a change.
#[derive(Debug, Clone, Default)]
pub struct GroupReserves(OnceLock<Vec<Option<GroupReserve>>>);

impl GroupReserves {
    /// Drops the cached reserves after a change.
    pub(super) fn forget(&mut self) {
        self.0.take();
    }
}
