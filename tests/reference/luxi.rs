//! A cluster as the answers of a master daemon. They include fields without data, in all notations that a master may
//! use, and other odd answers.

use std::io;
use std::path::Path;

use htools::generate::random::Random;
use htools::load::Detail;
use htools::load::luxi::{LuxiAnswers, parse};
use htools::load::raw::{RawCluster, RawInstance, RawNode};
use htools::model::Mib;
use serde_json::{Value, json};

use super::cases::Case;
use super::clusters::OddCluster;
use super::requests::{Idle, idle, policy};
use super::server::{Act, SOCKET, Server, message};
use super::{damage, rapi};

/// The files with the answers, in the order of the requests: nodes, instances, the cluster, groups.
pub const FILES: [&str; 4] = ["luxi/1-nodes", "luxi/2-instances", "luxi/3-info", "luxi/4-groups"];

/// The answer about nodes, with silent ones marked as offline.
pub const MARKED: &str = "luxi/1-nodes-marked";

/// A missing answer: the connection is closed.
const CLOSED: &str = "(closed)";

/// The socket on the command line.
pub fn word() -> String {
    format!("--luxi={SOCKET}")
}

/// Removes everything that a master cannot express.
pub fn limit_to_luxi(odd: &mut OddCluster, random: &mut Random) {
    let speeds: Vec<f64> = odd.raw.nodes.iter().map(|node| node.cpu_speed).collect();
    rapi::limit_to_rapi(odd, random);
    odd.features.remove("RAPI");
    odd.features.insert("LUXI");
    for (node, speed) in odd.raw.nodes.iter_mut().zip(speeds) {
        node.cpu_speed = speed;
    }
    // The master is the node that answers; the text format cannot mark others as the master.
    let online: Vec<usize> = (0..odd.raw.nodes.len()).filter(|i| !odd.raw.nodes[*i].offline).collect();
    if !online.is_empty() {
        odd.raw.nodes.iter_mut().for_each(|node| node.master = false);
        odd.raw.nodes[*random.pick(&online)].master = true;
    }
}

/// The files with the answers. The cluster is changed to what they mean.
pub fn files(
    odd: &mut OddCluster,
    hypervisor: &str,
    may_be_silent: bool,
    random: &mut Random,
) -> Vec<(&'static str, String)> {
    let mut documents = documents(&odd.raw, hypervisor, random);
    if may_be_silent && random.chance(0.1) && odd.raw.nodes.iter().any(|node| !node.offline) {
        let marked = silence(&mut odd.raw, &mut documents, random);
        odd.features.insert("silent nodes");
        let texts = documents.map(|document| rapi::text(&document, random));
        return FILES.into_iter().zip(texts).chain([(MARKED, marked.to_string())]).collect();
    }
    let mut texts = documents.each_ref().map(|document| rapi::text(document, random));
    let which = random.below(4);
    match random.below(20) {
        0 | 1 => texts[which] = damage::damaged_document(&mut documents[which], random),
        2 => texts[which] = refusal(random),
        3 if random.chance(0.3) => texts[which] = CLOSED.to_owned(),
        _ => return FILES.into_iter().zip(texts).collect(),
    }
    // The rules need the meaning of the answers.
    let answer = |i: usize| Ok(texts[i].clone());
    let [nodes, instances, info, groups] = [0, 1, 2, 3].map(answer);
    let meant =
        parse(&LuxiAnswers { source: SOCKET.into(), detail: Detail::Usual, nodes, instances, info, groups });
    odd.features.insert(if meant.is_ok() { "LUXI, changed" } else { "LUXI, damaged" });
    odd.raw = meant.unwrap_or_else(|_| std::mem::take(&mut odd.raw));
    FILES.into_iter().zip(texts).collect()
}

/// Starts a server in the case's directory, if the case needs one.
pub fn serve(case: &Case, directory: &Path) -> io::Result<Option<Server>> {
    let find = |name: &str| case.files.iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone());
    let [Some(nodes), Some(instances), Some(info), Some(groups)] = FILES.map(find) else { return Ok(None) };
    let answers = [nodes, instances, info, groups];
    Ok(Some(Server::new(directory, move |number, _| match answers.get(number) {
        Some(text) if text != CLOSED => message(text),
        _ => vec![Act::Close],
    })))
}

/// Makes some online nodes silent. Returns the answer of a master that knows about it.
fn silence(raw: &mut RawCluster, documents: &mut [Value; 4], random: &mut Random) -> Value {
    let online: Vec<usize> = (0..raw.nodes.len()).filter(|i| !raw.nodes[*i].offline).collect();
    let mut marked = documents[0].clone();
    for i in (0..random.between(1, 2)).map(|_| *random.pick(&online)) {
        let node = &mut raw.nodes[i];
        (node.mem_total, node.disk_total, node.cpu_total) = (0.0, 0.0, 0.0);
        (node.mem_node, node.mem_free, node.disk_free) = (Mib(0), Mib(0), Mib(0));
        (node.cpu_node, node.spindle_free, node.offline) = (0, 0, true);
        if node.exclusive_storage {
            node.spindle_total = 0;
        }
        for document in [&mut documents[0], &mut marked] {
            for field in [1, 2, 3, 4, 5, 6, 7, 15, 16] {
                document["result"]["data"][i][field] = json!([2, null]);
            }
        }
        marked["result"]["data"][i][8] = json!([0, true]);
    }
    marked
}

fn refusal(random: &mut Random) -> String {
    let result = random
        .pick(&[
            json!(["OpPrereqError", ["m", "wrong_input"]]),
            json!(["TypeEnforcementError", ["m"]]),
            json!(["GenericError", ["é \"x\""]]),
            json!(["ConfigVerifyError", ["m", ["a", "b"]]]),
            json!(["HooksFailure", ["m"]]),
            json!(["NoSuchError", []]),
            json!("Failed to parse request: x"),
            json!([1]),
            json!(null),
        ])
        .clone();
    json!({"success": false, "result": result}).to_string()
}

/// The four answers, in the order of [`FILES`].
fn documents(raw: &RawCluster, hypervisor: &str, random: &mut Random) -> [Value; 4] {
    let nodes: Vec<Value> =
        raw.nodes.iter().enumerate().map(|(i, node)| node_row(raw, i, node, random)).collect();
    let instances: Vec<Value> =
        raw.instances.iter().map(|instance| instance_row(raw, instance, random)).collect();
    let groups: Vec<Value> = raw
        .groups
        .iter()
        .map(|group| {
            let cells = [
                json!(group.uuid),
                json!(group.name),
                json!(group.alloc_policy.as_str()),
                policy(&group.policy),
            ];
            row(cells.into_iter().chain([json!(group.tags)]), random)
        })
        .collect();
    // Names mean the last node with that name.
    let master = raw.nodes.iter().find(|node| node.master).map_or("nobody", |node| &node.name);
    let info = json!({
        "name": "cluster", "master": master, "tags": raw.tags, "ipolicy": policy(&raw.policy),
        "default_hypervisor": hypervisor, "enabled_hypervisors": ["fake"], "uuid": null,
    });
    let table = |rows: Vec<Value>| json!({"fields": [{"name": "x"}], "data": rows});
    let mut envelope = |result: Value| {
        if random.chance(0.1) {
            json!({"version": 3, "result": result, "success": true})
        } else {
            json!({"success": true, "result": result})
        }
    };
    [envelope(table(nodes)), envelope(table(instances)), envelope(info), envelope(table(groups))]
}

fn row(values: impl Iterator<Item = Value>, random: &mut Random) -> Value {
    values.map(|value| normal(value, random)).collect()
}

fn normal(value: Value, random: &mut Random) -> Value {
    let status = if random.chance(0.02) {
        random.pick(&[json!(0.0), json!(0.25), json!(-0.5)]).clone()
    } else {
        json!(0)
    };
    json!([status, value])
}

/// A placeholder for a value that nobody reads.
fn anything(random: &mut Random) -> Value {
    random
        .pick(&[
            json!([2, null]),
            json!([3, null]),
            json!([4, null]),
            json!([1, null]),
            json!([0, null]),
            json!([0, "x"]),
            json!([9, 7]),
            json!(["x", {}]),
        ])
        .clone()
}

fn node_row(raw: &RawCluster, index: usize, node: &RawNode, random: &mut Random) -> Value {
    let idle = idle(index, node);
    let live = idle.is_none_or(|idle| idle == Idle::Drained);
    let exclusive = node.exclusive_storage;
    let figure = |value: Value, may_fail: bool, counts: bool, random: &mut Random| {
        let nothing = may_fail && value.as_f64() == Some(0.0) && random.chance(0.5);
        match counts && !nothing {
            true => normal(value, random),
            false if counts || random.chance(0.8) => anything(random),
            // Not used although it is there.
            false => json!([0, 17]),
        }
    };
    let spindles = rapi::int(node.spindle_total, random);
    let whole = |value: i64, random: &mut Random| rapi::int(value, random);
    let cells = [
        normal(json!(node.name), random),
        figure(rapi::real(node.mem_total, random), false, live, random),
        figure(whole(node.mem_node.0, random), false, live, random),
        figure(whole(node.mem_free.0, random), false, live, random),
        figure(rapi::real(node.disk_total, random), true, live, random),
        figure(whole(node.disk_free.0, random), true, live, random),
        figure(rapi::real(node.cpu_total, random), false, live, random),
        figure(whole(node.cpu_node, random), false, live, random),
        normal(json!(idle == Some(Idle::Offline)), random),
        normal(json!(idle == Some(Idle::Drained)), random),
        normal(json!(idle != Some(Idle::NotCapable)), random),
        figure(spindles.clone(), false, !exclusive, random),
        normal(json!(raw.groups[node.group.get()].uuid), random),
        normal(json!(node.tags), random),
        normal(json!(exclusive), random),
        figure(spindles, false, live && exclusive, random),
        figure(whole(node.spindle_free, random), true, live, random),
        normal(rapi::real(node.cpu_speed, random), random),
    ];
    cells.into_iter().collect()
}

fn instance_row(raw: &RawCluster, instance: &RawInstance, random: &mut Random) -> Value {
    let name = |node: htools::model::NodeIdx| raw.nodes[node.get()].name.clone();
    let mut sizes: Vec<i64> = instance.disks.iter().map(|disk| disk.size.0).collect();
    let mut spindles: Vec<Option<i64>> = instance.disks.iter().map(|disk| disk.spindles).collect();
    // Elements without a counterpart are cut off.
    match random.below(20) {
        0 => sizes.push(77),
        1 => spindles.push(*random.pick(&[None, Some(3)])),
        _ => {}
    }
    let mut secondaries: Vec<String> = instance.secondary.map(name).into_iter().collect();
    if !secondaries.is_empty() && random.chance(0.05) {
        secondaries.push("ignored".to_owned());
    }
    let cells = [
        json!(instance.name),
        rapi::int(instance.disk.0, random),
        rapi::int(instance.mem.0, random),
        rapi::int(instance.vcpus, random),
        json!(instance.status.as_str()),
        json!(name(instance.primary)),
        json!(secondaries),
        json!(instance.tags),
        json!(instance.auto_balance),
        json!(instance.template.as_str()),
        json!(instance.spindle_use),
        json!(sizes),
        json!(spindles),
        json!(instance.forthcoming),
    ];
    row(cells.into_iter(), random)
}
