//! Small random clusters, on which all plans can be tried.

use crate::bound::{Bound, bound};
use crate::checker::{Broken, CheckError, replay};
use crate::model::{
    Amount, BLOCK_CPUS, Cluster, Demand, DeploymentSet, Granularity, Host, HostId, Machine, MachineId,
    Migration, Nodes, Seat,
};
use crate::partial::{Plan, Problem, spread};
use crate::search::search;
use crate::space::Space;

const CPUS: u32 = 24;

/// A cluster of some hosts with two NUMA nodes of 24 CPUs, with machines of 2 to 16 CPUs and a deployment set.
fn cluster(seed: usize, hosts: usize, machines: usize) -> Cluster {
    let mut draws = 0;
    let mut below = |end: u64| {
        draws += 1;
        usize::try_from(spread(seed * 1_000_003 + draws) % end).unwrap()
    };
    let host = |at: usize| Host {
        name: format!("host{at}"),
        active: at + 1 < hosts || hosts < 4,
        rack: i64::from(at.is_multiple_of(2)),
        free: [Amount { cpus: CPUS, memory: 80 }; 2],
    };
    let mut cluster = Cluster {
        name: "random".to_owned(),
        hosts: (0..hosts).map(host).collect(),
        machines: Vec::new(),
        sets: vec![DeploymentSet { apart: Granularity::Host, members: Vec::new() }],
    };
    for at in 0..machines {
        let cpus = [2, 2, 4, 4, 8, 16][below(6)];
        let amount = Amount { cpus, memory: [10, 20, 30][below(3)] };
        let nodes = Nodes::ALL[below(3)];
        let demand = if nodes == Nodes::Both { Demand::Both([amount; 2]) } else { Demand::One(amount) };
        let seat = Seat { host: HostId(below(u64::try_from(hosts).unwrap())), nodes };
        let amounts = demand.on(nodes).unwrap();
        let host = &mut cluster.hosts[seat.host.0];
        if crate::model::fits(&amounts, &host.free) {
            for (free, amount) in host.free.iter_mut().zip(amounts) {
                free.cpus -= amount.cpus;
                free.memory -= amount.memory;
            }
            let id = MachineId(cluster.machines.len());
            let apart = below(3) == 0;
            if apart {
                cluster.sets[0].members.push(id);
            }
            let sets = if apart { vec![0] } else { Vec::new() };
            let (name, movable) = (format!("machine{at}"), below(8) != 0);
            cluster.machines.push(Machine { name, demand, seat, movable, sets });
        }
    }
    cluster
}

/// All places on hosts.
fn seats(cluster: &Cluster) -> impl Iterator<Item = Seat> {
    (0..cluster.hosts.len()).flat_map(|host| Nodes::ALL.map(|nodes| Seat { host: HostId(host), nodes }))
}

/// Fewest CPUs in fragments after at most so many migrations that continue a plan, by trying all of them.
fn fewest(cluster: &Cluster, plan: &mut Vec<Migration>, most: u32) -> u64 {
    let mut best = replay(cluster, plan, most).unwrap();
    if plan.len() < usize::try_from(most).unwrap() {
        for machine in (0..cluster.machines.len()).map(MachineId) {
            for to in seats(cluster) {
                plan.push(Migration { machine, to });
                if replay(cluster, plan, most).is_ok() {
                    best = best.min(fewest(cluster, plan, most));
                }
                plan.pop();
            }
        }
    }
    best
}

struct Solved {
    bound: Bound,
    plan: Plan,
    fragments: u64,
    least: u64,
}

fn solve(cluster: &Cluster, migrations: u32, rounds: u32) -> Solved {
    let space = Space::new(cluster).unwrap();
    let bound = bound(&space, migrations);
    let plan = search(&Problem { cluster, space: &space, bound: &bound, migrations }, rounds);
    let fragments = replay(cluster, &plan.migrations, migrations).unwrap();
    let least = crate::lower_bound(cluster, &bound);
    Solved { bound, plan, fragments, least }
}

#[test]
fn the_optimum_lies_between_bound_and_plan() {
    let (mut optimal, mut proved, mut gained) = (0, 0, 0);
    for seed in 0..40 {
        let cluster = cluster(seed, 3, 9);
        let most = [1, 2, 2][seed % 3];
        let best = fewest(&cluster, &mut Vec::new(), most);
        let Solved { fragments, least, .. } = solve(&cluster, most, 2);
        assert!(least <= best && best <= fragments, "seed {seed}: {least} {best} {fragments}");
        optimal += u32::from(best == fragments);
        proved += u32::from(least == fragments);
        gained += u32::from(best < replay(&cluster, &[], 0).unwrap());
    }
    assert!(optimal >= 39 && proved >= 37 && gained >= 20, "{optimal} {proved} {gained} of 40");
}

#[test]
fn plans_of_larger_clusters_are_sound() {
    for seed in 0..3 {
        let cluster = cluster(seed, 12, 110);
        let Solved { bound, plan, fragments, least } = solve(&cluster, 15, 5);
        assert!(plan.migrations.len() <= 15 && plan.blocks <= bound.blocks && least <= fragments);
        let blocks = u64::try_from(plan.blocks).unwrap() * u64::from(BLOCK_CPUS);
        assert_eq!(fragments, cluster.free_cpus() - blocks, "seed {seed}");
        let again = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(again.install(|| solve(&cluster, 15, 5)).plan.migrations, plan.migrations);
    }
}

#[test]
fn nothing_to_move() {
    for (hosts, machines) in [(0, 0), (1, 0), (1, 9), (3, 0)] {
        let machines = if hosts == 0 { 0 } else { machines };
        let Solved { plan, fragments, least, .. } = solve(&cluster(1, hosts, machines), 50, 2);
        assert!(plan.migrations.is_empty() && least <= fragments);
    }
}

#[test]
fn fine_grains_are_refused() {
    let mut cluster = cluster(1, 2, 0);
    cluster.hosts[0].free[0].cpus = 65;
    assert!(Space::new(&cluster).is_err());
}

/// Two machines on the first of three hosts, which must be kept apart from a third one on the second host.
fn three_hosts() -> Cluster {
    let mut cluster = cluster(0, 3, 0);
    let amount = Amount { cpus: 16, memory: 30 };
    for (host, nodes) in [(0, Nodes::First), (0, Nodes::Both), (1, Nodes::First)] {
        let demand = if nodes == Nodes::Both { Demand::Both([amount; 2]) } else { Demand::One(amount) };
        cluster.sets[0].members.push(MachineId(cluster.machines.len()));
        let seat = Seat { host: HostId(host), nodes };
        let name = format!("machine{host}{nodes:?}");
        cluster.machines.push(Machine { name, demand, seat, movable: true, sets: vec![0] });
    }
    let full = Amount { cpus: 8, memory: 20 };
    cluster.hosts[1].free = [full, Amount { cpus: 24, memory: 80 }];
    cluster.hosts[0].free = [Amount::default(), full];
    cluster
}

#[test]
fn broken_plans_are_refused() {
    let broken = |cluster: &Cluster, moves: &[(usize, usize, Nodes)], most| {
        let migration = |&(machine, host, nodes)| Migration {
            machine: MachineId(machine),
            to: Seat { host: HostId(host), nodes },
        };
        replay(cluster, &moves.iter().map(migration).collect::<Vec<_>>(), most)
    };
    let at = |number, broken| Err(CheckError { number, broken });
    let cluster = three_hosts();
    let good = (0, 2, Nodes::Second);
    assert_eq!(broken(&cluster, &[good], 1), Ok(8 + (8 + 8) + (8 + 8)));
    assert_eq!(broken(&cluster, &[good], 0), at(1, Broken::TooMany));
    assert_eq!(broken(&cluster, &[(9, 2, Nodes::First)], 1), at(1, Broken::Unknown));
    assert_eq!(broken(&cluster, &[(0, 9, Nodes::First)], 1), at(1, Broken::Unknown));
    assert_eq!(broken(&cluster, &[(0, 0, Nodes::Second)], 1), at(1, Broken::SameHost));
    assert_eq!(broken(&cluster, &[(0, 2, Nodes::Both)], 1), at(1, Broken::Nodes));
    assert_eq!(broken(&cluster, &[(1, 2, Nodes::First)], 1), at(1, Broken::Nodes));
    assert_eq!(broken(&cluster, &[(0, 1, Nodes::First)], 1), at(1, Broken::Full));
    assert_eq!(broken(&cluster, &[(0, 1, Nodes::Second)], 1), at(1, Broken::Together));
    assert_eq!(broken(&cluster, &[good, (2, 2, Nodes::First)], 2), at(2, Broken::Together));
    assert_eq!(broken(&cluster, &[(1, 2, Nodes::Both), (0, 2, Nodes::First)], 2), at(2, Broken::Full));
    let mut little_memory = cluster.clone();
    little_memory.hosts[2].free[1].memory = 29;
    assert_eq!(broken(&little_memory, &[good], 1), at(1, Broken::Full));
    let mut by_rack = cluster.clone();
    by_rack.sets[0].apart = Granularity::Rack;
    by_rack.hosts[2].rack = by_rack.hosts[1].rack;
    assert_eq!(broken(&by_rack, &[good], 1), at(1, Broken::Together));
    let mut pinned = cluster.clone();
    pinned.machines[0].movable = false;
    assert_eq!(broken(&pinned, &[good], 1), at(1, Broken::Pinned));
    let mut closed = cluster;
    closed.hosts[2].active = false;
    assert_eq!(broken(&closed, &[good], 1), at(1, Broken::Inactive));
}
