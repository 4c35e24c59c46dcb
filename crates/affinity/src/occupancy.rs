//! What runs on each node, while machines come and go.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::fleet::{Fleet, FleetNode, Machine};
use super::keys::{CompiledKey, CompiledKeys};
use htools_model::{Mib, Occurrences, TagId, proximity};

/// What runs on the nodes of a fleet. What is started and stopped again leaves no trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Occupancy {
    /// By node, the memory of its machines.
    allocated: Vec<Mib>,
    /// By node, the memory that is really free.
    free: Vec<Mib>,
    /// By node, the processors of its machines.
    vcpus: Vec<u64>,
    /// By name, the values of the nodes' keys that the operator's are compared with.
    system: HashMap<String, BTreeMap<usize, f64>>,
    /// By name, what customers' keys are compared with: by node, the values. Only nodes that have some are there, as names
    /// can be as many as machines.
    customer: HashMap<String, BTreeMap<usize, KeyValues>>,
    /// By node, how often the tags are there that keep machines apart, and the marks.
    tags: Vec<Occurrences<TagId>>,
    /// What holds for zones, as in the fleet.
    zones: HashMap<TagId, Arc<[usize]>>,
}

/// The values of keys of one name on a node, smallest first, and how often they are there.
type KeyValues = Vec<(f64, u32)>;

/// A part of a score: a key of a machine and what it found on a node.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyTerm {
    /// The key's name.
    pub name: String,
    /// The node's value.
    pub value: f64,
    /// How often it is there.
    pub count: u32,
    /// What it adds to the score.
    pub worth: f64,
}

/// Why a machine cannot be started on a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NodeRefusal {
    /// The node does not run.
    NotRunning,
    /// What may be promised of its memory is not more than what is needed; both in MiB.
    Promised {
        /// What may still be promised.
        free: f64,
        /// What is needed.
        needed: Mib,
    },
    /// What is free of its memory is not more than what is needed.
    Measured {
        /// What is free.
        free: Mib,
        /// What is needed.
        needed: Mib,
    },
    /// The machine's first disk is on another node, and cannot be elsewhere.
    DiskElsewhere,
    /// Ganeti's own rules leave no place there.
    NoPlace,
    /// The machine cannot be there at all.
    OutOfReach,
    /// A machine runs there that has this tag, too, which keeps them apart.
    Excluded(TagId),
    /// A rule forbids the node.
    Forbidden(TagId),
    /// Nothing runs there that bears this mark, which the machine has to be with.
    Alone(TagId),
}

/// A machine that is looked at as if it did not run where it does.
#[derive(Debug, Clone, Copy)]
pub struct DetachedMachine<'a> {
    node: usize,
    machine: &'a Machine,
    keys: &'a [(String, f64)],
}

impl<'a> DetachedMachine<'a> {
    /// A machine that runs, with its customer's keys as they were when it was started.
    pub(crate) fn of(machine: &'a Machine, keys: &'a [(String, f64)]) -> Option<DetachedMachine<'a>> {
        machine.node.map(|node| DetachedMachine { node, machine, keys })
    }
}

impl Occupancy {
    /// The nodes with what runs on them.
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

    /// Starts a machine: its memory is gone from what is free, and its customer's keys are there.
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

    /// Counts the tags and marks of a machine on a node, and on those that are one zone with it.
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

    /// How often a tag or mark is on a node, without that of a machine that is looked at as if it did not run.
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

    /// Why a machine cannot be started on a node, if it cannot.
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

    /// How much of a node is used, between 0 and 1: the value of a special key.
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

    /// By node, the sum of what the operator's keys of a machine find there, in the order of their names.
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

    /// By node, the sum of what the customer's keys of a machine find there, every one that is there counted, in the order of their
    /// names.
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

    /// What the scores of a node are made of: the operator's part and the customer's.
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

/// Whether a machine that is looked at as if it did not run brought this key to the node.
fn is_of(detached: Option<DetachedMachine<'_>>, node: usize, name: &str, value: f64) -> bool {
    detached.is_some_and(|own| {
        own.node == node && own.keys.iter().any(|(other, with)| other == name && same(*with, value))
    })
}

/// Values are told apart by their bits, so that what comes and goes is the same thing.
fn same(one: f64, other: f64) -> bool {
    one.total_cmp(&other).is_eq()
}
