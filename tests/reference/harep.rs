//! Cases of harep: clusters with nodes out of use, tags of all kinds, and jobs of earlier repairs in a master daemon.
//!
//! Faults that only ours detects do not occur. These are drained nodes, instances that are down on healthy nodes,
//! degraded disks, and instances on offline nodes unless their disks are mirrored by DRBD or are volumes on that node
//! only.

use std::collections::{BTreeMap, BTreeSet};

use htools::generate::random::Random;
use htools::load::raw::RawCluster;
use htools::model::InstancePolicy;
use serde_json::{Value, json};

use super::cases::{Case, Facts, Source};
use super::clusters::OddCluster;
use super::harep_tags::{Jobs, history, permissions, repeated};
use super::master::MASTER;
use super::mistakes;
use super::oddities::Purpose;
use super::options::{self, flag, valued};
use super::requests;
use super::tools::Tool;

/// Most instances if tags are written: the reference waits half a second for each of them.
const MOST_WITH_CHANGES: i64 = 3;
/// Most instances if nothing is changed.
const MOST: i64 = 14;

/// A node while instances are placed on it.
struct Node {
    name: String,
    group: usize,
    is_out: bool,
}

/// Creates a case.
pub fn case(number: u64, random: &mut Random) -> Case {
    let changes = random.chance(0.22);
    let mut features = BTreeSet::from([if changes { "repairs carried out" } else { "repairs on trial" }]);
    let instances = random.between(0, if changes { MOST_WITH_CHANGES } else { MOST });
    let known = knowledge(instances, changes, &mut features, random);
    let mut facts = Facts::default();
    let mut meant = Vec::new();
    if !changes {
        meant.push(flag(None, "dry-run"));
    }
    if random.chance(0.4) {
        meant.push(valued(None, "job-delay", *random.pick(&["0", "1", "10", "2.5", "0.0", "1e2", "60"])));
    }
    if random.chance(0.2) {
        meant.push(valued(None, "reason", *random.pick(&["test", "a reason: two words", ""])));
    }
    random.shuffle(&mut meant);
    let mut words = options::typed(Tool::Harep, &meant, random);
    let source_at = if random.chance(0.5) { words.len() } else { 0 };
    if random.chance(0.06) {
        facts.mistaken = true;
        words.extend(mistakes::mistake(Tool::Harep, random));
    }
    let cluster = OddCluster {
        purpose: Purpose::Balance,
        raw: RawCluster::default(),
        unknown: BTreeSet::new(),
        features,
    };
    let files = vec![(MASTER, known.to_string())];
    Case {
        number,
        tool: Tool::Harep,
        cluster,
        files,
        words,
        source_at,
        source: Source::Luxi,
        facts,
        asked: None,
    }
}

/// The master's knowledge.
fn knowledge(count: i64, changes: bool, features: &mut BTreeSet<&'static str>, random: &mut Random) -> Value {
    let domain = *random.pick(&["", ".example.com", ".b"]);
    let groups = 1 + random.weighted(&[0.55, 0.3, 0.15]);
    let nodes = nodes(groups, domain, random);
    let mut jobs: Jobs = Vec::new();
    let instances: Vec<Value> =
        (0..count).map(|at| instance(at, &nodes, domain, &mut jobs, random)).collect();
    let names: Vec<Value> = instances.iter().map(|instance| instance["name"].clone()).collect();
    let mut some = |chance: f64| -> Vec<Value> {
        if !changes || names.is_empty() || !random.chance(chance) {
            return Vec::new();
        }
        vec![random.pick(&names).clone()]
    };
    let (refused, failing) = (some(0.25), some(0.15));
    // If it submits no jobs, only ours asks about jobs.
    let mute = !changes && !jobs.is_empty() && random.chance(0.03);
    for (holds, feature) in [
        (!refused.is_empty(), "repairs refused"),
        (!failing.is_empty(), "tags that cannot be written"),
        (mute, "jobs that cannot be asked about"),
    ] {
        if holds {
            features.insert(feature);
        }
    }
    let group_rows: Vec<Value> = (0..groups)
        .map(|at| {
            let tags = if random.chance(0.3) { permissions(random) } else { Vec::new() };
            json!({
                "uuid": format!("group-uuid-{at}"), "name": format!("group{at}"), "alloc_policy": "preferred",
                "ipolicy": requests::policy(&InstancePolicy::default()), "tags": tags,
            })
        })
        .collect();
    let tags = if random.chance(0.65) { permissions(random) } else { Vec::new() };
    let info = json!({
        "name": "cluster", "master": nodes[0].name, "tags": tags, "uuid": "cluster-uuid",
        "ipolicy": requests::policy(&InstancePolicy::default()),
        "default_hypervisor": "kvm", "enabled_hypervisors": ["kvm"],
    });
    let jobs: BTreeMap<String, &str> =
        jobs.into_iter().map(|(id, status)| (id.to_string(), status)).collect();
    json!({
        "node": nodes.iter().map(|node| node_row(node, random)).collect::<Vec<_>>(), "instance": instances,
        "group": group_rows, "info": info, "jobs": jobs, "refused": refused, "failing": failing, "mute": mute,
    })
}

fn nodes(groups: usize, domain: &str, random: &mut Random) -> Vec<Node> {
    let mut nodes = Vec::new();
    for group in 0..groups {
        for _ in 0..random.between(2, 6) {
            let at = nodes.len();
            // The first node is the master, which answers.
            nodes.push(Node {
                name: format!("node{at}{domain}"),
                group,
                is_out: at > 0 && random.chance(0.45),
            });
        }
    }
    nodes
}

fn node_row(node: &Node, random: &mut Random) -> Value {
    let figure = |value: i64| if node.is_out { Value::Null } else { json!(value) };
    let marked = !random.chance(0.2);
    json!({
        "name": node.name, "mtotal": figure(131_072), "mnode": figure(1024), "mfree": figure(120_000),
        "dtotal": figure(4_194_304), "dfree": figure(4_000_000), "ctotal": figure(64), "cnos": figure(1),
        "offline": node.is_out && marked, "drained": false, "vm_capable": !node.is_out || marked,
        "ndp/spindle_count": 1, "group.uuid": format!("group-uuid-{}", node.group), "tags": [],
        "ndp/exclusive_storage": false, "sptotal": figure(0), "spfree": figure(0), "ndp/cpu_speed": 1.0,
    })
}

fn instance(at: i64, nodes: &[Node], domain: &str, jobs: &mut Jobs, random: &mut Random) -> Value {
    let template = ["drbd", "plain", "other"][random.weighted(&[0.68, 0.24, 0.08])];
    let template = if template == "other" {
        *random.pick(&["file", "ext", "rbd", "diskless", "sharedfile"])
    } else {
        template
    };
    let may_be_out = ["drbd", "plain"].contains(&template);
    let primaries: Vec<&Node> = nodes.iter().filter(|node| may_be_out || !node.is_out).collect();
    let primary = *random.pick(&primaries);
    let others: Vec<&Node> =
        nodes.iter().filter(|node| node.group == primary.group && node.name != primary.name).collect();
    let secondary = *random.pick(&others);
    let secondaries = if template == "drbd" { vec![secondary.name.as_str()] } else { Vec::new() };
    let status = match primary.is_out {
        true => *random.pick(&["ERROR_nodeoffline", "ERROR_nodeoffline", "ERROR_nodedown", "ADMIN_down"]),
        false => *random.pick(&["running", "running", "running", "ADMIN_down", "ADMIN_offline", "ERROR_up"]),
    };
    let mut tags = Vec::new();
    if random.chance(0.35) {
        tags.extend(permissions(random));
    }
    if random.chance(0.45) {
        tags.extend(history(jobs, random));
    }
    if random.chance(0.1) {
        tags.push("ganeti:watcher:autorepair".to_owned());
        tags.push("service:web".to_owned());
    }
    let needed = match (primary.is_out, secondary.is_out || template == "plain") {
        (true, true) => "reinstall",
        (true, false) => "failover",
        (false, _) => "fix-storage",
    };
    if random.chance(0.06) {
        tags = repeated(needed, random);
    }
    random.shuffle(&mut tags);
    tags.dedup();
    let admin_state = if status.starts_with("ADMIN") { "down" } else { "up" };
    json!({
        "name": format!("inst{at}{domain}"), "disk_usage": 10_240, "be/memory": 512, "be/vcpus": 1, "status": status,
        "pnode": primary.name, "snodes": secondaries, "tags": tags, "be/auto_balance": random.chance(0.9),
        "disk_template": template, "be/spindle_use": 1, "disk.sizes": [10_112], "disk.spindles": [null],
        "forthcoming": false, "admin_state": admin_state,
    })
}
