//! Places of instances, and the resulting figures of nodes. Figures that can be recomputed are not stored.

use std::collections::{BTreeMap, BTreeSet};

use super::Replay;
use htools_model::units::trunc_to_i64;
use htools_model::{
    Cluster, Instance, InstanceIdx, KeyIdx, Mib, NodeIdx, NodeSpec, Occurrences, Placement, TagId,
    Utilisation,
};

/// The instances of a node, forthcoming ones included.
#[derive(Debug, Clone, Default)]
struct Residents {
    primaries: BTreeSet<InstanceIdx>,
    secondaries: BTreeSet<InstanceIdx>,
}

/// Placement of one instance. In the middle of a move a role may be vacant.
#[derive(Debug, Clone, Copy)]
struct InstanceRoles {
    primary: Option<NodeIdx>,
    secondary: Option<NodeIdx>,
    /// The node against whose failure the secondary reserves memory.
    reserved_against: NodeIdx,
}

/// Figures of a node that cannot be computed from its instances.
#[derive(Debug, Clone, Copy)]
struct History {
    /// The N+1 flag from before the plan, which holds until something changes on the node.
    flagged: Option<bool>,
    spindles_free: i64,
    spindles_free_planned: i64,
}

/// The figures of one node that are subject to rules.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NodeFigures {
    pub mem_unallocated: Mib,
    pub mem_reserved: Mib,
    /// Reserve for the loss of several nodes at once, if more than N+1 is required.
    pub kept: Option<Mib>,
    pub mem_free_planned: Mib,
    pub disk_free: Mib,
    pub disk_free_planned: Mib,
    pub vcpus: i64,
    pub vcpus_planned: i64,
    /// Measured processor load of the primaries.
    pub cpu_load: f64,
    pub spindles_used: f64,
    pub spindles_used_planned: f64,
    pub spindles_free: i64,
    pub spindles_free_planned: i64,
    pub n1_fail: bool,
}

/// The cluster during a plan.
pub(crate) struct ReplayedCluster<'a> {
    pub cluster: &'a Cluster,
    places: Vec<InstanceRoles>,
    /// For each node, its instances at the start and now.
    before: Vec<Residents>,
    now: Vec<Residents>,
    history: Vec<History>,
    /// For copies that are about to go, the primary node against whose loss they reserve memory.
    lingering: BTreeMap<(NodeIdx, InstanceIdx), NodeIdx>,
    /// Memory that may be missing where the step under way arrives.
    pub conceded: Mib,
}

impl<'a> ReplayedCluster<'a> {
    pub(crate) fn new(cluster: &'a Cluster) -> ReplayedCluster<'a> {
        let mut residents = vec![Residents::default(); cluster.nodes.len()];
        let mut places = Vec::with_capacity(cluster.instances.len());
        for instance in &cluster.instances {
            residents[instance.primary.get()].primaries.insert(instance.idx);
            if let Some(secondary) = instance.secondary {
                residents[secondary.get()].secondaries.insert(instance.idx);
            }
            places.push(InstanceRoles {
                primary: Some(instance.primary),
                secondary: instance.secondary,
                reserved_against: instance.primary,
            });
        }
        let history = cluster.nodes.iter().map(|node| History {
            flagged: Some(node.state.ledger.n1_fail),
            spindles_free: node.state.ledger.spindles_free,
            spindles_free_planned: node.state.ledger.spindles_free_planned,
        });
        ReplayedCluster {
            cluster,
            places,
            history: history.collect(),
            before: residents.clone(),
            now: residents,
            lingering: BTreeMap::new(),
            conceded: Mib::ZERO,
        }
    }

    pub(crate) fn instance(&self, idx: InstanceIdx) -> &'a Instance {
        self.cluster.instance(idx)
    }

    /// The affinity keys of a node itself.
    pub(crate) fn own_keys(&self, node: NodeIdx) -> Occurrences<KeyIdx> {
        let state = &self.cluster.node(node).state;
        let mut keys = state.key_count.clone();
        state.primaries.iter().for_each(|i| keys.add_keys(&self.instance(*i).keys, -1));
        keys
    }

    pub(crate) fn spec(&self, node: NodeIdx) -> &'a NodeSpec {
        &self.cluster.node(node).spec
    }

    /// Placements of all instances now.
    pub(crate) fn replay(&self) -> Replay {
        Replay { placements: self.cluster.instances.iter().map(|i| self.placement(i.idx)).collect() }
    }

    /// A placement in words.
    pub(crate) fn show(&self, at: Placement) -> String {
        let name = |node: NodeIdx| &self.spec(node).name;
        let secondary = at.secondary.map(|s| format!(":{}", name(s))).unwrap_or_default();
        format!("'{}{secondary}'", name(at.primary))
    }

    /// Placement of an instance; outside of moves every instance has a primary.
    pub(crate) fn placement(&self, instance: InstanceIdx) -> Placement {
        let place = self.places[instance.get()];
        let primary = place.primary.unwrap_or_else(|| self.instance(instance).primary);
        Placement { primary, secondary: place.secondary }
    }

    /// Removes the instance from its nodes. Only mirrored instances give up the secondary role, because it has no
    /// meaning for others and never changes.
    pub(crate) fn leave_all(&mut self, instance: InstanceIdx) {
        self.leave_primary(instance);
        if !self.instance(instance).template.has_secondary() {
            return;
        }
        if let Some(node) = self.places[instance.get()].secondary.take() {
            self.now[node.get()].secondaries.remove(&instance);
            self.note_change(instance, node, false);
        }
    }

    pub(crate) fn leave_primary(&mut self, instance: InstanceIdx) {
        if let Some(node) = self.places[instance.get()].primary.take() {
            self.now[node.get()].primaries.remove(&instance);
            self.note_change(instance, node, false);
        }
    }

    pub(crate) fn enter_primary(&mut self, instance: InstanceIdx, node: NodeIdx) {
        self.places[instance.get()].primary = Some(node);
        self.now[node.get()].primaries.insert(instance);
        self.note_change(instance, node, true);
    }

    /// Makes `node` the secondary of an instance that is or will be on `primary`.
    pub(crate) fn enter_secondary(&mut self, instance: InstanceIdx, node: NodeIdx, primary: NodeIdx) {
        let place = &mut self.places[instance.get()];
        place.secondary = Some(node);
        place.reserved_against = primary;
        self.now[node.get()].secondaries.insert(instance);
        self.note_change(instance, node, true);
    }

    /// Moves an instance to the result of a step without checking any rule.
    pub(crate) fn jump(&mut self, instance: InstanceIdx, to: Placement) {
        self.leave_all(instance);
        self.enter_primary(instance, to.primary);
        let mirrored = self.instance(instance).template.has_secondary();
        if let Some(secondary) = to.secondary.filter(|_| mirrored) {
            self.enter_secondary(instance, secondary, to.primary);
        }
    }

    /// Keeps an instance that was replayed as gone on a node. It runs there, or has a copy there that reserves memory
    /// for the loss of `backed`.
    pub(crate) fn linger(&mut self, instance: InstanceIdx, node: NodeIdx, as_primary: bool, backed: NodeIdx) {
        if as_primary {
            self.now[node.get()].primaries.insert(instance)
        } else {
            self.lingering.insert((node, instance), backed);
            self.now[node.get()].secondaries.insert(instance)
        };
        // Unknown spindles were not subtracted when it left.
        if self.instance(instance).spindles.is_some() || !self.spec(node).exclusive_storage {
            self.note_change(instance, node, true);
        }
    }

    /// Removes an instance that was kept on a node.
    pub(crate) fn vanish(&mut self, instance: InstanceIdx, node: NodeIdx, as_primary: bool) {
        if as_primary {
            self.now[node.get()].primaries.remove(&instance)
        } else {
            self.lingering.remove(&(node, instance));
            self.now[node.get()].secondaries.remove(&instance)
        };
        self.note_change(instance, node, false);
    }

    /// Removes the copy of an instance that was replayed as there but has not arrived yet.
    pub(crate) fn defer_secondary(&mut self, instance: InstanceIdx, node: NodeIdx) {
        self.now[node.get()].secondaries.remove(&instance);
        self.note_change(instance, node, false);
    }

    /// Adds the copy once it has arrived.
    pub(crate) fn come_as_secondary(&mut self, instance: InstanceIdx, node: NodeIdx) {
        self.now[node.get()].secondaries.insert(instance);
        self.note_change(instance, node, true);
    }

    fn note_change(&mut self, instance: InstanceIdx, node: NodeIdx, arrives: bool) {
        let (instance, spec) = (self.instance(instance), self.spec(node));
        let history = &mut self.history[node.get()];
        let count = |free: i64| match (spec.exclusive_storage, arrives, instance.spindles) {
            (false, ..) => 0,
            (true, true, Some(spindles)) => free.wrapping_sub(spindles),
            // Its number of spindles is unknown, so there count as too few.
            (true, true, None) => -1,
            (true, false, spindles) => free.wrapping_add(spindles.unwrap_or(0)),
        };
        history.spindles_free_planned = count(history.spindles_free_planned);
        if !instance.forthcoming {
            history.spindles_free = count(history.spindles_free);
            history.flagged = None;
        }
    }

    fn list<'s>(&'s self, set: &'s BTreeSet<InstanceIdx>) -> impl Iterator<Item = &'a Instance> + 's {
        set.iter().map(|i| self.cluster.instance(*i))
    }

    /// The existing primaries of a node.
    pub(crate) fn primaries(&self, node: NodeIdx) -> impl Iterator<Item = &'a Instance> + '_ {
        self.list(&self.now[node.get()].primaries).filter(|i| !i.forthcoming)
    }

    /// The existing secondaries of a node.
    pub(crate) fn secondaries(&self, node: NodeIdx) -> impl Iterator<Item = &'a Instance> + '_ {
        self.list(&self.now[node.get()].secondaries).filter(|i| !i.forthcoming)
    }

    /// Number of primaries of a node, forthcoming included, that have each exclusion tag.
    pub(crate) fn tag_counts(&self, node: NodeIdx) -> BTreeMap<TagId, i64> {
        let mut counts = BTreeMap::new();
        for tag in self.list(&self.now[node.get()].primaries).flat_map(|i| &i.exclusion_tags) {
            *counts.entry(*tag).or_insert(0) += 1;
        }
        counts
    }

    /// Number of primaries of a node, forthcoming included, that have each exclusion tag, however often.
    pub(crate) fn tag_holders(&self, node: NodeIdx) -> BTreeMap<TagId, i64> {
        let mut counts = BTreeMap::new();
        for instance in self.list(&self.now[node.get()].primaries) {
            let tags: BTreeSet<TagId> = instance.exclusion_tags.iter().copied().collect();
            tags.into_iter().for_each(|tag| *counts.entry(tag).or_insert(0) += 1);
        }
        counts
    }

    /// Number of an instance's location tags that both of its nodes have.
    pub(crate) fn location_score(&self, instance: &Instance) -> i64 {
        let place = self.placement(instance.idx);
        match place.secondary.filter(|_| instance.template.has_secondary()) {
            Some(secondary) => {
                let other = &self.spec(secondary).location_tags;
                self.spec(place.primary).location_tags.iter().filter(|tag| other.contains(*tag)).count()
                    as i64
            }
            None => instance.location_score,
        }
    }

    /// The load of a node: that at the start, less those that left, plus those that arrived.
    pub(crate) fn load(&self, node: NodeIdx) -> Utilisation {
        let (before, now) = (&self.before[node.get()], &self.now[node.get()]);
        let mut load = self.cluster.node(node).state.ledger.load;
        let real = |set: &BTreeSet<InstanceIdx>, other: &BTreeSet<InstanceIdx>| {
            set.difference(other).map(|i| self.instance(*i)).filter(|i| !i.forthcoming).collect::<Vec<_>>()
        };
        for instance in real(&before.primaries, &now.primaries) {
            load = load - instance.util;
        }
        for instance in real(&now.primaries, &before.primaries) {
            load = load + instance.util;
        }
        for instance in real(&before.secondaries, &now.secondaries) {
            load.disk -= instance.util.disk;
        }
        for instance in real(&now.secondaries, &before.secondaries) {
            load.disk += instance.util.disk;
        }
        load
    }

    /// Sums up a node's figures.
    pub(crate) fn figures(&self, node: NodeIdx) -> NodeFigures {
        let spec = self.spec(node);
        let start = &self.cluster.node(node).state.ledger;
        let (before, now) = (&self.before[node.get()], &self.now[node.get()]);
        let history = self.history[node.get()];

        let mem = |on: &Residents| self.list(&on.primaries).map(|i| i.mem).sum::<Mib>();
        let disk = |on: &Residents, planned: bool| {
            let all = self.list(&on.primaries).chain(self.list(&on.secondaries));
            let local = all.filter(|i| i.template.uses_local_storage() && (planned || !i.forthcoming));
            local.map(|i| i.disk).sum::<Mib>()
        };
        let vcpus = |planned: bool| {
            let counted = self.list(&now.primaries).filter(|i| planned || !i.forthcoming);
            counted.filter(|i| !i.status.is_offline()).fold(spec.cpu_node, |sum, i| sum.wrapping_add(i.vcpus))
        };
        let spindles = |planned: bool| {
            let all = self.list(&now.primaries).chain(self.list(&now.secondaries));
            let local = all.filter(|i| i.template.uses_local_storage() && (planned || !i.forthcoming));
            if spec.exclusive_storage { 0.0 } else { local.map(|i| i.spindle_use as f64).sum() }
        };

        let in_use = self.primaries(node).filter(|i| i.status.uses_memory()).map(|i| i.mem).sum::<Mib>();
        let lost = spec.mem_unaccounted.max(Mib::ZERO);
        let mem_unallocated = Mib(trunc_to_i64(spec.mem_total)) - spec.mem_node - lost - in_use;
        let mut reserves: Vec<Mib> = self.reserves(node).into_values().collect();
        reserves.sort_unstable();
        let mem_reserved = reserves.last().map_or(Mib::ZERO, |most| (*most).max(Mib::ZERO));
        let kept = || reserves.iter().rev().take(spec.joint_losses).copied().sum();
        NodeFigures {
            mem_unallocated,
            mem_reserved,
            kept: (spec.joint_losses > 1).then(kept),
            mem_free_planned: start.mem_free_planned + mem(before) - mem(now),
            disk_free: start.disk_free + disk(before, false) - disk(now, false),
            disk_free_planned: start.disk_free_planned + disk(before, true) - disk(now, true),
            vcpus: vcpus(false),
            vcpus_planned: vcpus(true),
            cpu_load: self.primaries(node).map(|i| i.util.cpu).sum(),
            spindles_used: spindles(false),
            spindles_used_planned: spindles(true),
            spindles_free: history.spindles_free,
            spindles_free_planned: history.spindles_free_planned,
            n1_fail: history.flagged.unwrap_or(mem_unallocated <= mem_reserved),
        }
    }

    /// Memory that a node reserves against the failure of each other node.
    pub(crate) fn reserves(&self, node: NodeIdx) -> BTreeMap<NodeIdx, Mib> {
        let mut reserves = BTreeMap::new();
        for instance in self.secondaries(node) {
            let placed = self.places[instance.idx.get()].reserved_against;
            let against = *self.lingering.get(&(node, instance.idx)).unwrap_or(&placed);
            *reserves.entry(against).or_insert(Mib::ZERO) += reserve(instance);
        }
        reserves
    }
}

/// The memory that a secondary node reserves for an instance.
pub(super) fn reserve(instance: &Instance) -> Mib {
    if instance.auto_balance && !instance.status.is_offline() { instance.mem } else { Mib::ZERO }
}
