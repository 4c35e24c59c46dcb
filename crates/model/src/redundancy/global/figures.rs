//! Plain numbers that decide whether a node can be emptied.

use std::collections::HashMap;

use super::quick;
use super::relocation::MemoryLoad;
use super::rooms::{ChangedAmounts, Sorted};
use super::{Departures, simulate};
use crate::{
    Class, Cluster, GroupIdx, GroupOffers, Instance, Ledger, Mib, NodeIdx, NodeSet, NodeSpec, TagSet,
};

/// Sizes from here on are implausible, and their sums could overflow.
pub(super) const PLAUSIBLE: Mib = Mib(1 << 45);

/// Free amounts of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Free {
    pub mem: Mib,
    pub disk: Mib,
    pub spindles: i64,
}

impl Free {
    const NONE: Free = Free { mem: Mib::ZERO, disk: Mib::ZERO, spindles: 0 };

    pub(super) fn of(spec: &NodeSpec, ledger: &Ledger) -> Free {
        Free { mem: ledger.mem_unallocated(spec), disk: ledger.disk_free, spindles: ledger.spindles_free }
    }

    /// Tells if sums of such amounts fit into 64 bits.
    pub(super) fn is_plausible(&self) -> bool {
        [self.mem, self.disk].iter().all(|amount| (-PLAUSIBLE..PLAUSIBLE).contains(amount))
    }
}

/// Totals of the instances of one class on a node.
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
    /// True if the policy accepts all of them on nodes without (0) and with (1) exclusive storage, where they would be
    /// recreated.
    pub accepted: [bool; 2],
}

impl Bundle {
    /// The memory alone.
    pub(super) fn load(&self) -> MemoryLoad {
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

    /// Adds an instance that is to be recreated, checking it against the policy of the node `spec`.
    fn add_anew(&mut self, cluster: &Cluster, spec: &NodeSpec, instance: &Instance) {
        self.add(instance);
        let policy = &cluster.group(spec.group).policy;
        for (exclusive, accepted) in [false, true].into_iter().zip(&mut self.accepted) {
            *accepted &= policy.accepts(instance, exclusive).is_ok();
        }
    }
}

/// The DRBD primaries of a node that share a secondary.
#[derive(Debug, Clone, Copy)]
pub(super) struct PrimariesBySecondary {
    pub mirror: NodeIdx,
    /// Memory in use by all of them.
    pub mem: Mib,
    /// True if the spindles of all of them are known.
    pub spindles_known: bool,
}

/// The instances that must leave a node when it is emptied.
#[derive(Debug, Clone)]
pub(super) struct InstancesToLeave {
    /// DRBD primaries by secondary.
    pub failover: Vec<PrimariesBySecondary>,
    pub relocate: Bundle,
    /// Distinct sets of pools that the relocated instances need. Only pools that some node of the group lacks are
    /// included.
    pub needs: Vec<TagSet>,
    /// Memory in use of each relocated instance, in the order of the node's list.
    relocated: Vec<Mib>,
    pub recreate: Bundle,
    /// Set if only the simulation can decide: implausible sizes, or a DRBD instance without a secondary.
    pub odd: bool,
}

impl InstancesToLeave {
    fn of(cluster: &Cluster, node: NodeIdx) -> InstancesToLeave {
        let mut burden = InstancesToLeave {
            failover: Vec::new(),
            relocate: Bundle::NONE,
            needs: Vec::new(),
            relocated: Vec::new(),
            recreate: Bundle::NONE,
            odd: false,
        };
        let node = cluster.node(node);
        for instance in node.state.primaries.iter().map(|i| cluster.instance(*i)) {
            burden.add(cluster, &node.spec, instance, (&instance.needs, instance.mirror()));
        }
        burden
    }

    /// Adds an instance of the node `spec`, with the pools that it needs and its secondary node there.
    pub(super) fn add(
        &mut self,
        cluster: &Cluster,
        spec: &NodeSpec,
        instance: &Instance,
        (pools, mirror): (&TagSet, Option<NodeIdx>),
    ) {
        let plausible = Mib::ZERO..PLAUSIBLE;
        self.odd |= [instance.mem, instance.disk].iter().any(|size| !plausible.contains(size));
        match (Class::of(instance.template), mirror) {
            (Class::Relocate, _) => {
                self.relocate.add(instance);
                self.need(&cluster.group(spec.group).offers, pools);
                self.relocated.push(instance.mem_in_use());
            }
            (Class::Recreate, _) => {
                self.odd |= cluster.group(spec.group).offers.lack(pools);
                self.recreate.add_anew(cluster, spec, instance);
            }
            (Class::Failover, None) => self.odd = true,
            (Class::Failover, Some(mirror)) => self.back(instance, mirror),
        }
    }

    fn need(&mut self, there: &GroupOffers, pools: &TagSet) {
        let known = if there.lack(pools) { pools } else { &TagSet::default() };
        if !self.needs.contains(known) {
            self.needs.push(known.clone());
        }
    }

    fn back(&mut self, instance: &Instance, mirror: NodeIdx) {
        let known = instance.spindles.is_some();
        match self.failover.iter_mut().find(|b| b.mirror == mirror) {
            Some(backed) => {
                backed.mem += instance.mem_in_use();
                backed.spindles_known &= known;
            }
            None => self.failover.push(PrimariesBySecondary {
                mirror,
                mem: instance.mem_in_use(),
                spindles_known: known,
            }),
        }
    }

    /// Memory in use of each relocated instance, in order of departure.
    pub(super) fn in_order(&self, departures: Departures) -> Vec<Mib> {
        let mut sizes: Vec<Mib> = self.relocated.iter().rev().copied().collect();
        departures.sort_sizes(&mut sizes);
        sizes
    }

    /// Memory that DRBD primaries take on a node when they fail over to it.
    pub(super) fn backed_by(&self, node: NodeIdx) -> Mib {
        self.failover.iter().find(|b| b.mirror == node).map_or(Mib::ZERO, |b| b.mem)
    }

    /// Tells if only some nodes can take the instances relocated from the node `spec`.
    pub(super) fn is_restricted(&self, spec: &NodeSpec) -> bool {
        !spec.migration_tags.is_empty() || self.needs.iter().any(|need| !need.is_empty())
    }

    /// Tells if room on nodes other than the secondaries matters.
    pub(super) fn needs_escapes(&self) -> bool {
        self.relocate.count > 0 || self.recreate.count > 0
    }
}

/// The online nodes of one group of a set.
#[derive(Debug, Clone)]
struct EscapeGroup {
    group: GroupIdx,
    nodes: Vec<NodeIdx>,
    /// Unallocated memory of the nodes.
    rooms: Sorted,
}

/// Figures of a set of nodes. Their memory is proportional to the size of the set, not of the cluster.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    set: NodeSet,
    /// By position in the set.
    free: Vec<Free>,
    /// Free amounts of nodes outside the set that are secondaries for nodes in it.
    free_outside: HashMap<NodeIdx, Free>,
    /// By position in the set.
    burdens: Vec<InstancesToLeave>,
    /// By group of the set, ascending.
    groups: Vec<EscapeGroup>,
    /// Order in which relocated instances leave a node.
    departures: Departures,
    /// Some amounts are implausible: every verdict is left to the simulation.
    pub absurd: bool,
}

impl Figures {
    /// The figures of `nodes` (ascending).
    pub(super) fn of(cluster: &Cluster, nodes: &[NodeIdx], departures: Departures) -> Figures {
        let set = NodeSet::of(cluster.nodes.len(), nodes);
        let free_of = |node: NodeIdx| {
            let node = cluster.node(node);
            Free::of(&node.spec, &node.state.ledger)
        };
        let free: Vec<Free> = nodes.iter().map(|n| free_of(*n)).collect();
        let burdens: Vec<InstancesToLeave> =
            nodes.iter().map(|n| InstancesToLeave::of(cluster, *n)).collect();
        let mirrors = burdens.iter().flat_map(|burden| &burden.failover).map(|backed| backed.mirror);
        let outside = mirrors.filter(|mirror| set.position(*mirror).is_none());
        let free_outside: HashMap<NodeIdx, Free> = outside.map(|node| (node, free_of(node))).collect();
        let absurd = free.iter().chain(free_outside.values()).any(|f| !f.is_plausible());
        let groups = escape_groups(cluster, nodes, &free);
        Figures { set, free, free_outside, burdens, groups, departures, absurd }
    }

    /// Order in which relocated instances leave a node.
    pub(super) fn departures(&self) -> Departures {
        self.departures
    }

    /// The set, ascending.
    pub(super) fn nodes(&self) -> &[NodeIdx] {
        self.set.nodes()
    }

    /// Free amounts of a node that is in the set, is a secondary for the set, or was given amounts by
    /// [`set_free`](Self::set_free).
    pub(super) fn free(&self, node: NodeIdx) -> Free {
        match self.set.position(node) {
            Some(at) => self.free[at],
            None => self.free_outside.get(&node).copied().unwrap_or(Free::NONE),
        }
    }

    /// Sets the free amounts of a node.
    pub(super) fn set_free(&mut self, spec: &NodeSpec, free: Free) {
        let Some(at) = self.set.position(spec.idx) else {
            self.free_outside.insert(spec.idx, free);
            return;
        };
        let before = std::mem::replace(&mut self.free[at], free);
        if let Some(group) = self.group_at(spec.group).filter(|_| !spec.offline) {
            self.groups[group].rooms.replace(before.mem, free.mem);
        }
    }

    /// The burden of a node of the set.
    pub(super) fn burden(&self, node: NodeIdx) -> Option<&InstancesToLeave> {
        self.set.position(node).map(|at| &self.burdens[at])
    }

    /// Mutable burden of a node of the set.
    pub(super) fn burden_mut(&mut self, node: NodeIdx) -> Option<&mut InstancesToLeave> {
        self.set.position(node).map(|at| &mut self.burdens[at])
    }

    /// The online nodes of the set in a group.
    pub(super) fn escapes(&self, group: GroupIdx) -> &[NodeIdx] {
        self.group_at(group).map_or(&[], |at| &self.groups[at].nodes)
    }

    fn group_at(&self, group: GroupIdx) -> Option<usize> {
        self.groups.binary_search_by_key(&group, |g| g.group).ok()
    }

    /// Tells if a node is online and in the set.
    fn is_escape(&self, spec: &NodeSpec) -> bool {
        !spec.offline && self.set.position(spec.idx).is_some()
    }

    /// Unallocated memory of the other nodes of a node's group, after its DRBD primaries have failed over.
    pub(super) fn rooms_for(
        &self,
        cluster: &Cluster,
        node: NodeIdx,
        burden: &InstancesToLeave,
    ) -> ChangedAmounts<'_> {
        let spec = &cluster.node(node).spec;
        let (mut gone, mut added) = (Vec::new(), Vec::new());
        if self.is_escape(spec) {
            gone.push(self.free(node).mem);
        }
        for backed in burden.failover.iter().filter(|b| b.mirror != node) {
            let mirror = &cluster.node(backed.mirror).spec;
            if mirror.group == spec.group && self.is_escape(mirror) {
                let room = self.free(backed.mirror).mem;
                gone.push(room);
                added.push(room - backed.mem);
            }
        }
        static NOWHERE: Sorted = Sorted::NONE;
        let rooms = self.group_at(spec.group).map_or(&NOWHERE, |at| &self.groups[at].rooms);
        rooms.changed(gone, added)
    }

    /// Verdict by sums on whether a node of the set can be emptied; `None` if they leave it open.
    pub(super) fn verdict(&self, cluster: &Cluster, node: NodeIdx) -> Option<bool> {
        self.burden(node).and_then(|burden| quick::verdict(cluster, self, node, burden))
    }

    /// Tells if a node of the set can be emptied.
    pub(super) fn survives_loss_of(&self, cluster: &Cluster, node: NodeIdx) -> bool {
        let simulated = || simulate::evacuates(cluster, self.nodes(), node, self.departures);
        self.verdict(cluster, node).unwrap_or_else(simulated)
    }
}

/// The online nodes among `nodes` (ascending) by group; `free` has the free amounts of `nodes`.
fn escape_groups(cluster: &Cluster, nodes: &[NodeIdx], free: &[Free]) -> Vec<EscapeGroup> {
    let online = nodes.iter().zip(free).filter(|(node, _)| !cluster.node(**node).spec.offline);
    let mut online: Vec<(GroupIdx, NodeIdx, Mib)> =
        online.map(|(node, free)| (cluster.node(*node).spec.group, *node, free.mem)).collect();
    online.sort_unstable_by_key(|(group, node, _)| (*group, *node));
    let of_one = |members: &[(GroupIdx, NodeIdx, Mib)]| EscapeGroup {
        group: members[0].0,
        nodes: members.iter().map(|member| member.1).collect(),
        rooms: Sorted::of(members.iter().map(|member| member.2)),
    };
    online.chunk_by(|a, b| a.0 == b.0).map(of_one).collect()
}
