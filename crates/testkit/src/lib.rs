//! Clusters for tests, from rows of text.

mod paper;

use htools_ganeti::execute::{journal, lines};
use htools_ganeti::load::merge::{MergeOptions, finish, merge};
use htools_ganeti::load::text;
use htools_model::{Cluster, Mib};
use htools_plan::graph::StepIdx;
use htools_plan::jobset::Jobset;
pub use paper::Paper;

/// Builds a cluster from rows of nodes, of instances and of cluster tags. It has one group `g` with the default policy.
pub fn cluster(nodes: &[&str], instances: &[&str], tags: &[&str]) -> Cluster {
    let rows = |rows: &[&str]| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    let content = format!("g|u|preferred||\n\n{}\n{}\n{}\n", rows(nodes), rows(instances), rows(tags));
    let mut cluster = merge(text::parse(&content, "test").expect("a valid text"), &MergeOptions::default())
        .expect("no selection");
    finish(&mut cluster, Mib::ZERO);
    cluster
}

/// Builds a cluster of several groups, from rows `name|tags|disk templates`, rows of nodes, of instances and of cluster
/// tags.
///
/// The name of a group is also its UUID. A group whose name begins with `-` is unallocable, and one with `~` is a last
/// resort.
pub fn groups(groups: &[&str], nodes: &[String], instances: &[String], tags: &[&str]) -> Cluster {
    let rows = |rows: &mut dyn Iterator<Item = String>| rows.map(|row| row + "\n").collect::<String>();
    let parts = |row: &str| -> [String; 3] {
        let mut parts = row.splitn(3, '|').map(str::to_owned);
        std::array::from_fn(|_| parts.next().unwrap_or_default())
    };
    let group = |row: &&str| {
        let [name, tags, _] = parts(row);
        let policy = match name.chars().next() {
            Some('-') => "unallocable",
            Some('~') => "last_resort",
            _ => "preferred",
        };
        format!("{name}|{name}|{policy}|{tags}|")
    };
    let policy = |row: &&str| {
        let [name, _, templates] = parts(row);
        format!("{name}|128,1,1024,1,1,1|1,1,1,1,1,1;99999,99,999999,16,8,12|{templates}|4.0|32.0")
    };
    let content = [
        rows(&mut groups.iter().map(group)),
        rows(&mut nodes.iter().cloned()),
        rows(&mut instances.iter().cloned()),
        rows(&mut tags.iter().map(|tag| tag.to_string())),
        rows(&mut groups.iter().map(policy)),
    ];
    let raw = text::parse(&content.join("\n"), "test").expect("a valid text");
    let mut cluster = merge(raw, &MergeOptions::default()).expect("no selection");
    finish(&mut cluster, Mib::ZERO);
    cluster
}

/// Builds a cluster of one group with instances on shared storage. Nodes have memory (GiB) and CPUs. Instances have a
/// node (any number), memory (in units of 512 MiB) and CPUs; those that find no room are left out.
pub fn shared(nodes: &[(i64, i64)], instances: &[(usize, i64, i64)]) -> Cluster {
    let mut free: Vec<i64> = nodes.iter().map(|node| node.0 * 1024 - 1024).collect();
    let mut rows = Vec::new();
    for (at, (node, memory, cpus)) in instances.iter().enumerate() {
        let (node, memory) = (node % nodes.len(), memory * 512);
        if free[node] > memory {
            free[node] -= memory;
            rows.push(format!("i{at}|{memory}|10240|{cpus}|running|Y|n{node}||ext||1|-"));
        }
    }
    let node = |at: usize| {
        let ((memory, cpus), free) = (nodes[at], free[at]);
        format!(
            "n{at}|{}|1024|{free}|{}|{}|{cpus}|N|u|1||N|1|1|1.0",
            memory * 1024,
            memory << 16,
            memory << 16
        )
    };
    let nodes: Vec<String> = (0..nodes.len()).map(node).collect();
    let words = |rows: &[String]| rows.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    cluster(&[&words(&nodes)], &[&words(&rows)], &[])
}

/// Jobsets given by the positions of their steps.
pub fn sets(positions: &[&[usize]]) -> Vec<Jobset> {
    positions.iter().map(|set| set.iter().copied().map(StepIdx::new).collect()).collect()
}
