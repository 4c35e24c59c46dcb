//! Loss of several nodes of a group at once, for many combinations: the instances that lose their disks, and a quick
//! test by sums whether all others find a place.
//!
//! If the sums leave it open, [`simulate`](super::simulate) decides, as for a single combination. The sums err on one
//! side only: they never report a place if the simulation finds none.

use super::figures::PLAUSIBLE;
use super::simulate;
use crate::{
    Class, Cluster, GroupReserve, Instance, InstanceIdx, Mib, Node, NodeIdx, NodeSet, NodeStake, loses_data,
};

/// Number and memory of the instances that lose their disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DataLoss {
    /// Number of instances.
    pub count: usize,
    /// Memory of these instances, running or not.
    pub mem: Mib,
}

impl DataLoss {
    /// Adds an instance.
    pub(crate) fn add(&mut self, instance: &Instance) {
        self.count += 1;
        self.mem += instance.mem;
    }

    fn join(&mut self, other: DataLoss) {
        self.count += other.count;
        self.mem += other.mem;
    }
}

/// The instances that would leave one node.
#[derive(Debug, Clone, Default)]
struct LeavingInstances {
    /// Set if sums cannot settle the verdict.
    is_odd: bool,
    /// Memory that fails over, by the node that takes it.
    by_mirror: Vec<(NodeIdx, i64)>,
    /// Instances that lose their disks if the mirror node is lost as well, by mirror node.
    paired: Vec<(NodeIdx, DataLoss)>,
    /// Instances that lose their disks with this node alone.
    local: DataLoss,
    /// Total memory of instances on shared storage.
    shared: i64,
    /// Memory of the largest of these, if there is one.
    largest: Option<i64>,
}

/// The nodes of a group, prepared for combinations of losses.
#[derive(Debug, Clone)]
pub struct JointLoss<'c> {
    cluster: &'c Cluster,
    /// All nodes of the group, ascending.
    nodes: Vec<NodeIdx>,
    /// The nodes of the group, and nodes of other groups that are secondaries for them.
    concerned: NodeSet,
    /// By position in `concerned`; empty for nodes of other groups.
    outflows: Vec<LeavingInstances>,
    /// Unallocated memory, by position in `concerned`.
    rooms: Vec<i64>,
}

/// Scratch space for the sums of one combination, reused for the next.
#[derive(Debug, Clone, Default)]
pub struct ComboSums {
    /// Memory that fails over to each node, by position in `concerned`.
    inflows: Vec<i64>,
    touched: Vec<usize>,
}

impl<'c> JointLoss<'c> {
    /// Prepares a group; `nodes` (ascending) must be all its nodes.
    pub fn of(cluster: &'c Cluster, nodes: &[NodeIdx]) -> JointLoss<'c> {
        let primaries = nodes.iter().flat_map(|n| &cluster.node(*n).state.primaries);
        let mirrors = primaries.filter_map(|i| cluster.instance(*i).mirror());
        let mut concerned: Vec<NodeIdx> = nodes.iter().copied().chain(mirrors).collect();
        concerned.sort_unstable();
        concerned.dedup();
        let room = |n: &NodeIdx| {
            let node = cluster.node(*n);
            node.state.ledger.mem_unallocated(&node.spec).0
        };
        let mut joint = JointLoss {
            cluster,
            nodes: nodes.to_vec(),
            outflows: vec![LeavingInstances::default(); concerned.len()],
            rooms: concerned.iter().map(room).collect(),
            concerned: NodeSet::of(cluster.nodes.len(), &concerned),
        };
        for node in nodes {
            let at = joint.position(*node);
            joint.outflows[at] = joint.outflow(*node);
        }
        joint
    }

    /// Position of a node in `concerned`; the node must be a member.
    fn position(&self, node: NodeIdx) -> usize {
        self.concerned.position(node).expect("nodes of the group and those that back them are concerned")
    }

    fn outflow_of(&self, node: NodeIdx) -> &LeavingInstances {
        &self.outflows[self.position(node)]
    }

    fn room(&self, node: NodeIdx) -> i64 {
        self.rooms[self.position(node)]
    }

    fn outflow(&self, node: NodeIdx) -> LeavingInstances {
        let here = self.cluster.node(node);
        let mut out = LeavingInstances::default();
        for instance in here.state.primaries.iter().map(|i| self.cluster.instance(*i)) {
            // Implausible sizes are not summed.
            let is_plausible = (Mib::ZERO..PLAUSIBLE).contains(&instance.mem);
            out.is_odd |= !is_plausible;
            let mem = if is_plausible { instance.mem_in_use().0 } else { 0 };
            if loses_data(instance, |_| false) {
                out.local.add(instance);
                continue;
            }
            match (Class::of(instance.template), instance.mirror()) {
                (Class::Failover, Some(mirror)) => {
                    out.is_odd |= !self.takes_by_memory(node, mirror);
                    entry(&mut out.by_mirror, mirror, |sum| *sum += mem);
                    entry(&mut out.paired, mirror, |data_loss| data_loss.add(instance));
                }
                _ => {
                    let group = self.cluster.group(here.spec.group);
                    out.is_odd |= !here.spec.migration_tags.is_empty() || group.offers.lack(&instance.needs);
                    out.shared += mem;
                    out.largest = out.largest.max(Some(mem));
                }
            }
        }
        out
    }

    /// Tells if memory alone decides whether instances can fail over from `node` to `mirror`.
    fn takes_by_memory(&self, node: NodeIdx, mirror: NodeIdx) -> bool {
        let (from, to) = (self.cluster.node(node), self.cluster.node(mirror));
        let has_disk = |node: &Node| !node.spec.exclusive_storage && node.state.ledger.disk_free > Mib::ZERO;
        mirror != node
            && !to.spec.offline
            && from.spec.can_migrate_to(&to.spec)
            && has_disk(from)
            && has_disk(to)
            && (-PLAUSIBLE..PLAUSIBLE).contains(&Mib(self.room(mirror)))
    }

    fn escapes(&self) -> impl Iterator<Item = NodeIdx> + '_ {
        self.nodes.iter().copied().filter(|n| !self.cluster.node(*n).spec.offline)
    }

    /// The instances that lose their disks when the nodes `lost` (ascending) are lost.
    pub fn data_loss(&self, lost: &[NodeIdx]) -> DataLoss {
        let mut data_loss = DataLoss::default();
        for out in lost.iter().map(|n| self.outflow_of(*n)) {
            data_loss.join(out.local);
            let pairs = out.paired.iter().filter(|(mirror, _)| lost.binary_search(mirror).is_ok());
            pairs.for_each(|(_, pair)| data_loss.join(*pair));
        }
        data_loss
    }

    /// Tells if sums prove that all instances that keep their disks find a place without the nodes `lost` (ascending,
    /// online).
    pub fn surely_fits(&self, lost: &[NodeIdx], sums: &mut ComboSums) -> bool {
        let outflows = || lost.iter().map(|n| self.outflow_of(*n));
        if outflows().any(|out| out.is_odd) {
            return false;
        }
        sums.inflows.resize(self.outflows.len(), -1);
        for (mirror, mem) in outflows().flat_map(|out| &out.by_mirror) {
            if lost.binary_search(mirror).is_ok() {
                continue;
            }
            let at = self.position(*mirror);
            let sum = &mut sums.inflows[at];
            if *sum < 0 {
                *sum = 0;
                sums.touched.push(at);
            }
            *sum += mem;
        }
        // At least 1 MiB must stay free after every arrival.
        let fails_over = sums.touched.iter().all(|at| sums.inflows[*at] < self.rooms[*at]);
        let fits = fails_over
            && match outflows().filter_map(|out| out.largest).max() {
                None => true,
                Some(largest) => {
                    self.has_room_for(outflows().map(|out| out.shared).sum(), largest, lost, sums)
                }
            };
        for at in sums.touched.drain(..) {
            sums.inflows[at] = -1;
        }
        fits
    }

    /// Tells if instances on shared storage with `sum` MiB in total, the largest with `largest`, certainly find a
    /// place. One finds none only if no node has more left than its size. By then all memory beyond that size must have
    /// been taken.
    fn has_room_for(&self, sum: i64, largest: i64, lost: &[NodeIdx], sums: &ComboSums) -> bool {
        let mut beyond = 0_i64;
        for node in self.escapes().filter(|n| lost.binary_search(n).is_err()) {
            let at = self.position(node);
            let room = self.rooms[at];
            if !(-PLAUSIBLE..PLAUSIBLE).contains(&Mib(room)) {
                return false;
            }
            beyond += (room - sums.inflows[at].max(0) - largest).max(0);
            if beyond > sum {
                return true;
            }
        }
        false
    }

    /// The instances that keep their disks but find no place without the nodes `lost` (ascending), by simulation.
    pub fn unplaced(&self, lost: &[NodeIdx]) -> Vec<InstanceIdx> {
        let is_lost = |n: NodeIdx| lost.binary_search(&n).is_ok();
        let casualties = simulate::without_copies(self.cluster, &self.nodes, lost);
        casualties.into_iter().filter(|i| !loses_data(self.cluster.instance(*i), is_lost)).collect()
    }

    fn stake(&self, node: NodeIdx) -> NodeStake {
        let out = self.outflow_of(node);
        let leaving = Mib(out.by_mirror.iter().map(|(_, mem)| mem).sum::<i64>() + out.shared);
        NodeStake { node, unallocated: Some(Mib(self.room(node))), leaving }
    }

    /// Tells if sums prove it for all combinations of `size` nodes of `online` at once.
    pub fn all_surely_fit(&self, online: &[NodeIdx], size: usize) -> bool {
        let outflows = || online.iter().map(|n| self.outflow_of(*n));
        if outflows().any(|out| out.is_odd) {
            return false;
        }
        let mut arriving: Vec<Vec<i64>> = vec![Vec::new(); self.outflows.len()];
        for (mirror, mem) in outflows().flat_map(|out| &out.by_mirror) {
            arriving[self.position(*mirror)].push(*mem);
        }
        let fails_over = arriving
            .into_iter()
            .zip(&self.rooms)
            .all(|(sums, room)| sums.is_empty() || largest_sum(sums, size) < *room);
        let Some(largest) = outflows().filter_map(|out| out.largest).max() else { return fails_over };
        let plausible = |n: &NodeIdx| (-PLAUSIBLE..PLAUSIBLE).contains(&Mib(self.room(*n)));
        if !fails_over || !online.iter().all(plausible) {
            return false;
        }
        let mut stakes: Vec<NodeStake> = online.iter().map(|n| self.stake(*n)).collect();
        stakes.sort_unstable_by_key(|stake| stake.node);
        GroupReserve::of(stakes, Mib(largest), size).margin() > 0
    }
}

/// Changes a node's entry in a list, adding it if it is missing.
fn entry<T: Default>(list: &mut Vec<(NodeIdx, T)>, node: NodeIdx, change: impl FnOnce(&mut T)) {
    let at = list.iter().position(|(there, _)| *there == node).unwrap_or_else(|| {
        list.push((node, T::default()));
        list.len() - 1
    });
    change(&mut list[at].1);
}

/// The sum of the `count` largest amounts.
fn largest_sum(mut amounts: Vec<i64>, count: usize) -> i64 {
    amounts.sort_unstable_by(|a, b| b.cmp(a));
    amounts.iter().take(count).sum()
}
