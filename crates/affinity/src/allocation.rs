//! The primary nodes of new instances by affinity keys (`hail --affinity`).

use std::sync::Mutex;

use super::choose::{ChoiceDetail, MachineChoice, choose, first_round_of, ranking};
use super::fleet::{AffinityOptions, Fleet};
use super::ganeti::{ClusterKeys, FleetFigures, fleet_with, newcomer};
use super::occupancy::{NodeRefusal, Occupancy};
use htools_model::{Cluster, GroupIdx, Instance, NodeIdx};
use htools_search::requests::PrimaryRule;

/// Chooses primary nodes by affinity keys, and remembers why.
#[derive(Debug, Default)]
pub struct AffinityRule {
    /// How machines are placed.
    pub options: AffinityOptions,
    /// What the data of the cluster does not say.
    pub figures: FleetFigures,
    records: Mutex<Vec<PrimaryRecord>>,
}

/// What spoke for the nodes of a group, and against them.
#[derive(Debug, Clone, PartialEq)]
pub struct PrimaryRecord {
    /// The group.
    pub group: GroupIdx,
    /// The cluster as it was then, with the new instance as its last machine.
    pub fleet: Fleet,
    /// What was found about its nodes.
    pub choice: MachineChoice,
    /// The nodes that could be taken, best first.
    pub ranked: Vec<usize>,
}

impl PrimaryRecord {
    /// The name of the instance.
    pub fn instance(&self) -> &str {
        &self.fleet.machines[self.choice.machine].name
    }

    /// The same with the node that became the primary one, if there is one; those that were better had no place by Ganeti's rules.
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

    /// What was found out by now, in the order of the questions.
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
