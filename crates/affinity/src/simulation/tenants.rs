//! The machines that run on the nodes, under one strategy.

use std::collections::BTreeMap;

use super::timeline::Timeline;
use super::wishes::KeptWishes;
use crate::{CompiledKey, Occupancy};
use htools_model::Mib;

/// What runs where.
pub(super) struct Tenants<'t> {
    pub(super) timeline: &'t Timeline,
    /// By machine of the fleet, what its customer wishes.
    wishes: &'t [Vec<CompiledKey>],
    /// By machine of the fleet, the keys with which it is started.
    started_with: Vec<Vec<(String, f64)>>,
    pub(super) occupancy: Occupancy,
    /// Those that run, by number, and their nodes.
    pub(super) running: BTreeMap<usize, usize>,
    /// By node, how many run there.
    pub(super) counts: Vec<usize>,
    /// By node, the memory of those.
    pub(super) used: Vec<Mib>,
    pub(super) kept: KeptWishes,
}

impl<'t> Tenants<'t> {
    /// No machine runs.
    pub(super) fn none(timeline: &'t Timeline, wishes: &'t [Vec<CompiledKey>]) -> Tenants<'t> {
        let fleet = timeline.fleet();
        let keys = |keys: &Vec<CompiledKey>| keys.iter().map(|key| (key.name.clone(), key.value)).collect();
        // machines of the fleet run nowhere yet: only the nodes' own keys are there
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

    /// Whether a node can take one that comes.
    pub(super) fn can_take(&self, rental: usize, node: usize) -> bool {
        let machine = self.timeline.machine(rental);
        self.occupancy.refusal(self.timeline.fleet(), node, machine, None).is_none()
    }

    /// Starts one on a node that can take it.
    pub(super) fn start(&mut self, rental: usize, node: usize, now: f64) {
        debug_assert!(self.can_take(rental, node), "no node takes more than it has room for");
        self.settle(rental, node, now);
    }

    /// Has one run on a node, whether that could take it or not.
    pub(super) fn settle(&mut self, rental: usize, node: usize, now: f64) {
        let kind = self.timeline.rentals()[rental].machine;
        let machine = self.timeline.machine(rental);
        self.occupancy.start(node, machine, &self.started_with[kind]);
        self.running.insert(rental, node);
        self.counts[node] += 1;
        self.used[node] += machine.ram;
        self.kept.start(node, &self.wishes[kind], now);
    }

    /// Stops one, if it runs, and tells where it ran.
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

    /// The nodes that run and have no machines.
    pub(super) fn empty_nodes(&self) -> usize {
        let nodes = self.timeline.fleet().nodes.iter().zip(&self.counts);
        nodes.filter(|(node, count)| node.running && **count == 0).count()
    }
}
