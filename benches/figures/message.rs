//! Allocator requests for a cluster, in the format of Ganeti's master.

use std::fs;

use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::text;
use htools::model::{Cluster, Instance, InstancePolicy, InstanceSpec, Mib, NodeIdx};
use serde_json::{Map, Value, json};

use crate::common::clusters::Input;

/// The cluster of a file.
pub fn cluster(input: &Input) -> anyhow::Result<Cluster> {
    let raw = text::parse(&fs::read_to_string(&input.file)?, "text")?;
    let mut cluster = merge(raw, &MergeOptions::default())?;
    finish(&mut cluster, Mib::ZERO);
    Ok(cluster)
}

/// The message with this request.
pub fn message(cluster: &Cluster, request: Value) -> String {
    let named = |entries: Vec<(String, Value)>| Value::Object(Map::from_iter(entries));
    let groups = cluster.groups.iter().map(|g| {
        let group = json!({"name": g.name, "alloc_policy": g.alloc_policy.as_str(), "networks": [], "tags": g.tags,
            "ipolicy": policy(&g.policy)});
        (g.uuid.clone(), group)
    });
    let nodes = cluster.nodes.iter().map(|n| (n.spec.name.clone(), node(cluster, n.spec.idx)));
    let instances = cluster.instances.iter().map(|i| (i.name.clone(), instance(cluster, i)));
    json!({
        "cluster_tags": cluster.tags,
        "enabled_hypervisors": ["xen-pvm"],
        "nodegroups": named(groups.collect()),
        "nodes": named(nodes.collect()),
        "instances": named(instances.collect()),
        "request": request,
    })
    .to_string()
}

fn node(cluster: &Cluster, idx: NodeIdx) -> Value {
    let node = cluster.node(idx);
    let (spec, ledger) = (&node.spec, &node.state.ledger);
    json!({
        "group": cluster.group(spec.group).uuid, "offline": spec.offline, "drained": false, "vm_capable": true,
        "tags": spec.tags, "ndparams": {"spindle_count": spec.spindle_total, "exclusive_storage": false},
        "total_memory": spec.mem_total as i64, "reserved_memory": spec.mem_node.0, "free_memory": spec.mem_free.0,
        "total_disk": spec.disk_total as i64, "free_disk": ledger.disk_free.0,
        "total_cpus": spec.cpu_total as i64, "reserved_cpus": spec.cpu_node,
        "free_spindles": 0, "total_spindles": 0,
    })
}

fn instance(cluster: &Cluster, i: &Instance) -> Value {
    let nodes: Vec<&str> = i.nodes().map(|n| cluster.node(n).spec.name.as_str()).collect();
    json!({
        "nodes": nodes, "memory": i.mem.0, "vcpus": i.vcpus, "disk_space_total": i.disk.0, "disks": [{"size": i.disk.0}],
        "tags": i.tags, "nics": [], "spindle_use": i.spindle_use, "admin_state": "up", "disk_template": i.template.as_str(),
    })
}

fn policy(policy: &InstancePolicy) -> Value {
    let range = |r: &htools::model::SpecRange| json!({"min": spec(&r.min), "max": spec(&r.max)});
    let templates: Vec<&str> = policy.disk_templates.iter().map(|t| t.as_str()).collect();
    json!({
        "minmax": policy.ranges.iter().map(range).collect::<Vec<_>>(), "std": spec(&policy.std),
        "disk-templates": templates, "vcpu-ratio": policy.vcpu_ratio, "spindle-ratio": policy.spindle_ratio,
    })
}

fn spec(s: &InstanceSpec) -> Value {
    json!({"memory-size": s.memory.0, "cpu-count": s.cpus, "disk-size": s.disk_size.0, "disk-count": s.disk_count,
        "nic-count": s.nic_count, "spindle-use": s.spindle_use})
}

/// A request for a place for a new DRBD instance.
pub fn allocate() -> Value {
    json!({"type": "allocate", "name": "new", "required_nodes": 2, "memory": 1024, "vcpus": 1, "spindle_use": 1,
        "disk_space_total": 10_240, "disks": [{"size": 10_240}], "tags": [], "nics": [], "disk_template": "drbd"})
}

/// A request for other nodes for one node's instances, and their number. It is the node with the most instances, up
/// to `most`.
pub fn evacuate(cluster: &Cluster, most: usize) -> (Value, usize) {
    let of = |node: &NodeIdx| -> Vec<&str> {
        cluster.instances.iter().filter(|i| i.nodes().any(|n| n == *node)).map(|i| i.name.as_str()).collect()
    };
    let all = cluster.all_nodes().into_iter().map(|n| of(&n)).filter(|names| names.len() <= most);
    let names = all.max_by_key(|names| names.len()).unwrap_or_default();
    let count = names.len();
    (json!({"type": "node-evacuate", "evac_mode": "all", "instances": names}), count)
}
