//! Quality of the best placement on nearly full clusters with two kinds of capacity and equal nodes. All resources
//! run where Pacemaker's strategy placed them. Prints a table in Markdown:
//!
//! `cargo run --release --example optimal`

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use htools::generate::random::Random;
use htools::pacemaker::optimal::{PlacingLimits, ThenGoal};
use htools::pacemaker::working_set::{Host, HostState, Resource};
use htools::pacemaker::{
    AllocationScore, AttributeIdx, Capacities, HostIdx, ScoreTable, Strategy, WorkingSet, optimal, place,
};
use htools::search::Deadline;

const KINDS: [SizedKind; 2] = [SizedKind { name: "cpu", most: 8 }, SizedKind { name: "memory", most: 32 }];

/// A kind of capacity, with the largest need of a resource.
struct SizedKind {
    name: &'static str,
    most: i64,
}

fn amounts(list: &[i64]) -> Capacities {
    let mut amounts = Capacities::default();
    list.iter().enumerate().for_each(|(kind, amount)| amounts.set(AttributeIdx::new(kind), *amount));
    amounts
}

/// Equal nodes. The resources together need `full` thousandths of their capacity.
fn cluster(nodes: usize, resources: usize, full: i64, seed: u64) -> WorkingSet {
    let mut random = Random::new(seed);
    let sizes: Vec<Vec<i64>> =
        (0..resources).map(|_| KINDS.iter().map(|kind| random.between(1, kind.most)).collect()).collect();
    let room = |kind: usize| -> i64 {
        let sum: i64 = sizes.iter().map(|size| size[kind]).sum();
        let divisor = full * nodes as i64;
        (sum * 1000 + divisor - 1) / divisor
    };
    let mut scores = ScoreTable::empty(nodes);
    (0..nodes).for_each(|at| scores.set(HostIdx::new(at), AllocationScore::ZERO));
    let host = |at: usize| Host {
        id: at.to_string(),
        name: format!("node{at:02}"),
        capacity: amounts(&[room(0), room(1)]),
        state: HostState { online: true, ..HostState::default() },
        ..Host::default()
    };
    let resource = |(at, size): (usize, &Vec<i64>)| Resource {
        agent: "ocf:heartbeat:VirtualDomain".to_owned(),
        stickiness: AllocationScore::of(100),
        allow_migrate: true,
        utilization: amounts(size),
        scores: scores.clone(),
        ..Resource::plain(format!("vm{at}"))
    };
    WorkingSet {
        strategy: Some(Strategy::Utilization),
        symmetric: true,
        attributes: KINDS.iter().map(|kind| kind.name.to_owned()).collect(),
        hosts: (0..nodes).map(host).collect(),
        status_order: (0..nodes).map(HostIdx::new).collect(),
        resources: sizes.iter().enumerate().map(resource).collect(),
        ..WorkingSet::default()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("| nodes/resources | full | seed | utilization leaves | optimal leaves | moves | time |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (nodes, resources, full) in [(5, 40, 970), (10, 100, 990), (20, 200, 990), (50, 500, 995)] {
        for seed in 1..=3 {
            let set = cluster(nodes, resources, full, seed);
            let placed = place(&set, Strategy::Utilization)?;
            let running = set.settled(Strategy::Utilization, &placed);
            let began = Instant::now();
            let limit = Some(Duration::from_secs(30));
            let limits = PlacingLimits {
                steps: 10_000_000,
                moves: None,
                deadline: Deadline::new(limit, Arc::default()),
            };
            let best = optimal(&running, ThenGoal::Balanced, &limits)?;
            let moved = running.resource_indices().filter(|one| {
                let home = running.resource(*one).active;
                home.is_some() && best.host(*one).is_some() && best.host(*one) != home
            });
            println!(
                "| {nodes}/{resources} | {:.1} % | {seed} | {} | {} | {} | {:.1} s |",
                full as f64 / 10.0,
                placed.unplaced(&set).count(),
                best.unplaced(&running).count(),
                moved.count(),
                began.elapsed().as_secs_f64()
            );
        }
    }
    Ok(())
}
