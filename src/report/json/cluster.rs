//! The state of a cluster, as documents show it.

use serde::Serialize;

use crate::model::{Cluster, InstanceIdx, NodeIdx};

/// A cluster, or the part of it that a tool worked on.
#[derive(Debug, Clone, Serialize)]
pub struct State {
    tags: Vec<String>,
    groups: Vec<Group>,
    nodes: Vec<Node>,
    instances: Vec<Instance>,
}

#[derive(Debug, Clone, Serialize)]
struct Group {
    name: String,
    uuid: String,
    alloc_policy: &'static str,
    tags: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct Node {
    name: String,
    group: String,
    offline: bool,
    master: bool,
    n1_fail: bool,
    memory: Memory,
    disk: Disk,
    cpu: Cpu,
    spindles: Spindles,
    load: Load,
    primaries: Vec<String>,
    secondaries: Vec<String>,
    tags: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct Memory {
    total: f64,
    node: i64,
    instances: i64,
    unaccounted: i64,
    reported_free: i64,
    unallocated: i64,
    reserved: i64,
}

#[derive(Debug, Clone, Serialize)]
struct Disk {
    total: f64,
    free: i64,
}

#[derive(Debug, Clone, Serialize)]
struct Cpu {
    physical: f64,
    virtual_in_use: i64,
    speed: f64,
}

#[derive(Debug, Clone, Serialize)]
struct Spindles {
    total: i64,
    used: f64,
    free: i64,
    exclusive_storage: bool,
}

#[derive(Debug, Clone, Serialize)]
struct Load {
    cpu: f64,
    memory: f64,
    disk: f64,
    network: f64,
}

#[derive(Debug, Clone, Serialize)]
struct Instance {
    name: String,
    primary: String,
    secondary: Option<String>,
    status: &'static str,
    disk_template: &'static str,
    memory: i64,
    disk: i64,
    vcpus: i64,
    auto_balance: bool,
    forthcoming: bool,
    load: Load,
    tags: Vec<String>,
}

impl State {
    /// The state of some nodes and instances of a cluster.
    pub fn of(cluster: &Cluster, nodes: &[NodeIdx], instances: &[InstanceIdx]) -> State {
        State {
            tags: cluster.tags.clone(),
            groups: cluster
                .groups
                .iter()
                .map(|g| Group {
                    name: g.name.clone(),
                    uuid: g.uuid.clone(),
                    alloc_policy: g.alloc_policy.as_str(),
                    tags: g.tags.clone(),
                })
                .collect(),
            nodes: nodes.iter().map(|n| node(cluster, *n)).collect(),
            instances: instances.iter().map(|i| instance(cluster, *i)).collect(),
        }
    }
}

fn load(util: &crate::model::Utilisation) -> Load {
    Load { cpu: util.cpu, memory: util.mem, disk: util.disk, network: util.net }
}

fn node(cluster: &Cluster, idx: NodeIdx) -> Node {
    let crate::model::Node { spec, state } = cluster.node(idx);
    let ledger = &state.ledger;
    let names = |list: &[InstanceIdx]| list.iter().map(|i| cluster.instance(*i).name.clone()).collect();
    Node {
        name: spec.name.clone(),
        group: cluster.group(spec.group).name.clone(),
        offline: spec.offline,
        master: spec.master,
        n1_fail: ledger.n1_fail,
        memory: Memory {
            total: spec.mem_total,
            node: spec.mem_node.0,
            instances: ledger.mem_instances.0,
            unaccounted: spec.mem_unaccounted.0,
            reported_free: spec.mem_free.0,
            unallocated: ledger.mem_unallocated(spec).0,
            reserved: ledger.mem_reserved.0,
        },
        disk: Disk { total: spec.disk_total, free: ledger.disk_free.0 },
        cpu: Cpu { physical: spec.cpu_total, virtual_in_use: ledger.vcpus, speed: spec.cpu_speed },
        spindles: Spindles {
            total: spec.spindle_total,
            used: ledger.spindles_used,
            free: ledger.spindles_free,
            exclusive_storage: spec.exclusive_storage,
        },
        load: load(&ledger.load),
        primaries: names(&state.primaries),
        secondaries: names(&state.secondaries),
        tags: spec.tags.clone(),
    }
}

fn instance(cluster: &Cluster, idx: InstanceIdx) -> Instance {
    let i = cluster.instance(idx);
    let name = |n: NodeIdx| cluster.node(n).spec.name.clone();
    Instance {
        name: i.name.clone(),
        primary: name(i.primary),
        secondary: i.secondary.map(name),
        status: i.status.as_str(),
        disk_template: i.template.as_str(),
        memory: i.mem.0,
        disk: i.disk.0,
        vcpus: i.vcpus,
        auto_balance: i.auto_balance,
        forthcoming: i.forthcoming,
        load: load(&i.util),
        tags: i.tags.clone(),
    }
}
