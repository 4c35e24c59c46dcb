//! Choice of primary nodes for new instances by affinity keys (`hail --affinity`).

use std::sync::Mutex;

use super::choose::{ChoiceDetail, MachineChoice, choose, first_round_of, ranking};
use super::fleet::{AffinityOptions, Fleet};
use super::ganeti::{ClusterKeys, FleetFigures, fleet_with, newcomer};
use super::occupancy::{NodeRefusal, Occupancy};
use htools_model::{Cluster, GroupIdx, Instance, NodeIdx};
use htools_search::requests::PrimaryRule;

/// Chooses primary nodes by affinity keys, and records the reasons.
#[derive(Debug, Default)]
pub struct AffinityRule {
    /// Placement options.
    pub options: AffinityOptions,
    /// Figures that the cluster's data does not contain.
    pub figures: FleetFigures,
    records: Mutex<Vec<PrimaryRecord>>,
}

/// Record of a choice: the reasons for and against the nodes of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct PrimaryRecord {
    /// The group.
    pub group: GroupIdx,
    /// The cluster at that time, with the new instance as its last machine.
    pub fleet: Fleet,
    /// Findings about its nodes.
    pub choice: MachineChoice,
    /// The possible nodes, best first.
    pub ranked: Vec<usize>,
}

impl PrimaryRecord {
    /// The name of the instance.
    pub fn instance(&self) -> &str {
        &self.fleet.machines[self.choice.machine].name
    }

    /// Returns the record with the node that became the primary, if any. Better nodes are marked as refused by Ganeti's
    /// rules.
    pub fn settled(mut self, node: Option<NodeIdx>) -> PrimaryRecord {
        let node = node.map(NodeIdx::get);
        for better in self.ranked.iter().take_while(|other| Some(**other) != node) {
            self.choice.verdicts[*better].refusal = Some(NodeRefusal::NoPlace);
        }
        let score = |node: usize| self.choice.verdicts[node].system;
        self.choice.node = node;
        self.choice.round = node.and_then(|node| first_round_of(&self.fleet.options, score(node)));
        self.choice.mark_passed(&self.fleet.options);
        self
    }
}

impl AffinityRule {
    /// A rule with these options.
    pub fn new(options: AffinityOptions, figures: FleetFigures) -> AffinityRule {
        AffinityRule { options, figures, records: Mutex::default() }
    }

    /// The records so far, in the order of the choices.
    pub fn records(&self) -> Vec<PrimaryRecord> {
        self.records.lock().map(|records| records.clone()).unwrap_or_default()
    }
}

impl PrimaryRule for AffinityRule {
    fn ranked(
        &self,
        cluster: &Cluster,
        instance: &Instance,
        group: GroupIdx,
        nodes: &[NodeIdx],
    ) -> Vec<NodeIdx> {
        let keys = ClusterKeys::of(cluster);
        let mut fleet = fleet_with(cluster, &keys, self.figures);
        fleet.options = self.options.clone();
        fleet.machines.push(newcomer(cluster, &keys, instance, group, nodes));
        let occupancy = Occupancy::of(&fleet);
        let choice = choose(&fleet, &occupancy, fleet.machines.len() - 1, None, ChoiceDetail::Terms);
        let ranked = ranking(&fleet, &choice);
        if let Ok(mut records) = self.records.lock() {
            records.push(PrimaryRecord { group, fleet, choice, ranked: ranked.clone() });
        }
        ranked.into_iter().map(NodeIdx::new).collect()
    }
}
