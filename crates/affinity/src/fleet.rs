//! Machines and nodes as input for placement.

use std::collections::HashMap;
use std::sync::Arc;

use htools_model::shown::shown_name;
use htools_model::{Mib, TagId, TagSet, TagTable};

use super::keys::{
    AffinityKey, CompiledKey, CompiledKeys, KeyLevel, KeyOwner, LevelKeys, NodeKey, SPECIAL, compiled, copies,
};

/// Default weight of a special key. So an idle node is worth 75, which is less than the first threshold: a matching key
/// of the operator's decides the first round. With a larger weight, idle nodes would pass whatever those keys say.
pub(crate) const SPECIAL_WEIGHT: f64 = 25.0;

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetNode {
    /// Name.
    pub name: String,
    /// True if machines can be started there.
    pub running: bool,
    /// Memory.
    pub ram_total: Mib,
    /// Free memory, as measured.
    pub ram_free: Mib,
    /// Ratio up to which its memory may be allocated.
    pub ram_ratio: f64,
    /// Number of processors.
    pub cpus: u64,
    /// Ratio up to which its processors may be allocated.
    pub cpu_ratio: f64,
    /// Processor load from 0 to 1.
    pub load: f64,
    /// Keys.
    pub keys: Vec<NodeKey>,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Machine {
    /// Name.
    pub name: String,
    /// Memory.
    pub ram: Mib,
    /// Number of virtual processors.
    pub vcpus: u64,
    /// Position of the node on which it runs.
    pub node: Option<usize>,
    /// Position of the node on which it last ran, if it does not run.
    pub last_node: Option<usize>,
    /// Position of the node with its first disk, if the disk cannot be elsewhere.
    pub disk_node: Option<usize>,
    /// Positions of the nodes on which it can be at all, ascending; `None` means all.
    pub reach: Option<Arc<[usize]>>,
    /// Tags against which it is kept apart: it is not started where a machine with one of them runs.
    pub exclusion: TagSet,
    /// Marks that it has where it runs, for machines that must be with it.
    pub marks: TagSet,
    /// Marks that it must be with: it is only started where each of them is present.
    pub beside: TagSet,
    /// Positions of the nodes on which a rule forbids it, ascending, with the name of the rule.
    pub forbidden: Arc<[(usize, TagId)]>,
    /// True if it stays on its node in any case: it counts there, but no other node is considered.
    pub fixed: bool,
    /// The keys that were set for it, without those of the whole cluster.
    pub keys: Vec<LevelKeys>,
    /// Keys that it shares with others, besides the operator's keys for all machines.
    pub shared: Arc<[LevelKeys]>,
    /// The customer's keys at the time of its start, by name and value; `None` means as now.
    pub started_with: Option<Vec<(String, f64)>>,
}

/// Placement options.
#[derive(Debug, Clone, PartialEq)]
pub struct AffinityOptions {
    /// First threshold.
    pub initial_msav: f64,
    /// Last threshold, at most the first.
    pub final_msav: f64,
    /// Number of rounds, at least 1.
    pub msav_steps: u32,
    /// Memory that a machine needs besides its own.
    pub overhead: Mib,
    /// True if a key with weight 0 removes the key of its name.
    pub zero_disables: bool,
    /// Random seed for breaking ties; without it, the smallest name wins.
    pub tie_seed: Option<u64>,
}

impl Default for AffinityOptions {
    fn default() -> AffinityOptions {
        AffinityOptions {
            initial_msav: 80.0,
            final_msav: -10.0,
            msav_steps: 10,
            overhead: Mib(1024),
            zero_disables: false,
            tie_seed: None,
        }
    }
}

impl AffinityOptions {
    /// The threshold of a round, from 1. Thresholds fall in even steps from the first to the last; with one round it is
    /// the last.
    pub fn threshold(&self, round: u32) -> f64 {
        if self.msav_steps <= 1 {
            return self.final_msav;
        }
        let (step, steps) = (f64::from(round - 1), f64::from(self.msav_steps - 1));
        self.initial_msav + (self.final_msav - self.initial_msav) * step / steps
    }
}

/// Nodes, machines, and placement options.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fleet {
    /// Nodes.
    pub nodes: Vec<FleetNode>,
    /// Machines.
    pub machines: Vec<Machine>,
    /// The operator's keys for all machines.
    pub keys: Vec<AffinityKey>,
    /// Placement options.
    pub options: AffinityOptions,
    /// Names of the tags and rules that keep machines apart, together, or off nodes.
    pub tag_table: TagTable,
    /// Zones of tags and marks that hold for a whole zone of nodes once they are on one of them. For each node, the
    /// number of its zone.
    pub zones: HashMap<TagId, Arc<[usize]>>,
}

impl Machine {
    /// The node whose sticky keys it has copies of: the node where it runs, or last ran.
    pub(crate) fn home(&self) -> Option<usize> {
        self.node.or(self.last_node)
    }

    /// Tells if it has a key of its own on the level of the copies.
    fn has_own(&self, name: &str) -> bool {
        let is_there =
            |level: &&LevelKeys| level.level == KeyLevel::Server && level.owner == KeyOwner::System;
        let mut keys = self.keys.iter().filter(is_there).flat_map(|level| &level.keys);
        keys.any(|key| key.name == name)
    }
}

impl Fleet {
    /// The keys that apply to a machine.
    pub fn compiled(&self, machine: &Machine) -> CompiledKeys {
        let home = machine.home().map_or(&[][..], |node| &self.nodes[node].keys);
        let levels = [&*machine.shared, &machine.keys];
        compiled_over(&self.keys, home, levels, self.options.zero_disables)
    }

    /// The node from which a machine's key was copied, if it was.
    pub fn copied_from(&self, machine: &Machine, key: &CompiledKey) -> Option<&FleetNode> {
        let is_there = key.level == KeyLevel::Server && key.owner == KeyOwner::System;
        machine.home().filter(|_| is_there && !machine.has_own(&key.name)).map(|node| &self.nodes[node])
    }

    /// Keys that some nodes have and others lack: pairs of key and node, by key and then by node.
    pub(crate) fn missing_keys(&self) -> Vec<(&str, &str)> {
        let names: std::collections::BTreeSet<&str> =
            self.nodes.iter().flat_map(|node| &node.keys).map(|key| key.name.as_str()).collect();
        let lacks = |name: &str, node: &FleetNode| !node.keys.iter().any(|key| key.name == name);
        let lacking = |name| self.nodes.iter().filter(move |node| lacks(name, node));
        names.into_iter().flat_map(|name| lacking(name).map(move |node| (name, node.name.as_str()))).collect()
    }

    /// A warning for each of them.
    pub fn missing_key_lines(&self) -> Vec<String> {
        let line = |(key, node): (&str, &str)| {
            format!("Warning: node {} has no key '{}', which others have", shown_name(node), shown_name(key))
        };
        self.missing_keys().into_iter().map(line).collect()
    }
}

/// The keys that apply to a machine: its own keys, the operator's for all machines, the special keys, and copies of the
/// sticky keys of `home`, the node where it runs or ran. A key of the machine itself on the level of the copies
/// replaces a copy.
pub(super) fn compiled_over(
    of_cluster: &[AffinityKey],
    home: &[NodeKey],
    levels: [&[LevelKeys]; 2],
    zero_disables: bool,
) -> CompiledKeys {
    // No level is above the cluster, so a special key with weight 0 there does not exist.
    let is_special = |name: &&&str| of_cluster.iter().all(|key| key.name != **name);
    let special = |name: &&str| AffinityKey { name: (*name).to_owned(), value: 0.0, weight: SPECIAL_WEIGHT };
    let system = |level, keys| LevelKeys { level, owner: KeyOwner::System, keys };
    let above = [
        system(KeyLevel::Default, SPECIAL.iter().filter(is_special).map(special).collect()),
        system(KeyLevel::Cluster, of_cluster.to_vec()),
        system(KeyLevel::Server, copies(home)),
    ];
    compiled(above.iter().chain(levels.into_iter().flatten()), zero_disables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_even_steps() {
        let thresholds = |msav_steps| {
            let options = AffinityOptions { msav_steps, ..AffinityOptions::default() };
            (1..=msav_steps).map(|round| options.threshold(round)).collect::<Vec<_>>()
        };
        assert_eq!(thresholds(10), [80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0, 10.0, 0.0, -10.0]);
        assert_eq!(thresholds(7), [80.0, 65.0, 50.0, 35.0, 20.0, 5.0, -10.0]);
        assert_eq!(thresholds(4), [80.0, 50.0, 20.0, -10.0]);
        assert_eq!(thresholds(2), [80.0, -10.0]);
        assert_eq!(thresholds(1), [-10.0]);
    }
}
