//! A cluster as answers of the remote API.

use std::fs;
use std::path::Path;

use htools::load::raw::{RawCluster, RawInstance, RawNode};
use htools::model::{DiskParameters, GlusterVolume};
use serde_json::{Value, json};

use super::request::policy;

/// File names in a directory, and the resources that they answer.
pub const RESOURCES: [(&str, &str); 4] = [
    ("groups.json", "/2/groups?bulk=1"),
    ("nodes.json", "/2/nodes?bulk=1"),
    ("instances.json", "/2/instances?bulk=1"),
    ("info.json", "/2/info"),
];

/// Removes everything that RAPI cannot express: networks, several masters or none, the speed of processors, figures
/// of offline nodes.
pub fn limit_to_rapi(raw: &mut RawCluster) {
    for group in &mut raw.groups {
        group.networks.clear();
    }
    for (i, node) in raw.nodes.iter_mut().enumerate() {
        node.master = i == 0;
        node.cpu_speed = 1.0;
        for figure in [&mut node.mem_total, &mut node.disk_total, &mut node.cpu_total] {
            if !figure.is_finite() {
                *figure = 0.0;
            }
        }
    }
    for instance in &mut raw.instances {
        instance.networks.clear();
    }
}

/// The four answers for a cluster.
pub fn answers(raw: &RawCluster, hypervisor: &str) -> [Value; 4] {
    let groups: Vec<Value> = raw
        .groups
        .iter()
        .map(|group| {
            json!({
                "name": group.name, "uuid": group.uuid, "alloc_policy": group.alloc_policy.as_str(),
                "ipolicy": policy(&group.policy), "tags": group.tags,
                "diskparams": disk_parameters(&group.disk_parameters),
            })
        })
        .collect();
    let nodes: Vec<Value> = raw.nodes.iter().map(|node| node_value(raw, node)).collect();
    let instances: Vec<Value> = raw.instances.iter().map(|instance| instance_value(raw, instance)).collect();
    let master = raw.nodes.iter().find(|node| node.master).map(|node| &node.name);
    let info = json!({
        "master": master, "tags": raw.tags, "ipolicy": policy(&raw.policy), "default_hypervisor": hypervisor,
    });
    [groups.into(), nodes.into(), instances.into(), info]
}

/// Writes the answers into a new directory.
pub fn write(answers: &[Value; 4], directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    for ((name, _), answer) in RESOURCES.iter().zip(answers) {
        fs::write(directory.join(name), answer.to_string()).unwrap();
    }
}

fn node_value(raw: &RawCluster, node: &RawNode) -> Value {
    // Drained: out of use, but with all figures.
    json!({
        "name": node.name, "offline": false, "drained": node.offline, "tags": node.tags,
        "group.uuid": raw.groups[node.group.get()].uuid, "sptotal": node.spindle_total,
        "spfree": node.spindle_free, "mtotal": node.mem_total, "mnode": node.mem_node.0,
        "mfree": node.mem_free.0, "dtotal": node.disk_total, "dfree": node.disk_free.0,
        "ctotal": node.cpu_total, "cnos": node.cpu_node,
        "ndparams": {"exclusive_storage": node.exclusive_storage, "spindle_count": node.spindle_total},
    })
}

fn instance_value(raw: &RawCluster, instance: &RawInstance) -> Value {
    let name = |node: htools::model::NodeIdx| raw.nodes[node.get()].name.clone();
    let sizes: Vec<i64> = instance.disks.iter().map(|disk| disk.size.0).collect();
    let spindles: Vec<Option<i64>> = instance.disks.iter().map(|disk| disk.spindles).collect();
    json!({
        "name": instance.name, "disk_usage": instance.disk.0, "disk.sizes": sizes, "disk.spindles": spindles,
        "oper_ram": instance.mem.0, "pnode": name(instance.primary),
        "snodes": instance.secondary.map(name).into_iter().collect::<Vec<_>>(),
        "status": instance.status.as_str(), "tags": instance.tags,
        "disk_template": instance.template.as_str(), "forthcoming": instance.forthcoming,
        "beparams": {
            "vcpus": instance.vcpus, "auto_balance": instance.auto_balance,
            "spindle_use": instance.spindle_use,
        },
    })
}

/// Disk parameters, including some that do not concern pools.
pub fn disk_parameters(parameters: &DiskParameters) -> Value {
    let GlusterVolume { host, port, volume } = &parameters.gluster;
    json!({
        "blockdev": {}, "drbd": {"metavg": "xenvg", "resync-rate": 61440}, "ext": {"access": "kernelspace"},
        "gluster": {"access": "kernelspace", "host": host, "port": port, "volume": volume},
        "rbd": {"access": "kernelspace", "pool": parameters.rbd_pool},
    })
}
