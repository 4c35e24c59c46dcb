//! Distance of a cluster from the room that it should keep.
//!
//! Each node has slots for further instances. The lack of a slot is the missing amount relative to the size of an
//! instance, for the resource that misses most. The lack of the cluster is the sum of the smallest lacks of as many
//! slots as are missing. Mirrored instances need slots for primaries, and twice as many for both roles.

use smallvec::SmallVec;

use crate::moves::{Outcome, Trial};
use crate::place::kept_room::RoomChanges;
use htools_model::{Cluster, ClusterRoom, Instance, Ledger, NodeIdx, NodeRoom, NodeSpec, RoomSize};

/// Number of slots of a node that may be filled next.
const SLOTS: usize = 3;

/// Lack of a cluster whose slots are enough, but not in the same group.
const SCATTERED: f64 = 1e-3;

/// Lacks of slots, ascending.
type SlotLacks = SmallVec<[f64; 12]>;

/// Kind of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotKind {
    /// For a primary.
    Primary,
    /// For either role.
    Either,
}

impl SlotKind {
    /// Slots of this kind that a node has.
    fn part(self, room: NodeRoom) -> i64 {
        match self {
            SlotKind::Primary => room.primaries,
            SlotKind::Either => room.total,
        }
    }

    /// Lack of a node for its `count`th instance: the largest of its resources, relative to an instance, and above 0.
    fn lack(self, size: RoomSize, spec: &NodeSpec, ledger: &Ledger, count: i64) -> f64 {
        let relative = |needed: f64, free: f64| {
            if needed > 0.0 { (needed * count as f64 - free) / needed } else { 0.0 }
        };
        let reserve = ledger.mem_reserved.max(ledger.joint.sum);
        let memory = (ledger.mem_unallocated(spec) - reserve).min(ledger.mem_free_planned).as_f64() - 1.0;
        let disk = ledger.disk_free.min(ledger.disk_free_planned).as_f64() - spec.disk_low.as_f64().max(1.0);
        let vcpus = ledger.vcpus.max(ledger.vcpus_planned) as f64;
        let of_vcpus = if self == SlotKind::Primary && spec.vcpu_ratio >= 0.0 {
            relative(size.vcpus as f64, spec.vcpu_ratio * spec.cpu_total - vcpus)
        } else {
            0.0
        };
        let of_disk =
            if size.template.uses_local_storage() { relative(size.disk.as_f64(), disk) } else { 0.0 };
        [relative(size.memory.as_f64(), memory), of_vcpus, of_disk].into_iter().fold(1e-6, f64::max)
    }

    /// Lacks of the next slots of a node, beyond its present room.
    fn next(self, room: &ClusterRoom, spec: &NodeSpec, ledger: &Ledger, now: NodeRoom) -> SlotLacks {
        let wanted = room.wanted();
        if !room.is_open(spec) {
            return SlotLacks::new();
        }
        let first = self.part(now);
        let last = first.saturating_add(SLOTS as i64).min(wanted.count);
        (first + 1..=last).map(|count| self.lack(wanted.size, spec, ledger, count)).collect()
    }
}

/// Slots of one kind.
struct Slots {
    kind: SlotKind,
    /// Number of slots that the wanted instances need.
    needed: i64,
    /// Number of slots that there are.
    there: i64,
    /// Lacks of the next slots of all nodes, the smallest first.
    next: Vec<(f64, NodeIdx)>,
}

impl Slots {
    fn of(cluster: &Cluster, room: &ClusterRoom, kind: SlotKind, needed: i64) -> Slots {
        let mut next: Vec<(f64, NodeIdx)> = Vec::new();
        let mut there = 0;
        for node in &cluster.nodes {
            let (spec, now) = (&node.spec, room.on(node.spec.idx));
            there += kind.part(now);
            let lacks = kind.next(room, spec, &node.state.ledger, now);
            next.extend(lacks.into_iter().map(|lack| (lack, spec.idx)));
        }
        next.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Slots { kind, needed, there, next }
    }

    /// Sum of the smallest lacks once nodes have changed. `slots` are the next ones on these nodes.
    fn lack(&self, room: &ClusterRoom, changes: &[(NodeIdx, NodeRoom)], mut slots: SlotLacks) -> f64 {
        let part = |room: NodeRoom| self.kind.part(room);
        let more: i64 = changes.iter().map(|(node, new)| part(*new) - part(room.on(*node))).sum();
        let is_same = |node: NodeIdx| changes.iter().all(|(other, _)| *other != node);
        slots.sort_by(f64::total_cmp);
        let mut same = self.next.iter().filter(|slot| is_same(slot.1)).map(|slot| slot.0).peekable();
        let mut changed = slots.into_iter().peekable();
        let (mut sum, mut left) = (0.0, self.needed - self.there - more);
        while left > 0 {
            let next = match (same.peek(), changed.peek()) {
                (Some(a), Some(b)) if b < a => changed.next(),
                (Some(_), _) => same.next(),
                (None, _) => changed.next(),
            };
            let Some(lack) = next else { break };
            sum += lack;
            left -= 1;
        }
        // Slots beyond the next few of all nodes are further away than any of them.
        sum + (left.max(0) as f64) * (SLOTS + 1) as f64
    }
}

/// Lacks of the nodes of a cluster; see the module documentation.
pub(super) struct RoomLacks<'a> {
    cluster: &'a Cluster,
    room: ClusterRoom,
    slots: Vec<Slots>,
    now: f64,
}

impl<'a> RoomLacks<'a> {
    /// Examines a cluster in which room is counted as in `room`.
    pub(super) fn of(cluster: &'a Cluster, room: &ClusterRoom) -> RoomLacks<'a> {
        let room = room.recounted(cluster);
        let wanted = room.wanted();
        let mut slots = vec![Slots::of(cluster, &room, SlotKind::Primary, wanted.count)];
        if wanted.size.template.has_secondary() {
            slots.push(Slots::of(cluster, &room, SlotKind::Either, wanted.count.saturating_mul(2)));
        }
        let mut lacks = RoomLacks { cluster, room, slots, now: 0.0 };
        lacks.now = lacks.with(&[], |_| SlotLacks::new());
        lacks
    }

    /// The present lack; 0 if the room is complete.
    pub(super) fn now(&self) -> f64 {
        self.now
    }

    /// Returns true if the node may take instances of the size.
    pub(super) fn is_open(&self, node: NodeIdx) -> bool {
        self.room.is_open(&self.cluster.node(node).spec)
    }

    /// The nodes that have most free beyond their room, ascending. What arrives there takes little room.
    pub(super) fn most_wasteful(&self, nodes: &[NodeIdx], most: usize) -> Vec<NodeIdx> {
        let kind = if self.slots.len() > 1 { SlotKind::Either } else { SlotKind::Primary };
        let next = |node: &NodeIdx| {
            let there = self.cluster.node(*node);
            let (spec, room) = (&there.spec, self.room.on(*node));
            kind.lack(self.room.wanted().size, spec, &there.state.ledger, kind.part(room) + 1)
        };
        let online = nodes.iter().filter(|node| !self.cluster.node(**node).spec.offline);
        let mut nearest: Vec<(f64, NodeIdx)> = online.map(|node| (next(node), *node)).collect();
        nearest.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        nearest.truncate(most);
        let mut nodes: Vec<NodeIdx> = nearest.into_iter().map(|(_, node)| node).collect();
        nodes.sort_unstable();
        nodes
    }

    /// The lack once an instance has left its nodes, if its departure adds room on them or brings some nearer.
    pub(super) fn without(&self, instance: &Instance, trial: &Trial<'_>) -> Option<f64> {
        if !self.may_gain(instance, trial) {
            return None;
        }
        let own =
            [Some((instance.primary, trial.primary_left())), instance.mirror().zip(trial.mirror_left())];
        let own = || own.into_iter().flatten().map(|(node, left)| (&self.cluster.node(node).spec, left));
        let room_of = |(spec, left): (&NodeSpec, &Ledger)| (spec.idx, self.room.node_room(spec, left));
        let changes: RoomChanges = own().map(room_of).collect();
        let next = |kind: SlotKind| {
            own()
                .zip(&changes)
                .flat_map(|((spec, left), (_, now))| kind.next(&self.room, spec, left, *now))
                .collect()
        };
        Some(self.with(&changes, next))
    }

    /// Returns true if the departure of an instance adds room on a node that it leaves, or brings some nearer.
    fn may_gain(&self, instance: &Instance, trial: &Trial<'_>) -> bool {
        let own =
            [(Some(instance.primary), Some(trial.primary_left())), (instance.mirror(), trial.mirror_left())];
        own.into_iter().any(|(node, left)| {
            let (Some(node), Some(left)) = (node, left) else { return false };
            let there = self.cluster.node(node);
            let (before, after) = (self.room.on(node), self.room.node_room(&there.spec, left));
            let is_nearer = |slots: &Slots| {
                let next = |ledger, room| slots.kind.next(&self.room, &there.spec, ledger, room);
                let (old, new) = (next(&there.state.ledger, before), next(left, after));
                new.first().zip(old.first()).is_some_and(|(new, old)| new < old)
            };
            self.room.is_open(&there.spec) && (after != before || self.slots.iter().any(is_nearer))
        })
    }

    /// The lack after a move.
    pub(super) fn after(&self, outcome: &Outcome<'_>) -> f64 {
        let room_of =
            |t: &htools_model::score::Touched<'_>| (t.spec.idx, self.room.node_room(t.spec, &t.after));
        let changes: RoomChanges = outcome.touched().iter().map(room_of).collect();
        self.with(&changes, |kind| {
            let touched = outcome.touched().iter().zip(&changes);
            touched.flat_map(|(t, (_, now))| kind.next(&self.room, t.spec, &t.after, *now)).collect()
        })
    }

    /// The lack once nodes have changed. `next` has the next slots of a kind on these nodes.
    fn with(&self, changes: &[(NodeIdx, NodeRoom)], next: impl Fn(SlotKind) -> SlotLacks) -> f64 {
        let lack: f64 =
            self.slots.iter().map(|slots| slots.lack(&self.room, changes, next(slots.kind))).sum();
        if lack > 0.0 || self.room.count_with(changes) >= self.room.wanted().count { lack } else { SCATTERED }
    }
}
