//! Peak memory of each tool for a million instances on a thousand nodes.

use std::fmt::Write;

use htools::model::random::Random;

use crate::common::Bench;
use crate::common::numbers::{memory, seconds};
use crate::targets::Targets;

const NODES: usize = 1000;
const INSTANCES: usize = 1_000_000;

/// Memory and disk of a node in MiB; a node is about half full.
const NODE_MEMORY: usize = 2_800_000;
const NODE_OWN: usize = 4096;
const NODE_DISK: usize = 163_840_000;

/// Most memory that a tool may take, in MiB.
const MOST: f64 = 1024.0;

/// The commands. Long searches have a time limit.
const COMMANDS: [&str; 17] = [
    "hinfo",
    "hcheck --no-simulation",
    "hcheck --time-limit 30",
    "hbal -l 20",
    "hbal -l 20 -C",
    "hbal -l 20 --json",
    "hbal --deep --time-limit 30 --max-moves 100",
    "hspace --time-limit 30",
    "hspace --time-limit 30 --json",
    "hspace --time-limit 30 --independent-groups",
    "hsqueeze --max-nodes 1",
    "hsqueeze --max-nodes 1 --json",
    "hgroup status",
    "hgroup balance -l 5 --time-limit 30",
    "hgroup compress --time-limit 30",
    "hgroup redistribute",
    "hroller",
];

/// Prints the table.
pub fn table(bench: &Bench, targets: &mut Targets) -> anyhow::Result<()> {
    let file = bench.file("million.data", &cluster())?;
    let file = file.to_string_lossy();
    println!("| command | time | memory at its peak |\n|---|---:|---:|");
    for command in COMMANDS {
        let words: Vec<&str> = command.split(' ').chain(["-t", &file]).collect();
        let run = bench.ours_alone(&words)?;
        println!("| {command} | {} | {} |", seconds(run.seconds), memory(run.mib));
        targets.memory(&format!("1,000/1,000,000, {command}: under 1 GiB"), run.mib, MOST);
    }
    println!();
    Ok(())
}

/// A cluster in the text format: instances on DRBD, shared and local storage, some of them with tags.
fn cluster() -> String {
    let mut random = Random::new(1);
    let (mut memory, mut disk) = (vec![NODE_MEMORY - NODE_OWN; NODES], vec![NODE_DISK; NODES]);
    let mut instances = String::new();
    for at in 0..INSTANCES {
        let template = *random.pick(&["drbd", "drbd", "drbd", "ext", "plain"]);
        let size = *random.pick(&[512, 512, 1024, 1024, 1024, 2048, 4096]);
        let volume = *random.pick(&[10_240, 20_480, 51_200, 102_400]);
        let cpus = *random.pick(&[1, 1, 2, 2, 4]);
        // The first half of the nodes gets more instances.
        let among = if random.chance(0.2) { NODES / 2 } else { NODES };
        let primary = random.below(among);
        memory[primary] -= size;
        if template != "ext" {
            disk[primary] -= volume;
        }
        let mut mirror = String::new();
        if template == "drbd" {
            let secondary = (primary + 1 + random.below(NODES - 1)) % NODES;
            disk[secondary] -= volume;
            mirror = name(secondary);
        }
        let tag = match random.chance(0.3) {
            true => format!("service:{}", random.below(INSTANCES / 8)),
            false => String::new(),
        };
        let primary = name(primary);
        let _ = writeln!(
            instances,
            "vm-{at:07}.example.com|{size}|{volume}|{cpus}|running|Y|{primary}|{mirror}|{template}|{tag}|1|-"
        );
    }
    let mut text = String::from("group-01|uuid-01|preferred||\n\n");
    for (at, (memory, disk)) in memory.iter().zip(disk).enumerate() {
        let role = if at == 0 { 'M' } else { 'N' };
        let _ = writeln!(
            text,
            "{}|{NODE_MEMORY}|{NODE_OWN}|{memory}|{NODE_DISK}|{disk}|1000|{role}|uuid-01|1||N|100|0|1.0",
            name(at)
        );
    }
    text + "\n" + &instances + "\nhtools:iextags:service\n\n"
}

fn name(node: usize) -> String {
    format!("node-{node:04}.example.com")
}
