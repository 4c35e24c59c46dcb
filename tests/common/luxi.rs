//! A cluster as the answers of the master daemon.

use htools::load::raw::{RawCluster, RawInstance, RawNode};
use serde_json::{Value, json};

use super::{rapi, request};

/// The four answers for a cluster, in the order of the requests: nodes, instances, the cluster, and groups with their
/// disk parameters.
pub fn answers(raw: &RawCluster, hypervisor: &str) -> [String; 4] {
    let [_, _, _, info] = rapi::answers(raw, hypervisor);
    let groups: Vec<Value> = raw
        .groups
        .iter()
        .map(|group| {
            row([
                json!(group.uuid),
                json!(group.name),
                json!(group.alloc_policy.as_str()),
                request::policy(&group.policy),
                json!(group.tags),
                rapi::disk_parameters(&group.disk_parameters),
            ])
        })
        .collect();
    let nodes: Vec<Value> = raw.nodes.iter().map(|node| node_row(raw, node)).collect();
    let instances: Vec<Value> = raw.instances.iter().map(|instance| instance_row(raw, instance)).collect();
    [table(nodes), table(instances), success(info), table(groups)]
}

fn success(result: Value) -> String {
    json!({"success": true, "result": result}).to_string()
}

fn table(rows: Vec<Value>) -> String {
    success(json!({"fields": [], "data": rows}))
}

fn row<const N: usize>(values: [Value; N]) -> Value {
    values.into_iter().map(|value| json!([0, value])).collect()
}

fn node_row(raw: &RawCluster, node: &RawNode) -> Value {
    row([
        json!(node.name),
        json!(node.mem_total),
        json!(node.mem_node.0),
        json!(node.mem_free.0),
        json!(node.disk_total),
        json!(node.disk_free.0),
        json!(node.cpu_total),
        json!(node.cpu_node),
        json!(false),
        // Out of use, but with all figures.
        json!(node.offline),
        json!(true),
        json!(node.spindle_total),
        json!(raw.groups[node.group.get()].uuid),
        json!(node.tags),
        json!(node.exclusive_storage),
        json!(node.spindle_total),
        json!(node.spindle_free),
        json!(node.cpu_speed),
    ])
}

fn instance_row(raw: &RawCluster, instance: &RawInstance) -> Value {
    let name = |node: htools::model::NodeIdx| raw.nodes[node.get()].name.clone();
    let sizes: Vec<i64> = instance.disks.iter().map(|disk| disk.size.0).collect();
    let spindles: Vec<Option<i64>> = instance.disks.iter().map(|disk| disk.spindles).collect();
    row([
        json!(instance.name),
        json!(instance.disk.0),
        json!(instance.mem.0),
        json!(instance.vcpus),
        json!(instance.status.as_str()),
        json!(name(instance.primary)),
        json!(instance.secondary.map(name).into_iter().collect::<Vec<_>>()),
        json!(instance.tags),
        json!(instance.auto_balance),
        json!(instance.template.as_str()),
        json!(instance.spindle_use),
        json!(sizes),
        json!(spindles),
        json!(instance.forthcoming),
    ])
}
