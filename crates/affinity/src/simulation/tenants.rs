//! The running machines under one strategy.

use std::collections::BTreeMap;

use super::timeline::Timeline;
use super::wishes::KeptWishes;
use crate::{CompiledKey, Occupancy};
use htools_model::Mib;

/// The running machines and their nodes.
pub(super) struct Tenants<'t> {
    pub(super) timeline: &'t Timeline,
    /// For each machine of the fleet, its customer's keys.
    wishes: &'t [Vec<CompiledKey>],
    /// For each machine of the fleet, the keys with which it is started.
    started_with: Vec<Vec<(String, f64)>>,
    pub(super) occupancy: Occupancy,
    /// Nodes of the running machines, by number of the machine.
    pub(super) running: BTreeMap<usize, usize>,
    /// Number of machines on each node.
    pub(super) counts: Vec<usize>,
    /// Memory of the machines on each node.
    pub(super) used: Vec<Mib>,
    pub(super) kept: KeptWishes,
}

impl<'t> Tenants<'t> {
    /// The state without machines.
    pub(super) fn none(timeline: &'t Timeline, wishes: &'t [Vec<CompiledKey>]) -> Tenants<'t> {
        let fleet = timeline.fleet();
        let keys = |keys: &Vec<CompiledKey>| keys.iter().map(|key| (key.name.clone(), key.value)).collect();
        // The fleet's machines do not run yet, so only the nodes' own keys are present.
        Tenants {
            timeline,
            wishes,
            started_with: wishes.iter().map(keys).collect(),
            occupancy: Occupancy::of(fleet),
            running: BTreeMap::new(),
            counts: vec![0; fleet.nodes.len()],
            used: vec![Mib::ZERO; fleet.nodes.len()],
            kept: KeptWishes::of(fleet),
        }
    }

    /// Tells if a node can take an arriving machine.
    pub(super) fn can_take(&self, rental: usize, node: usize) -> bool {
        let machine = self.timeline.machine(rental);
        self.occupancy.refusal(self.timeline.fleet(), node, machine, None).is_none()
    }

    /// Starts a machine on a node that can take it.
    pub(super) fn start(&mut self, rental: usize, node: usize, now: f64) {
        debug_assert!(self.can_take(rental, node), "no node takes more than it has room for");
        self.settle(rental, node, now);
    }

    /// Starts a machine on a node without checking that the node can take it.
    pub(super) fn settle(&mut self, rental: usize, node: usize, now: f64) {
        let kind = self.timeline.rentals()[rental].machine;
        let machine = self.timeline.machine(rental);
        self.occupancy.start(node, machine, &self.started_with[kind]);
        self.running.insert(rental, node);
        self.counts[node] += 1;
        self.used[node] += machine.ram;
        self.kept.start(node, &self.wishes[kind], now);
    }

    /// Stops a machine if it runs, and returns its node.
    pub(super) fn stop(&mut self, rental: usize, now: f64) -> Option<usize> {
        let node = self.running.remove(&rental)?;
        let kind = self.timeline.rentals()[rental].machine;
        let machine = self.timeline.machine(rental);
        self.occupancy.stop(node, machine, &self.started_with[kind]);
        self.counts[node] -= 1;
        self.used[node] -= machine.ram;
        self.kept.stop(node, &self.wishes[kind], now);
        Some(node)
    }

    /// Number of running nodes without machines.
    pub(super) fn empty_nodes(&self) -> usize {
        let nodes = self.timeline.fleet().nodes.iter().zip(&self.counts);
        nodes.filter(|(node, count)| node.running && **count == 0).count()
    }
}
