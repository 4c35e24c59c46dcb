//! Equal instances on equal nodes: many moves whose scores differ only in the last bits.

use std::fmt::Write;

use super::Case;

const NODES: usize = 1000;
const INSTANCES: usize = 10_000;

/// Memory and disk of each instance, in MiB.
const MEMORY: usize = 2048;
const DISK: usize = 20_480;

/// Clusters in which half of the nodes are full, or one node has all instances.
pub fn cases() -> Vec<Case> {
    vec![
        Case {
            title: "1,000 equal nodes, half of them full, 10,000 equal instances",
            command: "hbal",
            cluster: cluster(|at| (at % (NODES / 2), None)),
            before: "half an hour",
            most: 60.0,
        },
        Case {
            title: "10,000 DRBD instances on one of 1,000 nodes, the first 20 steps",
            command: "hbal -l 20",
            cluster: cluster(|at| (0, Some(1 + at % (NODES - 1)))),
            before: "more than 60 s",
            most: 10.0,
        },
    ]
}

/// A cluster whose instances have these nodes: the primary, and the secondary for DRBD. Nodes are equal, except that
/// the first one is large enough for its instances.
fn cluster(nodes_of: impl Fn(usize) -> (usize, Option<usize>)) -> String {
    let mut primaries = vec![0; NODES];
    let mut disks = vec![0; NODES];
    let mut instances = String::new();
    for at in 0..INSTANCES {
        let (primary, secondary) = nodes_of(at);
        primaries[primary] += 1;
        disks[primary] += 1;
        let mut mirror = String::new();
        if let Some(secondary) = secondary {
            disks[secondary] += 1;
            mirror = name(secondary);
        }
        let template = if secondary.is_some() { "drbd" } else { "ext" };
        let primary = name(primary);
        let _ = writeln!(
            instances,
            "inst-{at:05}|{MEMORY}|{DISK}|1|running|Y|{primary}|{mirror}|{template}||1|-"
        );
    }
    let mut text = String::from("group-01|uuid-01|preferred||\n\n");
    for node in 0..NODES {
        let crowd = if primaries[node] > 100 { primaries[node] } else { 0 };
        let (memory, disk) = (65_536 + MEMORY * crowd, 4_194_304 + DISK * crowd);
        let memory_free = memory - 1024 - MEMORY * primaries[node];
        let disk_free = disk - DISK * disks[node];
        let name = name(node);
        let _ =
            writeln!(text, "{name}|{memory}|1024|{memory_free}|{disk}|{disk_free}|24|N|uuid-01|1||N|1|1|1.0");
    }
    text + "\n" + &instances + "\n\n"
}

fn name(node: usize) -> String {
    format!("node-{:04}", node + 1)
}
