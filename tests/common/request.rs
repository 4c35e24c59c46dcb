//! A cluster as the file for an allocator, without the request.

use std::iter;

use htools::load::raw::{RawCluster, RawInstance, RawNode};
use htools::model::{Disk, InstancePolicy, InstanceSpec, RunStatus};
use serde_json::{Map, Value, json};

/// Reason why a node is out of use. The text format does not contain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    Offline,
    /// Its figures count.
    Drained,
    NotCapable,
}

/// Reason why the node with this number is out of use, if it is.
pub fn idle(index: usize, node: &RawNode) -> Option<Idle> {
    let kind = [Idle::Offline, Idle::Drained, Idle::NotCapable, Idle::Drained][index % 4];
    node.offline.then_some(kind)
}

/// The whole message.
pub fn message(raw: &RawCluster, hypervisors: &[&str], request: &Value) -> Value {
    let groups = raw.groups.iter().map(|group| {
        let value = json!({
            "name": group.name, "alloc_policy": group.alloc_policy.as_str(), "networks": group.networks,
            "tags": group.tags, "ipolicy": policy(&group.policy),
        });
        (group.uuid.clone(), value)
    });
    let nodes = raw.nodes.iter().enumerate().map(|(i, node)| (node.name.clone(), node_value(raw, i, node)));
    let instances = raw.instances.iter().map(|instance| {
        let places: Vec<&str> = iter::once(instance.primary)
            .chain(instance.secondary)
            .map(|node| raw.nodes[node.get()].name.as_str())
            .collect();
        let mut value = description(instance);
        value.insert("nodes".into(), json!(places));
        (instance.name.clone(), Value::Object(value))
    });
    json!({
        "request": request,
        "nodegroups": Value::Object(groups.collect()),
        "nodes": Value::Object(nodes.collect()),
        "instances": Value::Object(instances.collect()),
        "cluster_tags": raw.tags,
        "enabled_hypervisors": hypervisors,
    })
}

fn node_value(raw: &RawCluster, index: usize, node: &RawNode) -> Value {
    let idle = idle(index, node);
    let mut value = json!({
        "offline": idle == Some(Idle::Offline), "drained": idle == Some(Idle::Drained),
        "group": raw.groups[node.group.get()].uuid, "vm_capable": idle != Some(Idle::NotCapable),
        "tags": node.tags,
        "ndparams": {"exclusive_storage": node.exclusive_storage, "spindle_count": node.spindle_total},
        "total_spindles": node.spindle_total, "free_spindles": node.spindle_free,
    });
    let numbers = json!({
        "total_memory": node.mem_total as i64, "reserved_memory": node.mem_node.0,
        "free_memory": node.mem_free.0, "total_disk": node.disk_total as i64,
        "free_disk": node.disk_free.0, "total_cpus": node.cpu_total as i64,
        "reserved_cpus": node.cpu_node,
    });
    // The figures of a node that is not live do not matter.
    if (idle.is_none_or(|idle| idle == Idle::Drained) || !index.is_multiple_of(3))
        && let (Value::Object(all), Value::Object(more)) = (&mut value, numbers)
    {
        all.extend(more);
    }
    value
}

/// Description of an instance in a request, existing or new, without its nodes.
pub fn description(instance: &RawInstance) -> Map<String, Value> {
    let disk = |disk: &Disk| match disk.spindles {
        Some(spindles) => json!({"mode": "rw", "size": disk.size.0, "spindles": spindles}),
        None => json!({"mode": "rw", "size": disk.size.0}),
    };
    let interface = |network: &Option<String>| match network {
        Some(network) => json!({"mac": "aa:00:00:00:00:01", "mode": "bridged", "network": network}),
        None => json!({"mode": "routed", "ip": null, "link": "br0", "bridge": null}),
    };
    let state = match instance.status {
        RunStatus::AdminDown => "down",
        RunStatus::AdminOffline => "offline",
        _ => "up",
    };
    let value = json!({
        "disk_space_total": instance.disk.0, "memory": instance.mem.0, "vcpus": instance.vcpus,
        "disks": instance.disks.iter().map(disk).collect::<Vec<_>>(),
        "tags": instance.tags, "spindle_use": instance.spindle_use,
        "disk_template": instance.template.as_str(), "admin_state": state,
        "nics": instance.networks.iter().map(interface).collect::<Vec<_>>(),
        "forthcoming": instance.forthcoming,
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// An instance policy as JSON.
pub fn policy(policy: &InstancePolicy) -> Value {
    let spec = |s: &InstanceSpec| {
        json!({
            "memory-size": s.memory.0, "cpu-count": s.cpus, "disk-size": s.disk_size.0,
            "disk-count": s.disk_count, "nic-count": s.nic_count, "spindle-use": s.spindle_use,
        })
    };
    let ranges: Vec<Value> =
        policy.ranges.iter().map(|r| json!({"min": spec(&r.min), "max": spec(&r.max)})).collect();
    let templates: Vec<&str> = policy.disk_templates.iter().map(|t| t.as_str()).collect();
    json!({
        "minmax": ranges, "std": spec(&policy.std), "disk-templates": templates,
        "vcpu-ratio": policy.vcpu_ratio, "spindle-ratio": policy.spindle_ratio,
    })
}
