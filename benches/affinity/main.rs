//! Time of placement by affinity keys: of one placement, and of searching all machines for those that should be
//! elsewhere. These figures do not include the reading of documents. Further tables time whole processes: hbal and
//! hail with keys, and a year of `hplace simulate`. Prints tables in Markdown:
//!
//!     cargo bench --bench affinity

#[allow(dead_code, unused_imports)] // Other benches need the rest.
#[path = "../common/mod.rs"]
mod common;
mod processes;

use std::time::{Duration, Instant};

use htools::affinity::{
    AffinityKey, ChoiceDetail, Fleet, FleetNode, KeyLevel, KeyOwner, LevelKeys, Machine, NodeKey, Occupancy,
    choose, misplaced,
};
use htools::model::Mib;
use htools::model::random::Random;

const NODES: usize = 1000;
const MACHINES: usize = 50_000;
/// Customer keys of each machine.
const KEYS: usize = 5;
/// Number of placements averaged.
const PLACEMENTS: usize = 200;

fn main() -> anyhow::Result<()> {
    placements();
    processes::measure()
}

fn placements() {
    println!("{NODES} nodes, {MACHINES} machines that run, {KEYS} customer's keys each\n");
    println!("| names of customers' keys | one placement | all verified | would be elsewhere |");
    println!("|---|---|---|---|");
    for (words, shared) in [("200, shared", Some(200)), ("each machine its own", None)] {
        let fleet = fleet(shared);
        let occupancy = Occupancy::of(&fleet);
        let begin = Instant::now();
        for at in 0..PLACEMENTS {
            let choice = choose(&fleet, &occupancy, at, None, ChoiceDetail::Scores);
            assert!(choice.node.is_some(), "every node has room");
        }
        let placement = begin.elapsed() / u32::try_from(PLACEMENTS).unwrap_or(1);
        drop(occupancy);
        let begin = Instant::now();
        let elsewhere = misplaced(&fleet).len();
        let (placement, verified) = (milliseconds(placement), begin.elapsed().as_secs_f64());
        println!("| {words} | {placement:.2} ms | {verified:.1} s | {elsewhere} |");
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A fleet: each node has three keys, and the machines are spread evenly over the nodes.
fn fleet(shared: Option<usize>) -> Fleet {
    let mut random = Random::new(1);
    let nodes = (0..NODES).map(node).collect();
    let machines = (0..MACHINES).map(|at| machine(at, shared, &mut random)).collect();
    Fleet { nodes, machines, ..Fleet::default() }
}

fn node(at: usize) -> FleetNode {
    let keys = [("ds", at % 4), ("rack", at % 20), ("_ssd", at % 2)];
    let key =
        |(name, value): (&str, usize)| NodeKey { name: name.to_owned(), value: value as f64, sticky: None };
    FleetNode {
        name: format!("node{at:04}"),
        running: true,
        ram_total: Mib(512 * 1024),
        ram_free: Mib(312 * 1024),
        ram_ratio: 1.0,
        cpus: 64,
        cpu_ratio: 4.0,
        load: 0.2,
        keys: keys.map(key).into(),
    }
}

fn machine(at: usize, shared: Option<usize>, random: &mut Random) -> Machine {
    let name = |key: usize| match shared {
        Some(names) => format!("key{}", (at / 7 + key * 13) % names),
        None => format!("key{at}-{key}"),
    };
    let customer =
        (0..KEYS).map(|key| AffinityKey { name: name(key), value: random.below(4) as f64, weight: 10.0 });
    let system = AffinityKey { name: "ds".to_owned(), value: 1.0, weight: 20.0 };
    let of = |level, owner, keys| LevelKeys { level, owner, keys };
    Machine {
        name: format!("machine{at}"),
        ram: Mib(4096),
        vcpus: 1,
        node: Some(at % NODES),
        keys: vec![
            of(KeyLevel::Server, KeyOwner::Customer, customer.collect()),
            of(KeyLevel::Vdc, KeyOwner::System, vec![system]),
        ],
        ..Machine::default()
    }
}
