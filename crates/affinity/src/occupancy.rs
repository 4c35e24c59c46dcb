//! Occupancy of the nodes while machines come and go.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::fleet::{Fleet, FleetNode, Machine};
use super::keys::{CompiledKey, CompiledKeys};
use htools_model::{Mib, Occurrences, TagId, proximity};

/// Occupancy of the nodes of a fleet. Starting and then stopping a machine leaves no trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Occupancy {
    /// Memory of the machines on each node.
    allocated: Vec<Mib>,
    /// Measured free memory of each node.
    free: Vec<Mib>,
    /// Processors of the machines on each node.
    vcpus: Vec<u64>,
    /// For each name of a node's key, the values by node; the operator's keys are compared with them.
    system: HashMap<String, BTreeMap<usize, f64>>,
    /// For each name, the values by node that customers' keys are compared with. Only nodes that have some are listed,
    /// because there can be as many names as machines.
    customer: HashMap<String, BTreeMap<usize, KeyValues>>,
    /// For each node, counts of the tags that keep machines apart, and of the marks.
    tags: Vec<Occurrences<TagId>>,
    /// Zones, as in the fleet.
    zones: HashMap<TagId, Arc<[usize]>>,
}

/// The values of the keys of one name on a node, smallest first, with the number of each.
type KeyValues = Vec<(f64, u32)>;

/// A term of a score: a key of a machine beside a value on a node.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyTerm {
    /// Name of the key.
    pub name: String,
    /// Value on the node.
    pub value: f64,
    /// Number of keys with that value.
    pub count: u32,
    /// Amount added to the score.
    pub worth: f64,
}

/// Reason that a machine cannot be started on a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NodeRefusal {
    /// The node does not run.
    NotRunning,
    /// The memory left to allocate does not exceed the need.
    Promised {
        /// Memory left to allocate, in MiB.
        free: f64,
        /// Memory needed.
        needed: Mib,
    },
    /// The measured free memory does not exceed the need.
    Measured {
        /// Measured free memory.
        free: Mib,
        /// Memory needed.
        needed: Mib,
    },
    /// The machine's first disk is on another node, and cannot be elsewhere.
    DiskElsewhere,
    /// Ganeti's own rules refuse it.
    NoPlace,
    /// The machine cannot be there at all.
    OutOfReach,
    /// A machine with the same exclusion tag runs there.
    Excluded(TagId),
    /// A rule forbids the node.
    Forbidden(TagId),
    /// No machine there has this mark, which the machine must be with.
    Alone(TagId),
}

/// A running machine that is treated as absent.
#[derive(Debug, Clone, Copy)]
pub struct DetachedMachine<'a> {
    node: usize,
    machine: &'a Machine,
    keys: &'a [(String, f64)],
}

impl<'a> DetachedMachine<'a> {
    /// A running machine, with its customer's keys at the time of its start.
    pub(crate) fn of(machine: &'a Machine, keys: &'a [(String, f64)]) -> Option<DetachedMachine<'a>> {
        machine.node.map(|node| DetachedMachine { node, machine, keys })
    }
}

impl Occupancy {
    /// The nodes with the machines that run on them.
    pub fn of(fleet: &Fleet) -> Occupancy {
        let count = fleet.nodes.len();
        let mut occupancy = Occupancy {
            allocated: vec![Mib(0); count],
            free: fleet.nodes.iter().map(|node| node.ram_free).collect(),
            vcpus: vec![0; count],
            system: HashMap::new(),
            customer: HashMap::new(),
            tags: vec![Occurrences::new(); count],
            zones: fleet.zones.clone(),
        };
        for (at, node) in fleet.nodes.iter().enumerate() {
            for key in &node.keys {
                if key.name.starts_with('_') {
                    occupancy.add_customer(at, &key.name, key.value);
                } else {
                    occupancy.system.entry(key.name.clone()).or_default().insert(at, key.value);
                }
            }
        }
        for machine in &fleet.machines {
            if let Some(node) = machine.node {
                occupancy.add(node, machine, &started_with(fleet, machine));
            }
        }
        occupancy
    }

    /// Starts a machine: reduces the free memory and adds its customer's keys.
    pub fn start(&mut self, node: usize, machine: &Machine, keys: &[(String, f64)]) {
        self.free[node] -= machine.ram;
        self.add(node, machine, keys);
    }

    /// Stops a machine that was started with these keys.
    pub fn stop(&mut self, node: usize, machine: &Machine, keys: &[(String, f64)]) {
        self.free[node] += machine.ram;
        self.allocated[node] -= machine.ram;
        self.vcpus[node] -= machine.vcpus;
        self.count(node, machine, -1);
        for (name, value) in keys {
            let Some(column) = self.customer.get_mut(name) else { continue };
            let Some(cell) = column.get_mut(&node) else { continue };
            if let Some(at) = cell.iter().position(|(other, _)| same(*other, *value)) {
                cell[at].1 -= 1;
                if cell[at].1 == 0 {
                    cell.remove(at);
                }
            }
            if cell.is_empty() {
                column.remove(&node);
            }
            if column.is_empty() {
                self.customer.remove(name);
            }
        }
    }

    fn add(&mut self, node: usize, machine: &Machine, keys: &[(String, f64)]) {
        self.allocated[node] += machine.ram;
        self.vcpus[node] += machine.vcpus;
        self.count(node, machine, 1);
        for (name, value) in keys {
            self.add_customer(node, name, *value);
        }
    }

    /// Adds `by` to the counts of a machine's tags and marks, on its node and on all nodes of the same zone.
    fn count(&mut self, node: usize, machine: &Machine, by: i64) {
        for tag in machine.exclusion.iter().chain(machine.marks.iter()) {
            match self.zones.get(&tag) {
                None => self.tags[node].add(tag, by),
                Some(zones) => {
                    let mates = (0..zones.len()).filter(|other| zones[*other] == zones[node]);
                    mates.for_each(|other| self.tags[other].add(tag, by));
                }
            }
        }
    }

    /// Number of machines with a tag or mark on a node, without the absentee.
    fn tagged(&self, node: usize, tag: TagId, detached: Option<DetachedMachine<'_>>) -> i64 {
        let is_here = |own: &DetachedMachine<'_>| match self.zones.get(&tag) {
            None => own.node == node,
            Some(zones) => zones[own.node] == zones[node],
        };
        let has =
            |own: DetachedMachine<'_>| own.machine.exclusion.contains(tag) || own.machine.marks.contains(tag);
        self.tags[node].get(tag) - i64::from(detached.filter(is_here).is_some_and(has))
    }

    fn add_customer(&mut self, node: usize, name: &str, value: f64) {
        let cell = self.customer.entry(name.to_owned()).or_default().entry(node).or_default();
        match cell.binary_search_by(|(other, _)| other.total_cmp(&value)) {
            Ok(at) => cell[at].1 += 1,
            Err(at) => cell.insert(at, (value, 1)),
        }
    }

    /// Reason that a machine cannot be started on a node, if there is one.
    pub(crate) fn refusal(
        &self,
        fleet: &Fleet,
        node: usize,
        machine: &Machine,
        detached: Option<DetachedMachine<'_>>,
    ) -> Option<NodeRefusal> {
        let figures = &fleet.nodes[node];
        if machine.disk_node.is_some_and(|disk| disk != node) {
            return Some(NodeRefusal::DiskElsewhere);
        }
        if let Ok(at) = machine.forbidden.binary_search_by_key(&node, |(node, _)| *node) {
            return Some(NodeRefusal::Forbidden(machine.forbidden[at].1));
        }
        if machine.reach.as_ref().is_some_and(|reach| reach.binary_search(&node).is_err()) {
            return Some(NodeRefusal::OutOfReach);
        }
        if !figures.running {
            return Some(NodeRefusal::NotRunning);
        }
        let is_there = |tag: &TagId| self.tagged(node, *tag, detached) > 0;
        if let Some(tag) = machine.exclusion.iter().find(is_there) {
            return Some(NodeRefusal::Excluded(tag));
        }
        if let Some(mark) = machine.beside.iter().find(|mark| !is_there(mark)) {
            return Some(NodeRefusal::Alone(mark));
        }
        let needed = machine.ram + fleet.options.overhead;
        let own = detached.filter(|own| own.node == node).map_or(Mib(0), |own| own.machine.ram);
        let allocated = self.allocated[node] - own;
        let promised = figures.ram_total.as_f64() * figures.ram_ratio - allocated.as_f64();
        if promised <= needed.as_f64() {
            return Some(NodeRefusal::Promised { free: promised, needed });
        }
        let free = self.free[node] + own;
        (free <= needed).then_some(NodeRefusal::Measured { free, needed })
    }

    /// Used share of a node, between 0 and 1: the value of a special key.
    fn special(
        &self,
        figures: &FleetNode,
        node: usize,
        name: &str,
        detached: Option<DetachedMachine<'_>>,
    ) -> Option<f64> {
        let own = detached.filter(|own| own.node == node).map(|own| own.machine);
        let part = |used: f64, all: f64| if all > 0.0 { (used / all).clamp(0.0, 1.0) } else { 1.0 };
        match name {
            "#RAM" => {
                let allocated = self.allocated[node] - own.map_or(Mib::ZERO, |own| own.ram);
                Some(part(allocated.as_f64(), figures.ram_total.as_f64() * figures.ram_ratio))
            }
            "#CPU" => {
                let vcpus = self.vcpus[node].saturating_sub(own.map_or(0, |own| own.vcpus));
                Some(part(vcpus as f64, figures.cpus as f64 * figures.cpu_ratio))
            }
            "#LOAD" => Some(figures.load.clamp(0.0, 1.0)),
            _ => None,
        }
    }

    /// For each node, the score by the operator's keys of a machine, summed in the order of their names.
    pub fn system_scores(
        &self,
        fleet: &Fleet,
        keys: &CompiledKeys,
        detached: Option<DetachedMachine<'_>>,
    ) -> Vec<f64> {
        let mut scores = vec![0.0; fleet.nodes.len()];
        for key in &keys.system {
            let mut add = |node: usize, value| scores[node] += proximity(value, key.value) * key.weight;
            if key.name.starts_with('#') {
                for (node, figures) in fleet.nodes.iter().enumerate() {
                    self.special(figures, node, &key.name, detached)
                        .into_iter()
                        .for_each(|value| add(node, value));
                }
            } else {
                self.system.get(&key.name).into_iter().flatten().for_each(|(node, value)| add(*node, *value));
            }
        }
        scores
    }

    fn system_value(
        &self,
        fleet: &Fleet,
        node: usize,
        key: &CompiledKey,
        detached: Option<DetachedMachine<'_>>,
    ) -> Option<f64> {
        if key.name.starts_with('#') {
            self.special(&fleet.nodes[node], node, &key.name, detached)
        } else {
            self.system.get(&key.name)?.get(&node).copied()
        }
    }

    /// For each node, the score by the customer's keys of a machine, with every matching key counted, summed in the
    /// order of their names.
    pub(crate) fn customer_scores(
        &self,
        keys: &CompiledKeys,
        detached: Option<DetachedMachine<'_>>,
    ) -> Vec<f64> {
        let mut scores = vec![0.0; self.allocated.len()];
        for key in &keys.customer {
            for (node, cell) in self.customer.get(&key.name).into_iter().flatten() {
                let near = cell.iter().map(|(value, count)| {
                    let count = count - u32::from(is_of(detached, *node, &key.name, *value));
                    f64::from(count) * proximity(*value, key.value)
                });
                scores[*node] += near.sum::<f64>() * key.weight;
            }
        }
        scores
    }

    /// The terms of a node's scores: the operator's part and the customer's.
    pub(crate) fn terms(
        &self,
        fleet: &Fleet,
        keys: &CompiledKeys,
        node: usize,
        detached: Option<DetachedMachine<'_>>,
    ) -> [Vec<KeyTerm>; 2] {
        let system = keys.system.iter().filter_map(|key| {
            let value = self.system_value(fleet, node, key, detached)?;
            let worth = proximity(value, key.value) * key.weight;
            Some(KeyTerm { name: key.name.clone(), value, count: 1, worth })
        });
        let customer = keys.customer.iter().flat_map(|key| {
            let cell = self.customer.get(&key.name).and_then(|column| column.get(&node));
            cell.into_iter().flatten().filter_map(move |(value, count)| {
                let count = count - u32::from(is_of(detached, node, &key.name, *value));
                let worth = f64::from(count) * proximity(*value, key.value) * key.weight;
                (count > 0).then(|| KeyTerm { name: key.name.clone(), value: *value, count, worth })
            })
        });
        [system.collect(), customer.collect()]
    }
}

/// The customer's keys with which a machine was started.
pub fn started_with(fleet: &Fleet, machine: &Machine) -> Vec<(String, f64)> {
    let now = || fleet.compiled(machine).customer.into_iter().map(|key| (key.name, key.value)).collect();
    machine.started_with.clone().unwrap_or_else(now)
}

/// Tells if the absentee brought this key to the node.
fn is_of(detached: Option<DetachedMachine<'_>>, node: usize, name: &str, value: f64) -> bool {
    detached.is_some_and(|own| {
        own.node == node && own.keys.iter().any(|(other, with)| other == name && same(*with, value))
    })
}

/// Compares values by their bits, so that a value is found again when its machine leaves.
fn same(one: f64, other: f64) -> bool {
    one.total_cmp(&other).is_eq()
}
