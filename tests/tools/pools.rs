//! Storage pools: no tool runs an instance on a node that does not reach its disks. Denials: nothing leaves a group
//! if its tags, or the cluster's, deny it.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};

fn run(tool: &str, words: &[&str], status: i32) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let run = command.env("HTOOLS", tool).args(words).assert().code(status);
    String::from_utf8(run.get_output().stdout.clone()).unwrap()
}

const POLICY: &str = "1,1,1,1,1,1|128,1,128,1,1,1;65536,64,1048576,16,8,12|ext,rbd|4.0|32.0";

/// Nodes (name, memory in use, group, pool) of 16 GiB each, and instances of 2 GiB (name, node, pool).
fn cluster(
    directory: &Path,
    groups: &[(&str, &str)],
    nodes: &[(&str, &str, &str)],
    instances: &[(&str, &str, &str)],
) -> String {
    let pool = |name: &str| if name.is_empty() { String::new() } else { format!("htools:pool:{name}") };
    let used = |node: &str| instances.iter().filter(|i| i.1 == node).count() * 2048;
    let mut text = String::new();
    for (name, tags) in groups {
        text += &format!("{name}|{name}|preferred|{tags}|\n");
    }
    text += "\n";
    for (at, (name, group, of)) in nodes.iter().enumerate() {
        let (free, master) = (16384 - used(name), if at == 0 { "M" } else { "N" });
        text += &format!("{name}|16384|0|{free}|9000|9000|8|{master}|{group}|1|{}\n", pool(of));
    }
    text += "\n";
    for (name, node, of) in instances {
        text += &format!("{name}|2048|1024|1|running|Y|{node}||ext|{}|1|-\n", pool(of));
    }
    text += &format!("\n\n|{POLICY}\n");
    for (name, _) in groups {
        text += &format!("{name}|{POLICY}\n");
    }
    let file = directory.join("cluster.data");
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

const NODES: [(&str, &str, &str); 4] =
    [("s1", "g", "ssd"), ("s2", "g", "ssd"), ("h1", "g", "hdd"), ("h2", "g", "hdd")];
const CROWDED: [(&str, &str, &str); 5] =
    [("i1", "s1", "ssd"), ("i2", "s1", ""), ("i3", "s1", ""), ("i4", "s1", "ssd"), ("i5", "s2", "")];

#[test]
fn every_tool_keeps_instances_with_their_disks() {
    let directory = tempfile::tempdir().unwrap();
    let file = &cluster(directory.path(), &[("g", "")], &NODES, &CROWDED);
    for (tool, words, status) in [
        ("hbal", &["-C"][..], 0),
        ("hbal", &["--deep", "-C"], 0),
        ("hbal", &["--evacuate=s1", "-C"], 0),
        ("hbal", &["-O", "s1", "-C"], 0),
        ("hbal", &["--stream", "--print-plan=text"], 0),
        ("hroller", &["--force", "--full-evacuation", "--print-moves"], 0),
        ("hsqueeze", &["--minimal-resources=0.1", "--target-resources=0.2", "-C"], 0),
    ] {
        let answer = run(tool, &[words, &["-t", file]].concat(), status);
        let lost = |line: &&str| (1..=5).any(|i| line.contains(&format!("i{i}"))) && line.contains("h");
        let moves = answer.lines().filter(|line| line.contains("gnt-instance") || line.contains(":h"));
        let lost: Vec<&str> = moves
            .filter(|line| [" h1 ", " h2 ", ":h1", ":h2"].iter().any(|h| line.contains(h)))
            .filter(lost)
            .collect();
        assert!(lost.is_empty(), "{tool} {words:?}: {lost:?}");
    }
    let plan = run("hbal", &["-C", "-t", file], 0);
    assert!(plan.contains("gnt-instance migrate -f -n s2 "), "{plan}");
    let why = run("hbal", &["--evacuate=s1", "--explain=i1", "-t", file], 0);
    assert!(!why.contains(" => h"), "{why}");
}

#[test]
fn losses_are_counted_by_pool() {
    let directory = tempfile::tempdir().unwrap();
    let alone = [("s1", "g", "ssd"), ("h1", "g", "hdd"), ("h2", "g", "hdd")];
    let file = &cluster(directory.path(), &[("g", "")], &alone, &[("i1", "s1", ""), ("i2", "h1", "")]);
    let lost = run("hcheck", &["--survive=1", "-t", file], 1);
    assert!(lost.contains("1 combination leaves instances without a place"), "{lost}");
    let health = run("hcheck", &["--no-simulation", "--machine-readable", "-t", file], 0);
    assert!(health.contains("HCHECK_INIT_CLUSTER_GN1_FAIL=1\n"), "{health}");
    let both = [("s1", "g", "ssd"), ("s2", "g", "ssd"), ("h1", "g", "hdd"), ("h2", "g", "hdd")];
    let file = &cluster(directory.path(), &[("g", "")], &both, &[("i1", "s1", ""), ("i2", "h1", "")]);
    let kept = run("hcheck", &["--survive=1", "-t", file], 0);
    assert!(!kept.contains("leaves instances"), "{kept}");
}

/// An allocator message for this cluster.
fn message(
    groups: &[(&str, Vec<&str>)],
    nodes: &[(&str, &str, Vec<&str>)],
    instance: (&str, Vec<&str>),
    request: Value,
) -> Value {
    let of_groups = groups.iter().map(|(name, tags)| {
        let ipolicy = json!({
            "minmax": [{"min": {"cpu-count": 1, "disk-count": 1, "disk-size": 128, "memory-size": 128, "nic-count": 1, "spindle-use": 1},
                        "max": {"cpu-count": 64, "disk-count": 16, "disk-size": 1048576, "memory-size": 65536, "nic-count": 8, "spindle-use": 12}}],
            "std": {"cpu-count": 1, "disk-count": 1, "disk-size": 1024, "memory-size": 128, "nic-count": 1, "spindle-use": 1},
            "disk-templates": ["ext"], "vcpu-ratio": 4.0, "spindle-ratio": 32.0});
        (name.to_string(), json!({"name": name, "alloc_policy": "preferred", "networks": [], "tags": tags, "ipolicy": ipolicy}))
    });
    let of_nodes = nodes.iter().map(|(name, group, tags)| {
        let figures = json!({"total_memory": 16384, "reserved_memory": 0, "free_memory": 14336, "total_disk": 9000, "free_disk": 9000,
            "total_cpus": 8, "reserved_cpus": 0, "total_spindles": 1, "free_spindles": 1, "i_pri_memory": 0, "i_pri_up_memory": 0,
            "group": group, "tags": tags, "offline": false, "drained": false, "vm_capable": true, "master_candidate": true,
            "primary_ip": "192.0.2.1", "secondary_ip": "192.0.2.1", "ndparams": {"spindle_count": 1, "exclusive_storage": false}});
        (name.to_string(), figures)
    });
    let (at, tags) = instance;
    let there = json!({"memory": 2048, "vcpus": 1, "disks": [{"size": 1024, "mode": "rw", "spindles": 1}], "disk_space_total": 1024,
        "disk_template": "ext", "nodes": [at], "tags": tags, "admin_state": "up", "admin_state_source": "admin", "spindle_use": 1,
        "nics": [], "os": "x", "hypervisor": "kvm", "should_run": true});
    json!({"version": 2, "cluster_name": "c", "cluster_tags": [], "enabled_hypervisors": ["kvm"], "ipolicy": {},
        "nodegroups": of_groups.collect::<serde_json::Map<_, _>>(), "nodes": of_nodes.collect::<serde_json::Map<_, _>>(),
        "instances": {"i1": there}, "request": request})
}

fn hail(words: &[&str], message: &Value) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    let command = command.env("HTOOLS", "hail").args(words).arg("-");
    let run = command.write_stdin(message.to_string()).assert().code(0);
    serde_json::from_slice(&run.get_output().stdout).unwrap()
}

#[test]
fn hail_places_where_the_disks_are() {
    let nodes = || {
        vec![
            ("a1", "ga", vec!["htools:pool:ssd"]),
            ("a2", "ga", vec!["htools:pool:ssd"]),
            ("a3", "ga", vec!["htools:pool:hdd"]),
            ("b1", "gb", vec![]),
            ("b2", "gb", vec![]),
        ]
    };
    let groups = || vec![("ga", vec![]), ("gb", vec![])];
    let new = json!({"type": "allocate", "name": "new", "memory": 2048, "vcpus": 1, "disk_space_total": 1024, "spindle_use": 1,
        "disks": [{"size": 1024, "mode": "rw"}], "disk_template": "ext", "required_nodes": 1, "nics": [],
        "tags": ["htools:pool:hdd"], "os": "x", "hypervisor": "kvm"});
    // Its node would be the only one that reaches the pool.
    let refused = hail(&[], &message(&groups(), &nodes(), ("a1", vec![]), new.clone()));
    assert_eq!(refused["success"], false, "{refused}");
    let placed = hail(&["--no-capacity-checks"], &message(&groups(), &nodes(), ("a1", vec![]), new));
    assert_eq!(placed["result"], json!(["a3"]), "{placed}");
    let leave = json!({"type": "node-evacuate", "instances": ["i1"], "evac_mode": "all"});
    let moved = hail(&[], &message(&groups(), &nodes(), ("a1", vec![]), leave));
    assert_eq!(moved["result"][0], json!([["i1", "ga", ["a2"]]]), "{moved}");
    let change = json!({"type": "change-group", "instances": ["i1"], "target_groups": []});
    let stays = hail(&[], &message(&groups(), &nodes(), ("a1", vec![]), change));
    assert_eq!(stays["result"][0], json!([]), "{stays}");
}

#[test]
fn hail_heeds_denials() {
    let nodes =
        || vec![("a1", "ga", vec![]), ("a2", "ga", vec![]), ("b1", "gb", vec![]), ("b2", "gb", vec![])];
    let deny = || vec!["htools:intergroup:deny"];
    let change =
        |targets: &[&str]| json!({"type": "change-group", "instances": ["i1"], "target_groups": targets});
    for (ga, gb) in [(vec![], deny()), (deny(), vec![])] {
        let groups = vec![("ga", ga), ("gb", gb)];
        let answer = |words: &[&str], targets: &[&str]| {
            hail(words, &message(&groups, &nodes(), ("a1", vec![]), change(targets)))["result"].clone()
        };
        let stays = answer(&[], &[]);
        assert!(stays[1][0][1].as_str().unwrap().contains("denied"), "{stays}");
        assert_eq!(answer(&["--ignore-soft-errors"], &[])[0], json!([]), "nobody asked for the group");
        assert_eq!(answer(&[], &["gb"])[0], json!([]));
        assert_eq!(answer(&["--ignore-soft-errors"], &["gb"])[0][0][0], "i1");
    }
    let open = vec![("ga", vec![]), ("gb", vec![])];
    let moved = hail(&[], &message(&open, &nodes(), ("a1", vec![]), change(&[])));
    assert_eq!(moved["result"][0][0][1], "gb", "{moved}");
}

#[test]
fn balance_names_the_moves_that_are_denied() {
    let directory = tempfile::tempdir().unwrap();
    let nodes = [("a1", "ga", ""), ("a2", "ga", ""), ("b1", "gb", ""), ("b2", "gb", "")];
    let instances = [("i1", "a1", ""), ("i2", "a2", "")];
    let denied =
        &cluster(directory.path(), &[("ga", "htools:intergroup:deny"), ("gb", "")], &nodes, &instances);
    let answer = run("hgroup", &["balance", "-t", denied], 0);
    assert!(answer.contains("Moves from and to group ga are denied (tag of the group).\n"), "{answer}");
    let open = &cluster(directory.path(), &[("ga", ""), ("gb", "")], &nodes, &instances);
    assert!(!run("hgroup", &["balance", "-t", open], 0).contains("denied"));
}
