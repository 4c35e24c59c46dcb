//! Bounds of the room that moves can make, and of the number of moves that it takes.
//!
//! **Room.** Moves stay within a group, and the rules refuse a move that would overfill its target. So the sum of what
//! the open nodes of a group have free, without those that are overfilled, never grows, for memory, virtual CPUs and
//! disk alike. And no node has more room than without all instances that can move.
//!
//! **Moves.** An instance leaves at most one node in a move, and a mirrored one at most two. After k departures, a node
//! has at most the room that it has without its k largest instances of each resource. The best distribution of
//! departures over the nodes, found by dynamic programming, bounds their number from below.

use super::MOST_MOVES;
use crate::requests::room::is_movable;
use htools_model::units::floor_to_i64;
use htools_model::{
    Cluster, ClusterRoom, GroupIdx, Instance, InstanceIdx, JointReserve, Ledger, Mib, NodeIdx, NodeRoom,
    NodeSpec,
};

/// Resource that bounds the room of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoomResource {
    /// Its free memory.
    Memory,
    /// Its free virtual CPUs.
    Vcpus,
    /// Its free disk.
    Disk,
    /// The nodes themselves, without all instances that can move.
    Nodes,
}

/// Upper bound of the room of a group after any moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoomCap {
    /// The group.
    pub group: GroupIdx,
    /// Number of instances that fit at most.
    pub most: i64,
    /// The resource that allows no more.
    pub resource: RoomResource,
}

/// Bounds of the room after any moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomBound {
    /// Number of wanted instances.
    pub wanted: i64,
    /// For each group that may take them, the number that fits at most.
    pub groups: Vec<RoomCap>,
    /// Lower bound of the number of moves after which the room is complete.
    pub fewest_moves: usize,
}

impl RoomBound {
    /// Bounds for a cluster and the room that it keeps.
    pub fn of(cluster: &Cluster) -> RoomBound {
        let Some(room) = cluster.room() else {
            return RoomBound { wanted: 0, groups: Vec::new(), fewest_moves: 0 };
        };
        let wanted = room.wanted().count;
        let groups = cluster.groups.iter().filter_map(|group| cap(cluster, room, group.idx));
        let missing = room.count() < wanted;
        RoomBound {
            wanted,
            groups: groups.collect(),
            fewest_moves: if missing { fewest_moves(cluster, room).max(1) } else { 0 },
        }
    }

    /// Number of wanted instances that fit at most, after any moves.
    pub fn most(&self) -> i64 {
        self.groups.iter().map(|cap| cap.most).fold(0, i64::saturating_add).min(self.wanted)
    }

    /// Tells if no moves make the room complete.
    pub fn is_impossible(&self) -> bool {
        self.most() < self.wanted
    }
}

/// Bound of one group; `None` if no node there takes the size.
fn cap(cluster: &Cluster, room: &ClusterRoom, group: GroupIdx) -> Option<RoomCap> {
    let (wanted, size) = (room.wanted().count, room.wanted().size);
    let is_open = |node: &&NodeIdx| room.is_open(&cluster.node(**node).spec);
    let open: Vec<NodeIdx> = cluster.nodes_of(group).iter().filter(is_open).copied().collect();
    if open.is_empty() {
        return None;
    }
    let nodes = || open.iter().map(|node| cluster.node(*node));
    // A mirrored instance takes memory and disk on two nodes.
    let roles = if size.template.has_secondary() { 2 } else { 1 };
    let fitting = |free: i128, each: i64| match i128::from(each) * roles {
        need if need > 0 => i64::try_from(free / need).unwrap_or(i64::MAX),
        _ => i64::MAX,
    };
    let memory = nodes().map(|n| (n.state.ledger.mem_unallocated(&n.spec).0 - 1).max(0));
    let memory = fitting(memory.map(i128::from).sum(), size.memory.0);
    let disk = nodes().map(|n| (n.state.ledger.disk_free - n.spec.disk_low.max(Mib(1))).0);
    let disk = match size.template.uses_local_storage() {
        true => fitting(disk.map(|free| i128::from(free.max(0))).sum(), size.disk.0),
        false => i64::MAX,
    };
    let limited = nodes().all(|n| n.spec.vcpu_ratio >= 0.0 && n.spec.cpu_total > 0.0) && size.vcpus > 0;
    let vcpus = nodes().map(|n| n.spec.vcpu_ratio * n.spec.cpu_total - n.state.ledger.vcpus as f64);
    let vcpus: f64 = vcpus.map(|free| free.max(0.0)).sum();
    // The sum may be rounded.
    let vcpus = if limited { floor_to_i64(vcpus * (1.0 + 1e-9) + 1e-6) / size.vcpus } else { i64::MAX };
    let emptied = |node: &NodeIdx| (*node, emptied_room(cluster, room, *node));
    let others = cluster.all_nodes().into_iter().filter(|node| !open.contains(node));
    let changes = open.iter().map(emptied).chain(others.map(|node| (node, NodeRoom::default())));
    let nodes = room.count_with(&changes.collect::<Vec<_>>());
    let caps = [
        (memory, RoomResource::Memory),
        (vcpus, RoomResource::Vcpus),
        (disk, RoomResource::Disk),
        (nodes, RoomResource::Nodes),
    ];
    let (most, resource) = caps.into_iter().min()?;
    Some(RoomCap { group, most: most.clamp(0, wanted), resource })
}

/// The movable instances of a node, with true for its secondaries.
fn residents(cluster: &Cluster, node: NodeIdx) -> Vec<(&Instance, bool)> {
    let state = &cluster.node(node).state;
    let there = |list: &[InstanceIdx], is_secondary: bool| -> Vec<(&Instance, bool)> {
        let instances = list.iter().map(|idx| cluster.instance(*idx));
        instances.filter(|i| is_movable(i)).map(|i| (i, is_secondary)).collect()
    };
    let mut all = there(&state.primaries, false);
    let mirrored = there(&state.secondaries, true).into_iter().filter(|(i, _)| i.mirror() == Some(node));
    all.extend(mirrored);
    all
}

/// The room of a node without all its movable instances, or more.
fn emptied_room(cluster: &Cluster, room: &ClusterRoom, node: NodeIdx) -> NodeRoom {
    Departing::of(cluster, node).room(room, usize::MAX)
}

/// A node with the amounts that its movable instances would leave, the largest of each resource first.
struct Departing<'a> {
    spec: &'a NodeSpec,
    ledger: Ledger,
    count: usize,
    memory: Vec<i64>,
    planned: Vec<i64>,
    reserved: Vec<i64>,
    vcpus: Vec<i64>,
    disk: Vec<i64>,
    spindles: Vec<i64>,
    free_spindles: Vec<i64>,
}

impl<'a> Departing<'a> {
    fn of(cluster: &'a Cluster, node: NodeIdx) -> Departing<'a> {
        let residents = residents(cluster, node);
        let there = cluster.node(node);
        let amounts = |amount: &dyn Fn(&Instance, bool) -> i64| {
            let mut amounts: Vec<i64> =
                residents.iter().map(|(i, is_secondary)| amount(i, *is_secondary).max(0)).collect();
            amounts.sort_unstable_by(|a, b| b.cmp(a));
            amounts
        };
        let primary = |is_secondary: bool, amount: i64| if is_secondary { 0 } else { amount };
        let local = |i: &Instance, amount: i64| if i.template.uses_local_storage() { amount } else { 0 };
        Departing {
            spec: &there.spec,
            ledger: there.state.ledger,
            count: residents.len(),
            memory: amounts(&|i, s| primary(s, i.mem_in_use().0)),
            planned: amounts(&|i, s| primary(s, i.mem.0)),
            reserved: amounts(&|i, s| if s { i.mem_reserved().0 } else { 0 }),
            vcpus: amounts(&|i, s| primary(s, i.vcpus_in_use())),
            disk: amounts(&|i, _| i.local_disk().0),
            spindles: amounts(&|i, _| local(i, i.spindle_use)),
            free_spindles: amounts(&|i, _| i.spindles.unwrap_or(0)),
        }
    }

    /// The most room after a number of departures.
    fn room(&self, room: &ClusterRoom, departures: usize) -> NodeRoom {
        let gone = |amounts: &[i64]| -> i64 {
            amounts.iter().take(departures).fold(0, |sum, amount| sum.saturating_add(*amount))
        };
        let mut ledger = self.ledger;
        ledger.mem_instances -= Mib(gone(&self.memory));
        ledger.mem_free_planned += Mib(gone(&self.planned));
        ledger.vcpus = ledger.vcpus.saturating_sub(gone(&self.vcpus));
        ledger.vcpus_planned = ledger.vcpus_planned.saturating_sub(gone(&self.vcpus));
        ledger.disk_free += Mib(gone(&self.disk));
        ledger.disk_free_planned += Mib(gone(&self.disk));
        ledger.spindles_used -= gone(&self.spindles) as f64;
        ledger.spindles_used_planned -= gone(&self.spindles) as f64;
        ledger.spindles_free = ledger.spindles_free.saturating_add(gone(&self.free_spindles));
        ledger.spindles_free_planned = ledger.spindles_free_planned.saturating_add(gone(&self.free_spindles));
        if departures > 0 {
            // The reserve is at most what it was, and departures lower it by no more than their memory.
            ledger.mem_reserved = (ledger.mem_reserved - Mib(gone(&self.reserved))).max(Mib::ZERO);
            ledger.joint = JointReserve::default();
            ledger.update_n1(self.spec);
        }
        room.node_room(self.spec, &ledger)
    }
}

/// Lower bound of the number of moves that complete the room; 0 if the bound says nothing.
fn fewest_moves(cluster: &Cluster, room: &ClusterRoom) -> usize {
    let wanted = room.wanted();
    let open = cluster.nodes.iter().filter(|node| room.is_open(&node.spec)).map(|node| node.spec.idx);
    let open: Vec<NodeIdx> = open.collect();
    let is_mirrored = wanted.size.template.has_secondary();
    let leaves_two = cluster.instances.iter().any(|i| is_movable(i) && i.mirror().is_some());
    let roles = if leaves_two { 2 } else { 1 };
    let gains = open.iter().map(|node| {
        let departing = Departing::of(cluster, *node);
        let now = room.on(*node);
        let most = departing.count.min(MOST_MOVES * roles);
        (1..=most).map(|gone| departing.room(room, gone)).map(|then| (now, then)).collect::<Vec<_>>()
    });
    let gains: Vec<Vec<(NodeRoom, NodeRoom)>> = gains.collect();
    let sum = |part: fn(&NodeRoom) -> i64| open.iter().map(|node| part(&room.on(*node))).sum::<i64>();
    let departures = |part: fn(&NodeRoom) -> i64, needed: i64| {
        let by_node: Vec<Vec<i64>> = gains
            .iter()
            .map(|of_node| of_node.iter().map(|(now, then)| (part(then) - part(now)).max(0)).collect())
            .collect();
        fewest_departures(&by_node, needed - sum(part), MOST_MOVES * roles)
    };
    let primaries = departures(|room| room.primaries, wanted.count);
    let both = if is_mirrored { departures(|room| room.total, wanted.count * 2) } else { 0 };
    primaries.max(both).div_ceil(roles)
}

/// The smallest number of departures whose gains can reach `needed`; one more than `most` if no number up to that does.
/// `gains` has for each node what 1, 2, ... departures gain.
fn fewest_departures(gains: &[Vec<i64>], needed: i64, most: usize) -> usize {
    if needed <= 0 {
        return 0;
    }
    let mut best = vec![0_i64; most + 1];
    for of_node in gains.iter().filter(|of_node| of_node.iter().any(|gain| *gain > 0)) {
        for total in (1..=most).rev() {
            let with = |gone: usize| best[total - gone].saturating_add(of_node[gone - 1]);
            let here = (1..=of_node.len().min(total)).map(with).max().unwrap_or(0);
            best[total] = best[total].max(here);
        }
    }
    best.iter().position(|gain| *gain >= needed).unwrap_or(most + 1)
}
