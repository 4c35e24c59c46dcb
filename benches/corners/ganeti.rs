//! Ganeti clusters, as text files.

use std::fmt::Write;

use super::{Corner, INPUT, REQUEST};

/// A section of a text file: one row per number below `count`.
fn rows(count: usize, row: impl Fn(usize) -> String) -> String {
    let mut section = String::new();
    for at in 0..count {
        // Writing to a string cannot fail.
        let _ = writeln!(section, "{}", row(at));
    }
    section
}

fn cluster(groups: &str, nodes: &str, instances: &str, tags: &str) -> String {
    format!("{groups}\n{nodes}\n{instances}\n{tags}\n")
}

fn group(at: usize) -> String {
    format!("g{at}|u{at}|preferred||")
}

/// A node with half of its memory free.
fn node(at: usize, group: usize, tags: &str) -> String {
    format!("n{at:06}|16384|0|8192|100000|50000|8|N|u{group}|1|{tags}|N|1|0|1.0")
}

fn instance(at: usize, primary: usize, secondary: Option<usize>, template: &str, tags: &str) -> String {
    let secondary = secondary.map(|at| format!("n{at:06}")).unwrap_or_default();
    format!("i{at}|512|1024|1|running|Y|n{primary:06}|{secondary}|{template}|{tags}|1|-")
}

fn no_request(_: usize) -> String {
    String::new()
}

fn allocate(_: usize) -> String {
    r#"{"version": 2, "cluster_name": "c", "enabled_hypervisors": ["kvm"], "cluster_tags": [],
        "nodegroups": {}, "nodes": {}, "instances": {}, "request": {"type": "allocate", "name": "new", "memory": 512, "vcpus": 1, "disk_space_total": 1024,
        "disks": [{"size": 1024, "mode": "rw"}], "disk_template": "ext", "required_nodes": 1, "spindle_use": 1,
        "nics": [], "tags": [], "os": "x", "hypervisor": "kvm"}}"#
        .to_owned()
}

/// Groups with one node each; a thousand instances.
fn groups(n: usize) -> String {
    let instances = rows(n.min(1000), |i| instance(i, i, None, "plain", ""));
    cluster(&rows(n, group), &rows(n, |i| node(i, i, "")), &instances, "")
}

/// Groups with two nodes and a DRBD instance each.
fn pairs(n: usize) -> String {
    let nodes = rows(2 * n, |i| node(i, i / 2, ""));
    let instances = rows(n, |i| instance(i, 2 * i, Some(2 * i + 1), "drbd", ""));
    cluster(&rows(n, group), &nodes, &instances, "")
}

/// Groups with two nodes each, one of them offline with an instance that can be repaired.
fn broken(n: usize) -> String {
    let role = |i: usize| if i.is_multiple_of(2) { "Y" } else { "N" };
    let nodes = rows(2 * n, |i| node(i, i / 2, "").replacen("|N|u", &format!("|{}|u", role(i)), 1));
    let instances =
        rows(n, |i| instance(i, 2 * i, None, "ext", "").replacen("running", "ERROR_nodeoffline", 1));
    cluster(&rows(n, group), &nodes, &instances, "ganeti:watcher:autorepair:failover\n")
}

/// One group, and one node that has all instances.
fn one_node(n: usize) -> String {
    let large = format!("n000000|{0}|0|{1}|100000|50000|{n}|N|u0|1||N|1|0|1.0\n", 1024 * n, 512 * n);
    let nodes = large + &rows(9, |i| node(i + 1, 0, ""));
    cluster(&rows(1, group), &nodes, &rows(n, |i| instance(i, 0, None, "ext", "")), "")
}

/// One node that has all primaries; each other node has one secondary.
fn mirrors(n: usize) -> String {
    let large = format!("n000000|{0}|0|{1}|{0}|{1}|{n}|N|u0|1||N|1|0|1.0\n", 2048 * n, 1024 * n);
    let nodes = large + &rows(n, |i| node(i + 1, 0, ""));
    cluster(&rows(1, group), &nodes, &rows(n, |i| instance(i, 0, Some(i + 1), "drbd", "")), "")
}

/// Planned instances, each in a group of its own.
fn planned(n: usize) -> String {
    let instances = rows(n, |i| instance(i, i, None, "ext", "") + "|Y");
    cluster(&rows(n, group), &rows(n, |i| node(i, i, "")), &instances, "")
}

/// Two instances with many exclusion tags.
fn tags_of_an_instance(n: usize) -> String {
    let tags = (0..n).map(|i| format!("s:{i}")).collect::<Vec<_>>().join(",");
    let instances = rows(2, |i| instance(i, i, None, "ext", &tags));
    cluster(&rows(1, group), &rows(4, |i| node(i, 0, "")), &instances, "htools:iextags:s\n")
}

/// Many tags, each with a rule, an instance and a node.
fn rules(n: usize) -> String {
    let nodes = rows(n.min(1000), |i| node(i, 0, &format!("l{i}:x,m{i}:y,htools:odd:{i}")));
    let instances = rows(n, |i| instance(i, i % n.min(1000), None, "ext", &format!("s{i}:x,htools:odd:{i}")));
    let tags = rows(n, |i| match i % 4 {
        0 => format!("htools:iextags:s{i}"),
        1 => format!("htools:nlocation:l{i}"),
        2 => format!("htools:migration:m{i}"),
        _ => format!("htools:allowmigration:m{i}:y::m{}:y", i - 1),
    });
    cluster(&rows(1, group), &nodes, &instances, &tags)
}

const BY_GROUP: &[&[&str]] = &[
    &["hinfo", "-t", INPUT],
    &["hinfo", "--json", "-t", INPUT],
    &["hcheck", "-t", INPUT],
    &["hcheck", "--json", "-t", INPUT],
    &["hcheck", "--list-problems", "-t", INPUT],
    &["hcheck", "--survive", "2", "-t", INPUT],
    &["hcheck", "--without-node", "n000001", "-t", INPUT],
    &["hgroup", "status", "-t", INPUT],
    &["hgroup", "redistribute", "-t", INPUT],
    &["hgroup", "compress", "--time-limit", "20", "-t", INPUT],
    &["hgroup", "balance", "-l", "1", "-t", INPUT],
    &["hspace", "-t", INPUT],
    &["hspace", "--independent-groups", "-t", INPUT],
    &["hspace", "--disk-template", "ext", "--independent-groups", "-l", "1000", "-t", INPUT],
    &["hbal", "--all-groups", "-t", INPUT],
    &["hbal", "--worst-group", "-t", INPUT],
    &["hroller", "-t", INPUT],
    &["hsqueeze", "-t", INPUT],
    &["harep", "--dry-run", "-t", INPUT],
    &["hail", "-t", INPUT, REQUEST],
    &["exporter", "-t", INPUT],
];

const ONE_GROUP: &[&[&str]] = &[
    &["hinfo", "-p", "-t", INPUT],
    &["hcheck", "--no-simulation", "-t", INPUT],
    &["hcheck", "--no-simulation", "--list-problems", "-t", INPUT],
    &["hgroup", "status", "-t", INPUT],
    &["hbal", "-l", "1", "-t", INPUT],
    &["hspace", "--time-limit", "10", "-l", "10", "-t", INPUT],
    &["hroller", "-t", INPUT],
    &["hail", "-t", INPUT, REQUEST],
];

/// The inputs.
pub const CORNERS: &[Corner] = &[
    Corner { name: "groups of one node", size: 10_000, make: groups, request: allocate, commands: BY_GROUP },
    Corner { name: "groups of two nodes", size: 5_000, make: pairs, request: allocate, commands: BY_GROUP },
    Corner {
        name: "groups with a lost node",
        size: 5_000,
        make: broken,
        request: no_request,
        commands: &[
            &["hcheck", "-t", INPUT],
            &["hgroup", "redistribute", "-l", "10", "-t", INPUT],
            &["harep", "--dry-run", "-t", INPUT],
            &["harep", "--simulate-failure", "n000001", "-t", INPUT],
            &["hbal", "--all-groups", "--repair-only", "-t", INPUT],
        ],
    },
    Corner {
        name: "planned instances",
        size: 5_000,
        make: planned,
        request: allocate,
        commands: &[
            &["hinfo", "-t", INPUT],
            &["hcheck", "-t", INPUT],
            &["hgroup", "status", "-t", INPUT],
            &["hgroup", "redistribute", "-t", INPUT],
            &["hbal", "--all-groups", "-t", INPUT],
            &["hail", "-t", INPUT, REQUEST],
        ],
    },
    Corner { name: "all on one node", size: 10_000, make: one_node, request: allocate, commands: ONE_GROUP },
    Corner { name: "one primary node", size: 5_000, make: mirrors, request: allocate, commands: ONE_GROUP },
    Corner {
        name: "tags of an instance",
        size: 50_000,
        make: tags_of_an_instance,
        request: allocate,
        commands: ONE_GROUP,
    },
    Corner { name: "rules about tags", size: 5_000, make: rules, request: allocate, commands: ONE_GROUP },
];
