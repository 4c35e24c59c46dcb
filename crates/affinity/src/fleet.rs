//! The machines and the nodes, as they are told.

use std::collections::HashMap;
use std::sync::Arc;

use htools_model::shown::shown_name;
use htools_model::{Mib, TagId, TagSet, TagTable};

use super::keys::{
    AffinityKey, CompiledKey, CompiledKeys, KeyLevel, KeyOwner, LevelKeys, NodeKey, SPECIAL, compiled, copies,
};

/// What a special key weighs by default. An idle node is worth 75: less than the first threshold, so that a key of the operator's that
/// matches decides the first round. If it were more, idle nodes would pass whatever those keys say.
pub(crate) const SPECIAL_WEIGHT: f64 = 25.0;

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetNode {
    /// Its name.
    pub name: String,
    /// Whether machines can be started there.
    pub running: bool,
    /// Its memory.
    pub ram_total: Mib,
    /// What of it is really free now, as measured.
    pub ram_free: Mib,
    /// How often its memory may be promised.
    pub ram_ratio: f64,
    /// Its processors.
    pub cpus: u64,
    /// How often they may be promised.
    pub cpu_ratio: f64,
    /// How busy its processors are, 1: wholly.
    pub load: f64,
    /// Its keys.
    pub keys: Vec<NodeKey>,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Its memory.
    pub ram: Mib,
    /// Its processors.
    pub vcpus: u64,
    /// The node on which it runs, by position.
    pub node: Option<usize>,
    /// Where it runs nowhere, the node on which it ran last, by position.
    pub last_node: Option<usize>,
    /// The node that has its first disk, where that cannot be elsewhere.
    pub disk_node: Option<usize>,
    /// The nodes on which it can be at all, by ascending position; none: all.
    pub reach: Option<Arc<[usize]>>,
    /// It is not started where a machine with one of these tags runs.
    pub exclusion: TagSet,
    /// Marks that it bears where it runs, for those that have to be with it.
    pub marks: TagSet,
    /// It is only started where something runs that bears each of these marks.
    pub beside: TagSet,
    /// Nodes on which a rule forbids it, by ascending position, and what the rule is called.
    pub forbidden: Arc<[(usize, TagId)]>,
    /// Whether it stays where it runs in any case: it counts there, and is never asked where it would be started.
    pub fixed: bool,
    /// The keys that were set for it, but for those of the whole cluster.
    pub keys: Vec<LevelKeys>,
    /// Keys that it has in common with others, beside the operator's for all machines.
    pub shared: Arc<[LevelKeys]>,
    /// The keys of the customer, name and value, as they were when it was started; none: as they are now.
    pub started_with: Option<Vec<(String, f64)>>,
}

/// How machines are placed.
#[derive(Debug, Clone, PartialEq)]
pub struct AffinityOptions {
    /// The first threshold.
    pub initial_msav: f64,
    /// The last threshold, at most the first.
    pub final_msav: f64,
    /// How many rounds there are, 1 at least.
    pub msav_steps: u32,
    /// What a machine needs beyond its memory.
    pub overhead: Mib,
    /// Whether a key that weighs nothing takes its name away.
    pub zero_disables: bool,
    /// By what equal nodes are told apart: a seed; none: the smallest name.
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
    /// The threshold of a round, from 1: even steps from the first to the last; the last, if there is one only.
    pub fn threshold(&self, round: u32) -> f64 {
        if self.msav_steps <= 1 {
            return self.final_msav;
        }
        let (step, steps) = (f64::from(round - 1), f64::from(self.msav_steps - 1));
        self.initial_msav + (self.final_msav - self.initial_msav) * step / steps
    }
}

/// Nodes, machines, and how machines are placed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fleet {
    /// The nodes.
    pub nodes: Vec<FleetNode>,
    /// The machines.
    pub machines: Vec<Machine>,
    /// The operator's keys for all machines.
    pub keys: Vec<AffinityKey>,
    /// How machines are placed.
    pub options: AffinityOptions,
    /// What the tags and rules are called that keep machines apart, together, or from nodes.
    pub tag_table: TagTable,
    /// Tags and marks that hold for all nodes of a zone as soon as one of them has them: by node, the number of its zone.
    pub zones: HashMap<TagId, Arc<[usize]>>,
}

impl Machine {
    /// The node of which it has copies of the sticky keys: where it runs, or ran last.
    pub(crate) fn home(&self) -> Option<usize> {
        self.node.or(self.last_node)
    }

    /// Whether it has a key of its own where its copies are.
    fn has_own(&self, name: &str) -> bool {
        let is_there =
            |level: &&LevelKeys| level.level == KeyLevel::Server && level.owner == KeyOwner::System;
        let mut keys = self.keys.iter().filter(is_there).flat_map(|level| &level.keys);
        keys.any(|key| key.name == name)
    }
}

impl Fleet {
    /// What the keys of a machine come to.
    pub fn compiled(&self, machine: &Machine) -> CompiledKeys {
        let home = machine.home().map_or(&[][..], |node| &self.nodes[node].keys);
        let levels = [&*machine.shared, &machine.keys];
        compiled_over(&self.keys, home, levels, self.options.zero_disables)
    }

    /// The node of which a key of a machine is a copy, if it is one.
    pub fn copied_from(&self, machine: &Machine, key: &CompiledKey) -> Option<&FleetNode> {
        let is_there = key.level == KeyLevel::Server && key.owner == KeyOwner::System;
        machine.home().filter(|_| is_there && !machine.has_own(&key.name)).map(|node| &self.nodes[node])
    }

    /// Which names of keys some nodes have and others lack: by name, then by node.
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

/// What keys come to with the operator's for all machines, the special ones, and the copies of the sticky ones of `home`, the node
/// where a machine runs or ran. A key that the machine has itself on the level of the copies counts instead of a copy.
pub(super) fn compiled_over(
    of_cluster: &[AffinityKey],
    home: &[NodeKey],
    levels: [&[LevelKeys]; 2],
    zero_disables: bool,
) -> CompiledKeys {
    // nothing is above the cluster: where it says that a special key weighs nothing, there is none
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
