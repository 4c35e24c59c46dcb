//! A cluster as the directory of RAPI answers that the tools read: with nulls, missing keys, unknown keys, and
//! numbers of all kinds.

use htools::generate::random::Random;
use htools::load::rapi::{RapiAnswers, ResourceAnswer, parse};
use htools::load::raw::{RawCluster, RawInstance, RawNode};
use htools::model::{AllocPolicy, Mib};
use serde_json::{Map, Value, json};

use super::clusters::OddCluster;
use super::damage;
use super::requests::{Idle, idle, policy};

/// The files of a directory.
pub const FILES: [&str; 4] = ["groups.json", "nodes.json", "instances.json", "info.json"];

/// Removes everything that RAPI cannot express. Everything left is expressed, except the own memory of KVM nodes.
pub fn limit_to_rapi(odd: &mut OddCluster, random: &mut Random) {
    odd.unknown.clear();
    odd.features.remove("unknown nodes");
    odd.features.insert("RAPI");
    let nodes = odd.raw.nodes.len();
    let master = random.below(nodes);
    for (i, node) in odd.raw.nodes.iter_mut().enumerate() {
        node.cpu_speed = 1.0;
        node.master = i == master;
        // No disk storage is enabled.
        if random.chance(0.02) {
            (node.disk_total, node.disk_free) = (0.0, Mib(0));
        }
        if idle(i, node).is_some_and(|idle| idle != Idle::Drained) {
            (node.mem_total, node.disk_total, node.cpu_total) = (0.0, 0.0, 0.0);
            (node.mem_node, node.mem_free, node.disk_free) = (Mib(0), Mib(0), Mib(0));
            (node.cpu_node, node.spindle_free) = (0, 0);
            if node.exclusive_storage {
                node.spindle_total = 0;
            }
        }
    }
    for group in &mut odd.raw.groups {
        group.networks.clear();
        if random.chance(0.05) {
            group.alloc_policy = AllocPolicy::LastResort;
        }
    }
}

/// The four answers, in the order of [`FILES`].
pub fn documents(raw: &RawCluster, hypervisor: &str, random: &mut Random) -> [Value; 4] {
    let groups = raw.groups.iter().map(|group| {
        json!({
            "name": group.name, "uuid": group.uuid, "alloc_policy": group.alloc_policy.as_str(),
            "ipolicy": policy(&group.policy), "tags": group.tags, "node_cnt": 1, "networks": [],
        })
    });
    let groups = groups.collect();
    let nodes = raw.nodes.iter().enumerate().map(|(i, node)| node_value(raw, i, node, random));
    let nodes = nodes.collect();
    let instances = raw.instances.iter().map(|instance| instance_value(raw, instance, random));
    let instances = instances.collect();
    // Names mean the last node with that name.
    let master = raw.nodes.iter().find(|node| node.master).map_or("nobody", |node| &node.name);
    let info = json!({
        "name": "cluster", "master": master, "tags": raw.tags, "ipolicy": policy(&raw.policy),
        "default_hypervisor": hypervisor, "enabled_hypervisors": ["fake"], "uuid": null,
    });
    [groups, nodes, instances, info]
}

/// The text of a document.
pub fn text(document: &Value, random: &mut Random) -> String {
    if random.chance(0.2) { format!("{document:#}\n") } else { document.to_string() }
}

/// An integer, sometimes with a fraction that is rounded off.
pub fn int(value: i64, random: &mut Random) -> Value {
    // Doubles hold it exactly.
    if value.abs() > 1 << 50 || !random.chance(0.06) {
        return value.into();
    }
    let half = if value % 2 == 0 { 0.5 } else { 0.25 };
    (value as f64 + *random.pick(&[0.0, 0.25, -0.4, half])).into()
}

/// A float, mostly without a decimal point if it needs none.
pub fn real(value: f64, random: &mut Random) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 && random.chance(0.7) {
        (value as i64).into()
    } else {
        value.into()
    }
}

/// Adds a value to an object; an absent one is written in one of the equivalent forms.
fn put_or_leave(object: &mut Map<String, Value>, key: &str, value: Value, absent: bool, random: &mut Random) {
    match (absent, random.below(3)) {
        (true, 0) => {}
        (true, 1) => drop(object.insert(key.into(), Value::Null)),
        _ => drop(object.insert(key.into(), value)),
    }
}

fn node_value(raw: &RawCluster, index: usize, node: &RawNode, random: &mut Random) -> Value {
    let idle = idle(index, node);
    let live = idle.is_none_or(|idle| idle == Idle::Drained);
    let mut parameters = json!({"exclusive_storage": node.exclusive_storage, "cpu_speed": 2.5, "ovs": false});
    if !node.exclusive_storage || random.chance(0.7) {
        let spindles = if node.exclusive_storage { 1 } else { node.spindle_total };
        parameters["spindle_count"] = int(spindles, random);
    }
    let value = json!({
        "name": node.name, "offline": idle == Some(Idle::Offline), "drained": idle == Some(Idle::Drained),
        "role": "R", "group.uuid": raw.groups[node.group.get()].uuid, "tags": node.tags,
        "ndparams": parameters, "pip": "192.0.2.1", "pinst_list": [],
    });
    let Value::Object(mut object) = value else { return Value::Null };
    let capable = idle != Some(Idle::NotCapable);
    put_or_leave(&mut object, "vm_capable", capable.into(), capable, random);
    let total = if node.exclusive_storage { node.spindle_total } else { 0 };
    let whole = [
        ("mnode", node.mem_node.0),
        ("mfree", node.mem_free.0),
        ("dfree", node.disk_free.0),
        ("cnos", node.cpu_node),
        ("sptotal", total),
        ("spfree", node.spindle_free),
    ];
    for (key, value) in whole {
        let optional = !live || value == 0 && ["dfree", "spfree"].contains(&key);
        let value = if live { int(value, random) } else { json!(17) };
        put_or_leave(
            &mut object,
            key,
            value,
            optional || key == "sptotal" && !node.exclusive_storage,
            random,
        );
    }
    for (key, value) in [("mtotal", node.mem_total), ("dtotal", node.disk_total), ("ctotal", node.cpu_total)]
    {
        let optional = !live || value == 0.0 && key == "dtotal";
        let value = if live { real(value, random) } else { json!(17.5) };
        put_or_leave(&mut object, key, value, optional, random);
    }
    Value::Object(object)
}

fn instance_value(raw: &RawCluster, instance: &RawInstance, random: &mut Random) -> Value {
    let name = |node: htools::model::NodeIdx| raw.nodes[node.get()].name.clone();
    let mem = instance.mem.0;
    let mut parameters = json!({
        "vcpus": int(instance.vcpus, random), "auto_balance": instance.auto_balance,
        "spindle_use": instance.spindle_use, "minmem": 64,
    });
    let oper_ram = if random.chance(0.6) {
        // Its configured value does not matter then.
        if random.chance(0.7) {
            parameters["memory"] = json!(mem + 1);
        }
        int(mem, random)
    } else {
        match random.below(4) {
            0 => parameters["memory"] = Value::Null,
            1 => parameters["memory"] = "auto".into(),
            2 => {}
            _ => parameters["memory"] = int(mem, random),
        }
        let known = parameters["memory"].is_number();
        parameters["maxmem"] = if known { json!(mem + 1) } else { int(mem, random) };
        random.pick(&[Value::Null, Value::Null, json!("-"), json!([])]).clone()
    };
    let mut sizes: Vec<i64> = instance.disks.iter().map(|disk| disk.size.0).collect();
    let mut spindles: Vec<Option<i64>> = instance.disks.iter().map(|disk| disk.spindles).collect();
    // Elements without a counterpart are cut off.
    match random.below(20) {
        0 => sizes.push(77),
        1 => spindles.push(*random.pick(&[None, Some(3)])),
        _ => {}
    }
    let mut secondaries: Vec<Value> = instance.secondary.map(name).into_iter().map(Value::from).collect();
    if !secondaries.is_empty() && random.chance(0.05) {
        secondaries.push(json!(["ignored"]));
    }
    let mut value = json!({
        "name": instance.name, "disk_usage": int(instance.disk.0, random), "disk.sizes": sizes,
        "disk.spindles": spindles, "oper_ram": oper_ram, "beparams": parameters,
        "pnode": name(instance.primary), "snodes": secondaries, "status": instance.status.as_str(),
        "tags": instance.tags, "disk_template": instance.template.as_str(), "os": "noop", "nic.ips": [null],
    });
    if instance.forthcoming {
        value["forthcoming"] = true.into();
    } else if random.chance(0.2) {
        value["forthcoming"] = random.pick(&[Value::Null, json!(false), json!("x"), json!(1)]).clone();
    }
    value
}

/// Damages one of the documents. Returns the texts and their meaning, if they have one.
pub fn damage(documents: &mut [Value; 4], random: &mut Random) -> ([String; 4], Option<RawCluster>) {
    let which = random.below(4);
    let broken = damage::damaged_document(&mut documents[which], random);
    let mut texts: [String; 4] = std::array::from_fn(|i| documents[i].to_string());
    texts[which] = broken;
    let meant = meaning(&texts);
    (texts, meant)
}

/// Figures that Ganeti lacks for a node that does not answer.
const FIGURES: [&str; 5] = ["mtotal", "mnode", "mfree", "ctotal", "cnos"];

/// Sometimes makes a node silent without marking it offline.
pub fn silence(files: &mut [(&'static str, String)], cluster: &mut OddCluster, random: &mut Random) {
    let Ok(mut nodes) = serde_json::from_str::<Vec<Value>>(&files[1].1) else { return };
    if nodes.is_empty() || !random.chance(0.1) {
        return;
    }
    let at = random.below(nodes.len());
    for key in FIGURES {
        nodes[at][key] = Value::Null;
    }
    let mut texts: [String; 4] = std::array::from_fn(|i| files[i].1.clone());
    texts[1] = Value::from(nodes).to_string();
    if let Some(meant) = meaning(&texts).filter(|meant| !meant.warnings.is_empty()) {
        cluster.raw = meant;
        cluster.features.insert("silent node");
        files[1].1 = texts[1].clone();
    }
}

/// The same text with such nodes marked offline.
pub fn marked_offline(text: &str) -> Option<String> {
    let mut nodes: Vec<Value> = serde_json::from_str(text).ok()?;
    for node in &mut nodes {
        if FIGURES.iter().all(|key| node.get(key) == Some(&Value::Null)) {
            node["offline"] = true.into();
        }
    }
    Some(Value::from(nodes).to_string())
}

/// The meaning of the texts, which the rules need.
fn meaning(texts: &[String; 4]) -> Option<RawCluster> {
    let answer =
        |i: usize| ResourceAnswer { source: FILES[i].into(), body: Ok(texts[i].clone().into_bytes()) };
    let answers = RapiAnswers { groups: answer(0), nodes: answer(1), instances: answer(2), info: answer(3) };
    parse(&answers).ok()
}
