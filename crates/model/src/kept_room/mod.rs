//! Room for further instances of one size that is kept, or made (`--keep-room`).
//!
//! The room of a cluster is the number of such instances that fit, up to the wanted number n. Groups count by
//! themselves, as both nodes of a mirrored instance are in one group; offline nodes, nodes that fail N+1, groups that
//! are not allocable and groups whose policy refuses the size have no room. Only the rules of single nodes count.
//!
//! **One node for each instance.** A group's room is the sum over its nodes of the number that fits there. As each
//! instance takes the same amounts, k of them on a node are one instance of k times the size.
//!
//! **A primary and a secondary node.** Each secondary counts as if it took its memory on its node. Let t be the number
//! of instances that a node takes in any mix of both roles, and p the number of primaries among them, which also take
//! vCPUs. A group has room for n instances if the sum of min(p, n) is at least n, and the sum of min(t, n) at least 2n.
//! These sums are enough: the numbers of primaries and secondaries that nodes take are polymatroids, whose sum has
//! integral points wherever its sums allow it. A node that takes at most n never has to be both nodes of an instance.
//!
//! A change keeps the room if the room afterwards is n, or not smaller than before.

mod wanted;

use std::sync::{Arc, OnceLock};

pub use self::wanted::{RoomRequest, RoomSize, WantedRoom};

use super::cluster::Cluster;
use super::index::{GroupIdx, NodeIdx};
use super::instance::Instance;
use super::kinds::AllocPolicy;
use super::node::{Ledger, NodeSpec};
use super::placement::{DiskCheck, Strictness, TagArrival};
use super::policy::PolicyBreach;

/// Number of the wanted instances that a node takes, up to the wanted number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeRoom {
    /// As primaries.
    pub primaries: i64,
    /// In any mix of both roles; without secondaries the same as `primaries`.
    pub total: i64,
}

/// The constant part of the count.
#[derive(Debug)]
struct RoomRules {
    wanted: WantedRoom,
    /// One, two, ... instances as one.
    stacks: Vec<Instance>,
    /// The same without vCPUs, if they have a secondary.
    idle: Vec<Instance>,
    /// For each group, if it takes the size on nodes without and with exclusive storage.
    accepts: Vec<[bool; 2]>,
    group_of: Vec<GroupIdx>,
    /// The groups in the order in which they are expected to have the room: by allocation policy, then as listed.
    order: Vec<GroupIdx>,
    /// True if no group may rely on the room of another.
    apart: bool,
}

/// The largest number from 0 to `most` for which `holds` is true; it must not become true again.
fn largest(most: i64, holds: impl Fn(i64) -> bool) -> i64 {
    let (mut below, mut above) = (0, 1);
    while above <= most && holds(above) {
        (below, above) = (above, above.saturating_mul(2));
    }
    above = above.min(most.saturating_add(1));
    while below + 1 < above {
        let middle = below + (above - below) / 2;
        if holds(middle) { below = middle } else { above = middle }
    }
    below
}

impl RoomRules {
    fn of(cluster: &Cluster, wanted: WantedRoom, apart: bool) -> RoomRules {
        let one = wanted.size.together(1);
        let accepts = cluster.groups.iter().map(|group| {
            let is_open = group.alloc_policy != AllocPolicy::Unallocable;
            [false, true].map(|exclusive| is_open && group.policy.accepts(&one, exclusive).is_ok())
        });
        let mut order: Vec<GroupIdx> = cluster.groups.iter().map(|group| group.idx).collect();
        order.sort_by_key(|group| (cluster.group(*group).alloc_policy, *group));
        let idle = RoomSize { vcpus: 0, ..wanted.size };
        let mirrored = if wanted.size.template.has_secondary() { wanted.count } else { 0 };
        RoomRules {
            stacks: (1..=wanted.count).map(|count| wanted.size.together(count)).collect(),
            idle: (1..=mirrored).map(|count| idle.together(count)).collect(),
            accepts: accepts.collect(),
            group_of: cluster.nodes.iter().map(|node| node.spec.group).collect(),
            order,
            wanted,
            apart,
        }
    }

    fn is_mirrored(&self) -> bool {
        self.wanted.size.template.has_secondary()
    }

    /// Tells if a node may take such instances at all.
    fn is_open(&self, spec: &NodeSpec) -> bool {
        let accepts = self.accepts.get(spec.group.get()).copied().unwrap_or_default();
        !spec.offline && accepts[usize::from(spec.exclusive_storage)]
    }

    fn node_room(&self, spec: &NodeSpec, ledger: &Ledger) -> NodeRoom {
        if !self.is_open(spec) || ledger.n1_fail {
            return NodeRoom::default();
        }
        let stack = |all: &[Instance], count: i64, check: &dyn Fn(&Instance) -> bool| {
            let at = usize::try_from(count - 1).ok();
            at.and_then(|at| all.get(at)).is_some_and(check)
        };
        let strict = Strictness::Strict;
        let runs = |all: &Instance| ledger.add_primary(spec, all, 0, TagArrival::default(), strict).is_ok();
        let backs = |all: &Instance| {
            ledger.add_secondary(spec, all, ledger.mem_reserved, strict, DiskCheck::Needed).is_ok()
        };
        if !self.is_mirrored() {
            let primaries = largest(self.wanted.count, |count| stack(&self.stacks, count, &runs));
            return NodeRoom { primaries, total: primaries };
        }
        let mixed = |all: &Instance| runs(all) && backs(all);
        let total = largest(self.wanted.count, |count| stack(&self.idle, count, &mixed));
        let primaries = largest(total, |count| stack(&self.stacks, count, &runs));
        NodeRoom { primaries, total }
    }

    /// Parts of a node's room that count for a group's room of `level` instances.
    fn counted(&self, room: NodeRoom, level: i64) -> NodeRoom {
        NodeRoom { primaries: room.primaries.min(level), total: room.total.min(level) }
    }

    /// Tells if nodes whose counted rooms have this sum take `level` instances.
    fn suffices(&self, sum: NodeRoom, level: i64) -> bool {
        sum.primaries >= level && (!self.is_mirrored() || sum.total >= level.saturating_mul(2))
    }

    fn sum(&self, rooms: impl Iterator<Item = NodeRoom>, level: i64) -> NodeRoom {
        rooms.map(|room| self.counted(room, level)).fold(NodeRoom::default(), NodeRoom::with)
    }

    /// Number of instances that nodes of one group take together, up to the wanted number.
    fn count(&self, rooms: &[NodeRoom]) -> i64 {
        largest(self.wanted.count, |level| self.suffices(self.sum(rooms.iter().copied(), level), level))
    }
}

impl NodeRoom {
    fn with(self, other: NodeRoom) -> NodeRoom {
        NodeRoom {
            primaries: self.primaries.saturating_add(other.primaries),
            total: self.total.saturating_add(other.total),
        }
    }

    fn without(self, other: NodeRoom) -> NodeRoom {
        NodeRoom { primaries: self.primaries - other.primaries, total: self.total - other.total }
    }
}

/// Room of a group.
#[derive(Debug, Clone, Copy)]
struct GroupRoom {
    /// Number of instances that fit, up to the wanted number.
    count: i64,
    /// The part of the wanted number that is expected here.
    level: i64,
    /// Sum of what counts for that part.
    sum: NodeRoom,
}

/// Room of a cluster in one state, by node and group; see the module documentation.
#[derive(Debug, Clone)]
pub struct ClusterRoom {
    rules: Arc<RoomRules>,
    nodes: Vec<NodeRoom>,
    groups: Vec<GroupRoom>,
    /// True if one group may lose room that another has beyond its part.
    has_slack: bool,
}

impl ClusterRoom {
    fn of(cluster: &Cluster, rules: &Arc<RoomRules>) -> ClusterRoom {
        let nodes: Vec<NodeRoom> =
            cluster.nodes.iter().map(|node| rules.node_room(&node.spec, &node.state.ledger)).collect();
        let mut left = rules.wanted.count;
        let mut groups =
            vec![GroupRoom { count: 0, level: 0, sum: NodeRoom::default() }; cluster.groups.len()];
        for group in &rules.order {
            let members = cluster.nodes_of(*group).iter().map(|node| nodes[node.get()]);
            let members: Vec<NodeRoom> = members.collect();
            let count = rules.count(&members);
            let level = count.min(left);
            left -= level;
            groups[group.get()] = GroupRoom { count, level, sum: rules.sum(members.into_iter(), level) };
        }
        let has_slack = !rules.apart && groups.iter().any(|group| group.count > group.level);
        ClusterRoom { rules: Arc::clone(rules), nodes, groups, has_slack }
    }

    /// The same count in another state of the cluster.
    #[must_use]
    pub fn recounted(&self, cluster: &Cluster) -> ClusterRoom {
        ClusterRoom::of(cluster, &self.rules)
    }

    /// Number and size of the wanted instances.
    pub fn wanted(&self) -> WantedRoom {
        self.rules.wanted
    }

    /// Number of the wanted instances that fit, at most all of them.
    pub fn count(&self) -> i64 {
        self.groups.iter().map(|group| group.level).sum()
    }

    /// Room of a node.
    pub fn on(&self, node: NodeIdx) -> NodeRoom {
        self.nodes[node.get()]
    }

    /// Tells if a node may take the wanted instances at all: it is online, and its group accepts them.
    pub fn is_open(&self, spec: &NodeSpec) -> bool {
        self.rules.is_open(spec)
    }

    /// Room of a node in another state.
    pub fn node_room(&self, spec: &NodeSpec, ledger: &Ledger) -> NodeRoom {
        self.rules.node_room(spec, ledger)
    }

    /// Number of the wanted instances that fit once nodes have changed.
    pub fn count_with(&self, changes: &[(NodeIdx, NodeRoom)]) -> i64 {
        let mut members: Vec<Vec<NodeRoom>> = vec![Vec::new(); self.groups.len()];
        for (at, group) in self.rules.group_of.iter().enumerate() {
            let changed = changes.iter().find(|(other, _)| other.get() == at);
            members[group.get()].push(changed.map_or(self.nodes[at], |(_, room)| *room));
        }
        let all = members.iter().map(|members| self.rules.count(members)).fold(0, i64::saturating_add);
        all.min(self.rules.wanted.count)
    }

    /// Tells if the room is complete, or not smaller than before, once nodes have changed.
    pub fn allows(&self, changes: &[(NodeIdx, NodeRoom)]) -> bool {
        let is_kept = |at: usize| {
            let group = &self.groups[at];
            let here = changes.iter().filter(|(node, _)| self.rules.group_of[node.get()].get() == at);
            let sum = here.fold(group.sum, |sum, (node, room)| {
                let [old, new] = [self.on(*node), *room].map(|room| self.rules.counted(room, group.level));
                sum.without(old).with(new)
            });
            self.rules.suffices(sum, group.level)
        };
        let mut touched = changes.iter().map(|(node, _)| self.rules.group_of[node.get()].get());
        touched.all(is_kept) || (self.has_slack && self.count_with(changes) >= self.count())
    }

    /// Enters the new room of a node; the parts of the wanted number that are expected of the groups stay the same.
    pub fn enter(&mut self, node: NodeIdx, room: NodeRoom) {
        let before = std::mem::replace(&mut self.nodes[node.get()], room);
        let group = &mut self.groups[self.rules.group_of[node.get()].get()];
        let [old, new] = [before, room].map(|room| self.rules.counted(room, group.level));
        group.sum = group.sum.without(old).with(new);
    }

    /// Tells if the room is still at least as large as when it was counted, after nodes were entered.
    pub fn holds(&self) -> bool {
        let is_kept = |group: &GroupRoom| self.rules.suffices(group.sum, group.level);
        self.groups.iter().all(is_kept) || (self.has_slack && self.count_with(&[]) >= self.count())
    }
}

/// The room that a cluster keeps, if any; its present state is counted on first use after a change.
#[derive(Debug, Clone, Default)]
pub struct KeptRoom {
    rules: Option<Arc<RoomRules>>,
    now: OnceLock<Arc<ClusterRoom>>,
}

impl KeptRoom {
    /// The same promise for another state of the cluster.
    #[must_use]
    pub fn in_other_state(&self) -> KeptRoom {
        KeptRoom { rules: self.rules.clone(), now: OnceLock::new() }
    }

    /// Drops the cached count after a change.
    pub(super) fn forget(&mut self) {
        self.now.take();
    }
}

impl Cluster {
    /// Makes placement keep room for further instances; `None` ends that.
    pub fn keep_room(&mut self, wanted: Option<WantedRoom>) {
        let rules = wanted.map(|wanted| Arc::new(RoomRules::of(self, wanted, false)));
        self.kept_room = KeptRoom { rules, now: OnceLock::new() };
    }

    /// Makes each group keep its present part of the room by itself, so that changes in several groups keep the room
    /// whichever of them are made.
    pub fn keep_room_by_group(&mut self) {
        let wanted = self.wanted_room();
        let rules = wanted.map(|wanted| Arc::new(RoomRules::of(self, wanted, true)));
        self.kept_room = KeptRoom { rules, now: OnceLock::new() };
    }

    /// The room that is kept, if any.
    pub fn wanted_room(&self) -> Option<WantedRoom> {
        self.kept_room.rules.as_ref().map(|rules| rules.wanted)
    }

    /// Present room for the wanted instances; `None` if none is kept.
    pub fn room(&self) -> Option<&Arc<ClusterRoom>> {
        let rules = self.kept_room.rules.as_ref()?;
        Some(self.kept_room.now.get_or_init(|| Arc::new(ClusterRoom::of(self, rules))))
    }

    /// Breach of the first allocable group with nodes, if no policy of such groups accepts a size. `None` if one does,
    /// or if there is no such group.
    pub fn refuses_everywhere(&self, size: &RoomSize) -> Option<PolicyBreach> {
        let one = size.together(1);
        let is_open = |node: &&super::node::Node| {
            self.group(node.spec.group).alloc_policy != AllocPolicy::Unallocable && !node.spec.offline
        };
        let verdict = |node: &super::node::Node| {
            self.group(node.spec.group).policy.accepts(&one, node.spec.exclusive_storage)
        };
        let mut first = None;
        for node in self.nodes.iter().filter(is_open) {
            match verdict(node) {
                Ok(()) => return None,
                Err(breach) => {
                    first.get_or_insert(breach);
                }
            }
        }
        first
    }
}
