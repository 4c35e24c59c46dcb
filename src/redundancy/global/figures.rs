//! What decides whether a node can be emptied, as plain numbers.

use super::quick;
use super::relocation::MemoryLoad;
use super::rooms::{ChangedAmounts, Sorted};
use super::simulate;
use crate::model::{Class, Cluster, Instance, Ledger, Mib, NodeIdx, NodeSpec};

/// Sizes from here on are absurd, and could overflow when summed up.
pub(super) const PLAUSIBLE: Mib = Mib(1 << 45);

/// What a node has free.
#[derive(Debug, Clone, Copy)]
pub(super) struct Free {
    pub mem: Mib,
    pub disk: Mib,
    pub spindles: i64,
}

impl Free {
    pub fn of(spec: &NodeSpec, ledger: &Ledger) -> Free {
        Free { mem: ledger.mem_unallocated(spec), disk: ledger.disk_free, spindles: ledger.spindles_free }
    }

    /// Whether sums of such amounts stay within 64 bits.
    pub fn is_plausible(&self) -> bool {
        [self.mem, self.disk].iter().all(|amount| (-PLAUSIBLE..PLAUSIBLE).contains(amount))
    }
}

/// Instances of one class on a node, together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bundle {
    pub count: i64,
    /// Memory in use: of all, of the largest, of the smallest.
    pub mem: Mib,
    pub mem_most: Mib,
    pub mem_least: Mib,
    /// Local disk: of all, of the largest.
    pub disk: Mib,
    pub disk_most: Mib,
    /// Whether the policy accepts all of them on nodes without and with exclusive
    /// storage, where they are to be created anew.
    pub accepted: [bool; 2],
}

impl Bundle {
    /// The memory alone.
    pub fn load(&self) -> MemoryLoad {
        MemoryLoad { count: self.count, mem: self.mem, most: self.mem_most, least: self.mem_least }
    }

    const NONE: Bundle = Bundle {
        count: 0,
        mem: Mib::ZERO,
        mem_most: Mib(i64::MIN),
        mem_least: Mib(i64::MAX),
        disk: Mib::ZERO,
        disk_most: Mib::ZERO,
        accepted: [true; 2],
    };

    fn add(&mut self, instance: &Instance) {
        let mem = instance.mem_in_use();
        self.count += 1;
        self.mem += mem;
        self.mem_most = self.mem_most.max(mem);
        self.mem_least = self.mem_least.min(mem);
        self.disk += instance.local_disk();
        self.disk_most = self.disk_most.max(instance.local_disk());
    }

    /// Asks the policy of the node `spec` as well.
    fn add_anew(&mut self, cluster: &Cluster, spec: &NodeSpec, instance: &Instance) {
        self.add(instance);
        let policy = &cluster.group(spec.group).policy;
        for (exclusive, accepted) in [false, true].into_iter().zip(&mut self.accepted) {
            *accepted &= policy.accepts(instance, exclusive).is_ok();
        }
    }
}

/// The DRBD primaries of a node that have the same secondary.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backed {
    pub mirror: NodeIdx,
    /// Memory in use of all of them.
    pub mem: Mib,
    /// Whether the spindles of all of them are known.
    pub spindles_known: bool,
}

/// What has to leave a node when it is emptied.
#[derive(Debug, Clone)]
pub(super) struct Burden {
    /// DRBD primaries by secondary.
    pub failover: Vec<Backed>,
    pub relocate: Bundle,
    /// The memory in use of what is relocated; what leaves first is last.
    pub relocated: Vec<Mib>,
    pub recreate: Bundle,
    /// Something whose verdict is left to the simulation: absurd sizes, a DRBD
    /// instance without a secondary.
    pub odd: bool,
}

impl Burden {
    fn of(cluster: &Cluster, node: NodeIdx) -> Burden {
        let mut burden = Burden {
            failover: Vec::new(),
            relocate: Bundle::NONE,
            relocated: Vec::new(),
            recreate: Bundle::NONE,
            odd: false,
        };
        let node = cluster.node(node);
        for instance in node.state.primaries.iter().map(|i| cluster.instance(*i)) {
            burden.add(cluster, &node.spec, instance, instance.mirror());
        }
        burden
    }

    /// Adds one instance of the node `spec`.
    pub fn add(&mut self, cluster: &Cluster, spec: &NodeSpec, instance: &Instance, mirror: Option<NodeIdx>) {
        let plausible = Mib::ZERO..PLAUSIBLE;
        self.odd |= [instance.mem, instance.disk].iter().any(|size| !plausible.contains(size));
        match (Class::of(instance.template), mirror) {
            (Class::Relocate, _) => {
                self.relocate.add(instance);
                self.relocated.push(instance.mem_in_use());
            }
            (Class::Recreate, _) => self.recreate.add_anew(cluster, spec, instance),
            (Class::Failover, None) => self.odd = true,
            (Class::Failover, Some(mirror)) => self.back(instance, mirror),
        }
    }

    fn back(&mut self, instance: &Instance, mirror: NodeIdx) {
        let known = instance.spindles.is_some();
        match self.failover.iter_mut().find(|b| b.mirror == mirror) {
            Some(backed) => {
                backed.mem += instance.mem_in_use();
                backed.spindles_known &= known;
            }
            None => self.failover.push(Backed { mirror, mem: instance.mem_in_use(), spindles_known: known }),
        }
    }

    /// Memory that DRBD primaries take on a node when they fail over to it.
    pub fn backed_by(&self, node: NodeIdx) -> Mib {
        self.failover.iter().find(|b| b.mirror == node).map_or(Mib::ZERO, |b| b.mem)
    }

    /// Whether it matters where there is room, not only on the secondaries.
    pub fn needs_escapes(&self) -> bool {
        self.relocate.count > 0 || self.recreate.count > 0
    }
}

/// A set of nodes in numbers.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    /// The set, ascending.
    pub nodes: Vec<NodeIdx>,
    /// By node of the cluster; meaningless outside the set.
    pub free: Vec<Free>,
    /// By node of the cluster; nothing outside the set.
    pub burdens: Vec<Option<Burden>>,
    /// The online nodes of the set, by group.
    pub escapes: Vec<Vec<NodeIdx>>,
    /// The unallocated memory of these, by group.
    rooms: Vec<Sorted>,
    /// Some amounts are absurd: every verdict is left to the simulation.
    pub absurd: bool,
}

impl Figures {
    /// The figures of `nodes` (ascending).
    pub fn of(cluster: &Cluster, nodes: &[NodeIdx]) -> Figures {
        let free: Vec<Free> = cluster.nodes.iter().map(|n| Free::of(&n.spec, &n.state.ledger)).collect();
        let absurd = free.iter().any(|f| !f.is_plausible());
        let mut burdens = vec![None; cluster.nodes.len()];
        let mut escapes = vec![Vec::new(); cluster.groups.len()];
        for &node in nodes {
            burdens[node.get()] = Some(Burden::of(cluster, node));
            let spec = &cluster.node(node).spec;
            if !spec.offline {
                escapes[spec.group.get()].push(node);
            }
        }
        let room = |n: &NodeIdx| free[n.get()].mem;
        let rooms = escapes.iter().map(|nodes| Sorted::of(nodes.iter().map(room))).collect();
        Figures { nodes: nodes.to_vec(), free, burdens, escapes, rooms, absurd }
    }

    /// A node has other amounts free.
    pub fn set_free(&mut self, spec: &NodeSpec, free: Free) {
        let before = std::mem::replace(&mut self.free[spec.idx.get()], free);
        if self.is_escape(spec) {
            self.rooms[spec.group.get()].replace(before.mem, free.mem);
        }
    }

    /// Whether a node is an online one of the set.
    fn is_escape(&self, spec: &NodeSpec) -> bool {
        !spec.offline && self.burdens[spec.idx.get()].is_some()
    }

    /// The memory that the other nodes of a node's group have once its DRBD primaries have
    /// failed over.
    pub fn rooms_for(&self, cluster: &Cluster, node: NodeIdx, burden: &Burden) -> ChangedAmounts<'_> {
        let spec = &cluster.node(node).spec;
        let (mut gone, mut added) = (Vec::new(), Vec::new());
        if self.is_escape(spec) {
            gone.push(self.free[node.get()].mem);
        }
        for backed in burden.failover.iter().filter(|b| b.mirror != node) {
            let mirror = &cluster.node(backed.mirror).spec;
            if mirror.group == spec.group && self.is_escape(mirror) {
                let room = self.free[backed.mirror.get()].mem;
                gone.push(room);
                added.push(room - backed.mem);
            }
        }
        self.rooms[spec.group.get()].changed(gone, added)
    }

    /// What sums say about whether a node of the set could be emptied.
    pub fn verdict(&self, cluster: &Cluster, node: NodeIdx) -> Option<bool> {
        self.burdens[node.get()].as_ref().and_then(|burden| quick::verdict(cluster, self, node, burden))
    }

    /// Whether a node of the set could be emptied.
    pub fn survives_loss_of(&self, cluster: &Cluster, node: NodeIdx) -> bool {
        self.verdict(cluster, node).unwrap_or_else(|| simulate::evacuates(cluster, &self.nodes, node))
    }
}
