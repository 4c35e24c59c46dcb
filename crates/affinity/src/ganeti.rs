//! Ganeti clusters with keys in tags ([`htools_model::key_tags`]).

use std::collections::HashMap;
use std::sync::Arc;

use super::fleet::{Fleet, FleetNode, Machine, compiled_over};
use super::keys::{AffinityKey, CompiledKeys, KeyLevel, KeyOwner, LevelKeys, NodeKey};
use crate::bridges::ganeti::reachable;
use htools_model::key_tags::{KeyRole, KeyTag, KeyTags};
use htools_model::known_tags::Bearer;
use htools_model::units::trunc_to_i64;
use htools_model::{
    Cluster, Group, GroupIdx, Instance, Mib, Mirroring, Node, NodeIdx, NodeSpec, Outage, RunStatus,
    StorageMap,
};

/// The keys in the tags of a cluster, its groups and its nodes. Invalid tags are left out; the review of tags reports
/// them.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterKeys {
    /// The operator's keys for all instances.
    pub system: Vec<AffinityKey>,
    /// For each group, further keys that all its instances have: the customer's of the cluster, and both sides' of the
    /// group.
    shared: Vec<Arc<[LevelKeys]>>,
    /// For each node, its keys.
    nodes: Vec<Vec<NodeKey>>,
}

impl ClusterKeys {
    /// Reads the tags of the cluster, its groups and its nodes.
    pub(crate) fn of(cluster: &Cluster) -> ClusterKeys {
        let [system, customer] = levels(&cluster.tags, Bearer::Cluster, KeyLevel::Cluster);
        let of_group = |group: &Group| {
            let own = levels(&group.tags, Bearer::Group, KeyLevel::Vdc);
            [customer.clone()].into_iter().chain(own).filter(|level| !level.keys.is_empty()).collect()
        };
        ClusterKeys {
            shared: cluster.groups.iter().map(of_group).collect(),
            nodes: cluster.nodes.iter().map(|node| node_keys(&node.spec.tags)).collect(),
            system: system.keys,
        }
    }

    /// Keys that the instances of a group share, besides the operator's of the cluster.
    pub(crate) fn shared(&self, group: GroupIdx) -> Arc<[LevelKeys]> {
        Arc::clone(&self.shared[group.get()])
    }

    /// The keys of a node.
    pub(crate) fn of_node(&self, node: NodeIdx) -> &[NodeKey] {
        &self.nodes[node.get()]
    }

    /// The keys that apply to an instance with these tags that runs, or ran, on the node `home`.
    pub(crate) fn compiled(&self, home: &NodeSpec, tags: &[String], zero_disables: bool) -> CompiledKeys {
        let (own, sticky) = (server_keys(tags), self.of_node(home.idx));
        compiled_over(&self.system, sticky, [&self.shared[home.group.get()], &own], zero_disables)
    }
}

/// Tells if a tag of any object in the cluster sets a key.
pub(crate) fn has_keys(cluster: &Cluster) -> bool {
    let are_keys = |tags: &[String], bearer| !KeyTags::of(tags, bearer).keys.is_empty();
    let is_in_node = |node: &Node| are_keys(&node.spec.tags, Bearer::Node);
    are_keys(&cluster.tags, Bearer::Cluster)
        || cluster.groups.iter().any(|group| are_keys(&group.tags, Bearer::Group))
        || cluster.nodes.iter().any(is_in_node)
        || cluster.instances.iter().any(|instance| are_keys(&instance.tags, Bearer::Instance))
}

/// Figures that the data of a cluster does not contain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleetFigures {
    /// Ratio up to which the memory of nodes may be allocated.
    pub ram_ratio: f64,
    /// True if the loads of instances were measured; otherwise nodes count as idle.
    pub is_load_known: bool,
}

impl Default for FleetFigures {
    fn default() -> FleetFigures {
        FleetFigures { ram_ratio: 1.0, is_load_known: false }
    }
}

/// A cluster as nodes and machines; nodes have the same positions as in the cluster.
///
/// Machines are the instances that run, and those that should run but do not. Instances stopped on purpose and
/// forthcoming ones are left out. Disks stay on their nodes: a machine with local disks stays on its node, and one with
/// DRBD on its two nodes. Any other machine stays in its group, where its storage pool is reached.
pub fn fleet_of(cluster: &Cluster, figures: FleetFigures) -> Fleet {
    fleet_with(cluster, &ClusterKeys::of(cluster), figures)
}

/// The same with keys that were read already.
pub(super) fn fleet_with(cluster: &Cluster, keys: &ClusterKeys, figures: FleetFigures) -> Fleet {
    let mut loads = vec![0.0; cluster.nodes.len()];
    for instance in cluster.instances.iter().filter(|instance| is_up(cluster, instance)) {
        loads[instance.primary.get()] += instance.util.cpu;
    }
    let node = |node: &Node| {
        let load = if figures.is_load_known { loads[node.spec.idx.get()] / node.spec.cpu_total } else { 0.0 };
        FleetNode {
            ram_ratio: figures.ram_ratio,
            load: share(load),
            ..bare_node(node, keys.of_node(node.spec.idx))
        }
    };
    let storage = StorageMap::of(cluster);
    let mut known: HashMap<Vec<usize>, Arc<[usize]>> = HashMap::new();
    let mut machines = Vec::new();
    for instance in cluster.instances.iter().filter(|instance| !instance.forthcoming) {
        let runs = is_up(cluster, instance);
        if !runs && !instance.status.uses_memory() && instance.status != RunStatus::ErrorDown {
            continue;
        }
        let at = instance.primary.get();
        let mut machine = Machine {
            node: runs.then_some(at),
            last_node: (!runs).then_some(at),
            ..new_machine(keys, instance, cluster.node(instance.primary).spec.group)
        };
        if instance.template.mirroring() == Mirroring::None {
            machine.disk_node = Some(at);
        } else {
            let mut reach: Vec<usize> =
                reachable(cluster, &storage, instance).iter().map(|node| node.get()).collect();
            reach.sort_unstable();
            if reach.len() < cluster.nodes.len() {
                let shared = known.entry(reach).or_insert_with_key(|reach| reach.as_slice().into());
                machine.reach = Some(Arc::clone(shared));
            }
        }
        machines.push(machine);
    }
    Fleet {
        nodes: cluster.nodes.iter().map(node).collect(),
        machines,
        keys: keys.system.clone(),
        tag_table: cluster.tag_table.clone(),
        ..Fleet::default()
    }
}

/// Tells if an instance runs. None runs on an offline node, unless the node is only drained.
fn is_up(cluster: &Cluster, instance: &Instance) -> bool {
    let spec = &cluster.node(instance.primary).spec;
    let is_lost = matches!(instance.status, RunStatus::ErrorNodeDown | RunStatus::ErrorNodeOffline);
    let is_reached = !spec.offline || spec.outage == Outage::Drained;
    !instance.forthcoming && instance.status.uses_memory() && !is_lost && is_reached
}

fn bare_node(node: &Node, keys: &[NodeKey]) -> FleetNode {
    let spec = &node.spec;
    FleetNode {
        name: spec.name.clone(),
        running: !spec.offline,
        ram_total: Mib(trunc_to_i64(spec.mem_total).max(0)),
        ram_free: node.mem_free(),
        ram_ratio: 1.0,
        // The conversion saturates at 0 and at the largest number.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        cpus: spec.cpu_total as u64,
        cpu_ratio: spec.vcpu_ratio,
        load: 0.0,
        keys: keys.to_vec(),
    }
}

/// An instance of a group that has no node.
fn new_machine(keys: &ClusterKeys, instance: &Instance, group: GroupIdx) -> Machine {
    // Bounded, so that sums of absurd sizes do not overflow.
    let bounded = |size: i64| size.clamp(0, i64::from(u32::MAX));
    Machine {
        name: instance.name.clone(),
        ram: Mib(bounded(instance.mem.0)),
        vcpus: bounded(instance.vcpus).unsigned_abs(),
        keys: server_keys(&instance.tags),
        shared: keys.shared(group),
        exclusion: instance.exclusion_tags.iter().copied().collect(),
        ..Machine::default()
    }
}

/// A new instance that may have one of these nodes of a group as its primary. If the cluster has an instance of that
/// name, it has run before: Ganeti also asks for a place when it recreates disks.
pub(super) fn newcomer(
    cluster: &Cluster,
    keys: &ClusterKeys,
    instance: &Instance,
    group: GroupIdx,
    nodes: &[NodeIdx],
) -> Machine {
    let mut reach: Vec<usize> = nodes.iter().map(|node| node.get()).collect();
    reach.sort_unstable();
    let known = cluster.instances.iter().find(|other| other.name == instance.name && !other.forthcoming);
    let last_node = known.map(|instance| instance.primary.get());
    Machine { reach: Some(reach.into()), last_node, ..new_machine(keys, instance, group) }
}

/// A share from 0 to 1; not-a-number counts as 0.
fn share(part: f64) -> f64 {
    if part > 0.0 { part.min(1.0) } else { 0.0 }
}

/// The keys in an instance's tags: the operator's and the customer's.
pub(crate) fn server_keys(tags: &[String]) -> Vec<LevelKeys> {
    let keys = levels(tags, Bearer::Instance, KeyLevel::Server);
    keys.into_iter().filter(|level| !level.keys.is_empty()).collect()
}

/// The operator's and the customer's keys in tags.
fn levels(tags: &[String], bearer: Bearer, level: KeyLevel) -> [LevelKeys; 2] {
    levels_of(KeyTags::of(tags, bearer), level)
}

/// The same for keys that were read already. On levels where customers cannot set keys themselves, the billing entity
/// sets them.
pub(super) fn levels_of(keys: KeyTags, level: KeyLevel) -> [LevelKeys; 2] {
    let users = if level.is_customers() { KeyOwner::Customer } else { KeyOwner::Billing };
    let mut sides = [KeyOwner::System, users].map(|owner| LevelKeys { level, owner, keys: Vec::new() });
    for KeyTag { role, name, value, weight } in keys.keys {
        sides[usize::from(role == KeyRole::Customer)].keys.push(AffinityKey { name, value, weight });
    }
    sides
}

fn node_keys(tags: &[String]) -> Vec<NodeKey> {
    node_keys_of(KeyTags::of(tags, Bearer::Node))
}

/// A node's keys that were read already.
pub(super) fn node_keys_of(keys: KeyTags) -> Vec<NodeKey> {
    let key = |KeyTag { role, name, value, weight }| {
        let sticky = (role == KeyRole::Sticky).then_some(weight);
        NodeKey { name, value, sticky }
    };
    keys.keys.into_iter().map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use htools_testkit::groups;

    #[test]
    fn tags_of_each_level_are_keys() {
        let cluster = groups(
            &["g|htools:key:system:ds:2:20,htools:key:customer:shop:3:5", "h||"],
            &[
                "a|9000|0|9000|9000|9000|9|N|g|1|htools:key:ds:1,htools:key:_ssd:1,htools:key:sticky:pool:2:9".into(),
                "b|9000|0|9000|9000|9000|9|N|h|1|htools:key:x".into(),
            ],
            &[
                "i|0|0|1|running|Y|a||ext|htools:key:customer:shop:4:-5,htools:key:customer:own:1:1".into(),
                "j|0|0|1|running|Y|b||ext|htools:key:customer:@RAM:4:-5".into(),
            ],
            &["htools:key:system:@RAM:0:50", "htools:key:system:ds:1:10", "htools:key:customer:all:1:7"],
        );
        let keys = ClusterKeys::of(&cluster);
        let compiled =
            |instance: &Instance| keys.compiled(&cluster.node(instance.primary).spec, &instance.tags, false);
        let all: Vec<CompiledKeys> = cluster.instances.iter().map(compiled).collect();
        let shown = |side: &[crate::keys::CompiledKey]| {
            side.iter()
                .map(|key| format!("{}={}:{}@{}", key.name, key.value, key.weight, key.level))
                .collect::<Vec<_>>()
        };
        let special = ["#CPU=0:25@default", "#LOAD=0:25@default", "#RAM=0:50@cluster"];
        // A running machine has a copy of the sticky key of its node.
        assert_eq!(shown(&all[0].system), [&special[..], &["ds=2:20@vdc", "pool=2:9@server"]].concat());
        assert_eq!(shown(&all[0].customer), ["all=1:7@cluster", "own=1:1@server", "shop=4:-5@server"]);
        assert_eq!(shown(&all[1].system), [&special[..], &["ds=1:10@cluster"]].concat());
        assert_eq!(shown(&all[1].customer), ["all=1:7@cluster"]);
        let a = cluster.nodes[0].spec.idx;
        let names =
            |keys: &[NodeKey]| keys.iter().map(|key| (key.name.clone(), key.sticky)).collect::<Vec<_>>();
        // Tags of clusters and groups are not set by customers.
        let owners =
            |compiled: &CompiledKeys| compiled.customer.iter().map(|key| key.owner).collect::<Vec<_>>();
        let (billing, customer) = (KeyOwner::Billing, KeyOwner::Customer);
        assert_eq!(owners(&all[0]), [billing, customer, customer]);
        assert_eq!(
            names(keys.of_node(a)),
            [("_ssd".into(), None), ("ds".into(), None), ("pool".into(), Some(9.0))]
        );
        assert_eq!(keys.of_node(cluster.nodes[1].spec.idx), []);
        assert!(has_keys(&cluster));
    }

    #[test]
    fn machines_are_what_runs_and_what_should() {
        let node = |name: &str, offline: &str| format!("{name}|9000|0|9000|9000|9000|9|{offline}|g|1|");
        let states = [
            ("up", "running", "a", "ext"),
            ("broken", "ERROR_down", "a", "ext"),
            ("stopped", "ADMIN_down", "a", "ext"),
            ("parked", "ADMIN_offline", "a", "ext"),
            ("done", "USER_down", "a", "ext"),
            ("lost", "ERROR_nodedown", "b", "plain"),
            ("there", "running", "off", "drbd"),
        ];
        let mut instances: Vec<String> = states
            .iter()
            .map(|(name, state, node, template)| {
                format!("{name}|100|0|1|{state}|Y|{node}||{template}|s:{name},s:all")
            })
            .collect();
        instances[6] = "there|100|0|1|running|Y|off|b|drbd|s:all".to_owned();
        let nodes =
            [node("a", "N"), node("b", "N"), node("off", "Y"), node("far", "N").replace("|g|", "|h|")];
        let mut cluster = groups(&["g||", "h||"], &nodes, &instances, &["htools:iextags:s"]);
        let fleet = fleet_of(&cluster, FleetFigures::default());
        let shown: Vec<_> = fleet
            .machines
            .iter()
            .map(|machine| (machine.name.as_str(), machine.node, machine.disk_node))
            .collect();
        assert_eq!(
            shown,
            [("up", Some(0), None), ("broken", None, None), ("lost", None, Some(1)), ("there", None, None)]
        );
        let homes: Vec<_> = fleet.machines.iter().map(|machine| machine.home()).collect();
        assert_eq!(homes, [Some(0), Some(0), Some(1), Some(2)]);
        assert_eq!(fleet.machines[0].reach.as_deref(), Some(&[0, 1, 2][..]));
        assert_eq!(fleet.machines[3].reach.as_deref(), Some(&[1, 2][..]));
        assert_eq!((fleet.machines[0].exclusion.len(), fleet.nodes[2].running), (2, false));
        // On a node that is only drained, instances still run.
        cluster.nodes[2].spec.outage = Outage::Drained;
        assert_eq!(fleet_of(&cluster, FleetFigures::default()).machines[3].node, Some(2));
    }

    #[test]
    fn loads_are_parts_of_processors() {
        let mut cluster = htools_testkit::cluster(
            &["a|9000|0|9000|9000|9000|8|N|u|1|", "b|9000|0|9000|9000|9000|0|N|u|1|"],
            &["i|0|0|1|running|Y|a||ext|", "j|0|0|1|running|Y|a||ext|", "k|0|0|1|running|Y|b||ext|"],
            &[],
        );
        cluster.instances[0].details_mut().util.cpu = 2.0;
        cluster.instances[1].details_mut().util.cpu = 4.0;
        cluster.instances[2].details_mut().util.cpu = f64::NAN;
        let load = |is_load_known| {
            let fleet = fleet_of(&cluster, FleetFigures { ram_ratio: 2.0, is_load_known });
            fleet.nodes.iter().map(|node| node.load).collect::<Vec<_>>()
        };
        assert_eq!(load(true), [0.75, 0.0]);
        assert_eq!(load(false), [0.0, 0.0]);
    }
}
