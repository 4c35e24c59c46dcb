//! Small cases checked by hand, and properties of all cases.

use std::collections::BTreeMap;

use super::choosers::{hosts, needed};
use super::course::SimulatedDays;
use super::timeline::{MOST_DAYS, TimelineEvent};
use super::*;
use crate::{
    AffinityKey, AffinityOptions, CompiledKey, Fleet, FleetNode, KeyLevel, KeyOwner, LevelKeys, Machine,
    NodeKey,
};
use htools_model::random::Random;
use htools_model::{Instance, InstanceDetails, proximity};
use htools_pacemaker::working_set::{Resource, WorkingSet};
use htools_pacemaker::{AllocationScore, HostIdx, ResourceIdx, place};
use htools_search::place::{Conditions, InstanceToPlace, Targets, plain};

fn node(name: &str, ram: i64, keys: &[(&str, f64)]) -> FleetNode {
    let key = |(name, value): &(&str, f64)| NodeKey { name: (*name).to_owned(), value: *value, sticky: None };
    FleetNode {
        name: name.to_owned(),
        running: true,
        ram_total: Mib(ram),
        ram_free: Mib(ram),
        ram_ratio: 1.0,
        cpus: 10,
        cpu_ratio: 1.0,
        load: 0.0,
        keys: keys.iter().map(key).collect(),
    }
}

fn machine(name: &str, ram: i64, wishes: &[(&str, f64, f64)]) -> Machine {
    let key = |(name, value, weight): &(&str, f64, f64)| AffinityKey {
        name: (*name).to_owned(),
        value: *value,
        weight: *weight,
    };
    Machine {
        name: name.to_owned(),
        ram: Mib(ram),
        vcpus: 1,
        keys: vec![LevelKeys {
            level: KeyLevel::Server,
            owner: KeyOwner::Customer,
            keys: wishes.iter().map(key).collect(),
        }],
        ..Machine::default()
    }
}

/// A fleet in which a machine needs only its memory, and 1 MiB that stays free.
fn fleet(nodes: Vec<FleetNode>, machines: Vec<Machine>) -> Fleet {
    let options = AffinityOptions { overhead: Mib::ZERO, ..AffinityOptions::default() };
    Fleet { nodes, machines, options, ..Fleet::default() }
}

/// All machines of a fleet arrive one after another on the first day, and stay.
fn one_by_one(fleet: Fleet, days: u32) -> Timeline {
    let count = fleet.machines.len();
    let rental = |machine: usize| Rental { machine, arrives: machine as f64 / count as f64, leaves: None };
    Timeline::new(fleet, (0..count).map(rental).collect(), days).unwrap()
}

/// The nodes, by name, of the machines.
fn places(timeline: &Timeline, contender: Contender) -> Vec<Option<usize>> {
    let (wishes, set) = (timeline.wishes(), hosts(timeline));
    let mut course = SimulatedDays::begin(timeline, &wishes, &set, contender, NightWork::Counted);
    timeline.events().into_iter().for_each(|(time, event)| course.process(time, event));
    (0..timeline.rentals().len()).map(|rental| course.tenants.running.get(&rental).copied()).collect()
}

fn of(runs: &[SimulatedRun], contender: Contender) -> &SimulatedRun {
    runs.iter().find(|run| run.contender == contender).unwrap()
}

#[test]
fn three_machines_on_two_nodes() {
    let sizes = [60, 30, 5, 60];
    let machines = sizes.iter().enumerate().map(|(at, ram)| machine(&format!("m{at}"), *ram, &[]));
    // Nodes are ordered by name, not as in the document.
    let timeline = one_by_one(fleet(vec![node("b", 101, &[]), node("a", 101, &[])], machines.collect()), 1);
    let (a, b) = (Some(0), Some(1));
    // The first node with room: after 60 + 30 + 5 on a, there is room for 60 on b only.
    assert_eq!(places(&timeline, Contender::Minimal), [a, a, a, b]);
    // 41 MiB are free on a and 71 on b; then 66.
    assert_eq!(places(&timeline, Contender::Balanced), [a, b, b, b]);
    // There is one machine on each, and a is the smaller name.
    assert_eq!(places(&timeline, Contender::Utilization), [a, b, a, b]);
    // a is worth 25 * 0.406 + 22.5 + 25 = 57.7, and b is worth 75, then 65.1; a does not pass in these rounds.
    assert_eq!(places(&timeline, Contender::Affinity), [a, b, b, b]);
    // Among equal nodes the last one is chosen; then each machine goes to the less used node.
    assert_eq!(places(&timeline, Contender::Hail), [b, a, a, a]);
}

#[test]
fn what_is_measured() {
    let machines = vec![machine("m", 50, &[]), machine("n", 25, &[]), machine("large", 100, &[])];
    let rentals = vec![
        Rental { machine: 0, arrives: 0.0, leaves: Some(1.5) },
        Rental { machine: 2, arrives: 0.25, leaves: None },
        Rental { machine: 1, arrives: 1.0, leaves: None },
        // One machine leaves when this one arrives, so there is room.
        Rental { machine: 2, arrives: 1.5, leaves: Some(1.75) },
        Rental { machine: 0, arrives: 2.0, leaves: None },
    ];
    let nodes = vec![node("a", 100, &[]), FleetNode { running: false, ..node("b", 1000, &[]) }];
    let timeline = Timeline::new(fleet(nodes, machines), rentals, 2).unwrap();
    // The last one arrives after the end.
    assert_eq!((timeline.rentals().len(), timeline.ram()), (4, Mib(275)));
    for run in simulate(&timeline, NightWork::Counted) {
        // 100 MiB are not less than the memory of a.
        assert_eq!((run.refused, run.refused_ram, run.refused_with_room), (2, Mib(200), 0), "{run:?}");
        assert_eq!((run.unevenness, run.moves, run.empty_nodes), (0.0, 0, 0.0));
        assert_eq!(run.peak, 0.75);
        let days: Vec<_> = run.days.iter().map(|day| (day.used, day.refused)).collect();
        assert_eq!(days, [(0.5, 1), (0.25, 2)]);
    }
}

#[test]
fn wishes_are_kept_or_not() {
    let wish = |weight: f64| [("web", 1.0, weight)];
    let machines = || {
        vec![machine("m", 10, &wish(-10.0)), machine("n", 10, &wish(-10.0)), machine("o", 10, &wish(30.0))]
    };
    let nodes = || vec![node("a", 101, &[]), node("b", 101, &[])];
    let rentals = |from: f64| {
        let rental = |machine| Rental { machine, arrives: from, leaves: None };
        (0..3).map(rental).collect()
    };
    let timeline = Timeline::new(fleet(nodes(), machines()), rentals(0.5), 2).unwrap();
    let runs = simulate(&timeline, NightWork::Counted);
    // For one and a half days all three are on a: a wish of 30 is at stake and met, and one of 20 is at stake and not
    // met.
    let minimal = of(&runs, Contender::Minimal);
    assert_eq!(minimal.together, WishShare { at_stake: 45.0, kept: 45.0 });
    assert_eq!(minimal.apart, WishShare { at_stake: 30.0, kept: 0.0 });
    assert_eq!(minimal.empty_nodes, 1.0);
    // The first two are apart, and the third is with one of them, which has no wish.
    let affinity = of(&runs, Contender::Affinity);
    assert_eq!(affinity.together.share(), Some(1.0));
    assert_eq!(affinity.apart, WishShare { at_stake: 30.0, kept: 15.0 });
    // A machine alone has no wish that could be met or not.
    let alone =
        Timeline::new(fleet(nodes(), vec![machine("m", 10, &wish(5.0))]), rentals(0.0)[..1].to_vec(), 1);
    assert!(simulate(&alone.unwrap(), NightWork::Counted).iter().all(|run| run.together.share().is_none()));
}

#[test]
fn no_node_is_good_enough() {
    let mut fleet = fleet(vec![node("a", 101, &[])], vec![machine("m", 10, &[])]);
    fleet.options.final_msav = 80.0;
    fleet.keys = [("#RAM", 0.0), ("#CPU", 0.0), ("#LOAD", 0.0)]
        .map(|(name, value)| AffinityKey { name: name.to_owned(), value, weight: 1.0 })
        .to_vec();
    let runs = simulate(&one_by_one(fleet, 1), NightWork::Counted);
    let refused: Vec<_> = runs.iter().map(|run| (run.refused, run.refused_with_room)).collect();
    assert_eq!(refused, [(1, 1), (0, 0), (0, 0), (0, 0), (0, 0)]);
}

#[test]
fn times_and_rates_are_checked() {
    let fleet = || fleet(vec![node("a", 101, &[])], vec![machine("m", 10, &[])]);
    let timeline = |arrives, leaves| {
        Timeline::new(fleet(), vec![Rental { machine: 0, arrives, leaves }], 3).unwrap_err().to_string()
    };
    for arrives in [-0.5, f64::NAN, f64::INFINITY] {
        assert_eq!(timeline(arrives, None), "vm 'm': arrives must be a number of days, 0 or more");
    }
    for leaves in [0.5, 1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(timeline(1.0, Some(leaves)), "vm 'm': leaves must be a number of days after arrives");
    }
    let drawn = |per_day, lifetime, days| {
        PoissonArrivals { per_day, lifetime, days, seed: 1 }
            .draw(fleet())
            .map(|timeline| timeline.rentals().len())
    };
    assert_eq!(drawn(f64::NAN, 1.0, 1), Err(TimelineError::Rate));
    assert_eq!(drawn(1.0, -1.0, 1), Err(TimelineError::Lifetime));
    assert_eq!(drawn(1e300, 1.0, 1), Err(TimelineError::TooMany));
    assert_eq!(drawn(1.0, 1.0, 0), Err(TimelineError::Days));
    assert_eq!(drawn(1.0, 1e308, MOST_DAYS + 1), Err(TimelineError::Days));
    // About one in three is drawn each day.
    assert!(drawn(1.0, 1e308, 1000).is_ok_and(|count| (800..1200).contains(&count)));
    let empty = Fleet { machines: Vec::new(), ..fleet() };
    let arrivals = PoissonArrivals { per_day: 1.0, lifetime: 1.0, days: 1, seed: 1 };
    assert_eq!(arrivals.draw(empty), Err(TimelineError::NoKinds));
}

/// A fleet of a few different nodes, and machines with various wishes.
fn random_fleet(random: &mut Random) -> Fleet {
    let node = |at: usize, random: &mut Random| FleetNode {
        running: !random.chance(0.1),
        ram_ratio: *random.pick(&[0.5, 1.0, 1.0, 1.37, 3.0]),
        ram_free: Mib(random.between(0, 200)),
        cpus: random.below(9) as u64,
        ..node(&format!("n{at}"), random.between(0, 200), &[("_ssd", random.below(2) as f64)])
    };
    let nodes = (0..1 + random.below(5)).map(|at| node(at, random)).collect();
    let wish = |name: &'static str, random: &mut Random| {
        (name, *random.pick(&[1.0, 1.25, 2.0, 2.5]), *random.pick(&[-30.0, -5.0, 10.0, 40.0]))
    };
    let machine = |at: usize, random: &mut Random| {
        let mut wishes = Vec::new();
        for name in ["web", "shop", "_ssd"] {
            wishes.extend(random.chance(0.5).then(|| wish(name, random)));
        }
        machine(&format!("m{at}"), random.between(0, 60), &wishes)
    };
    let machines = (0..1 + random.below(6)).map(|at| machine(at, random)).collect();
    let mut fleet = fleet(nodes, machines);
    fleet.options.overhead = Mib(random.between(0, 20));
    fleet
}

fn random_timeline(random: &mut Random) -> Timeline {
    let fleet = random_fleet(random);
    let (per_day, lifetime) = (random.unit() * 10.0 + 0.1, random.unit() * 5.0 + 0.1);
    let seed = random.below(1000) as u64;
    PoissonArrivals { per_day, lifetime, days: 6, seed }.draw(fleet).unwrap()
}

/// The node where Pacemaker places one more resource beside the running ones, which stay.
fn placed(
    timeline: &Timeline,
    set: &WorkingSet,
    strategy: Strategy,
    running: &BTreeMap<usize, usize>,
    rental: usize,
) -> Option<usize> {
    let mut set = set.clone();
    let resource = |rental: usize, active: Option<HostIdx>| Resource {
        utilization: needed(timeline, rental),
        active,
        stickiness: AllocationScore::of(1),
        ..Resource::plain(format!("r{rental}"))
    };
    set.resources = vec![resource(rental, None)];
    set.resources.extend(running.iter().map(|(rental, node)| resource(*rental, Some(HostIdx::new(*node)))));
    // Processors refuse nothing here.
    let vcpus = htools_pacemaker::AttributeIdx::new(1);
    for host in &mut set.hosts {
        host.capacity.set(vcpus, host.capacity.get(vcpus) + 1_000_000);
    }
    set.set_scores();
    place(&set, strategy).unwrap().host(ResourceIdx::new(0)).map(HostIdx::get)
}

/// The node that hail chooses for one more instance in a newly built cluster.
fn found(timeline: &Timeline, running: &BTreeMap<usize, usize>, rental: usize) -> Option<usize> {
    let cluster = nights::cluster(timeline, running.iter().map(|(rental, node)| (*rental, *node)));
    let machine = timeline.machine(rental);
    let instance = Instance::from(InstanceDetails {
        mem: machine.ram,
        vcpus: 1,
        ..InstanceDetails::blank("new".to_owned(), nights::TEMPLATE)
    });
    let nodes = cluster.all_nodes();
    let usable = nodes.iter().copied().filter(|node| !cluster.node(*node).spec.offline).collect();
    let targets = Targets::Singles(usable);
    let found =
        plain::find(&cluster, &nodes, InstanceToPlace::from(&instance), &targets, &Conditions::default());
    found.best.map(|(_, place)| place.placement.primary.get())
}

/// The wishes met, computed from the definition over all running machines.
fn kept(
    timeline: &Timeline,
    wishes: &[Vec<CompiledKey>],
    running: &BTreeMap<usize, usize>,
) -> [WishShare; 2] {
    let mut all = [WishShare::default(); 2];
    for (rental, at) in running {
        for key in &wishes[timeline.rentals()[*rental].machine] {
            let (mut here, mut anywhere) = (0f64, 0f64);
            let mut see = |node: usize, value: f64| {
                anywhere = anywhere.max(proximity(value, key.value));
                if node == *at {
                    here = here.max(proximity(value, key.value));
                }
            };
            for (other, node) in running.iter().filter(|(other, _)| *other != rental) {
                let theirs = wishes[timeline.rentals()[*other].machine].iter();
                theirs.filter(|theirs| theirs.name == key.name).for_each(|theirs| see(*node, theirs.value));
            }
            for (at, node) in timeline.fleet().nodes.iter().enumerate().filter(|(_, node)| node.running) {
                node.keys.iter().filter(|own| own.name == key.name).for_each(|own| see(at, own.value));
            }
            let shares = &mut all[usize::from(key.weight < 0.0)];
            shares.at_stake += anywhere * key.weight.abs();
            shares.kept += if key.weight > 0.0 { here } else { anywhere - here } * key.weight.abs();
        }
    }
    all
}

#[test]
fn every_choice_is_that_of_the_program_itself_and_no_node_is_overfull() {
    let mut choices = 0;
    for case in 0..300 {
        let mut random = Random::stream(26, case);
        let timeline = random_timeline(&mut random);
        let (wishes, set) = (timeline.wishes(), hosts(&timeline));
        let nights = if random.chance(0.5) { NightWork::Made } else { NightWork::Counted };
        for contender in Contender::ALL {
            let mut course = SimulatedDays::begin(&timeline, &wishes, &set, *contender, nights);
            let (mut expected, mut last) = ([WishShare::default(); 2], 0.0);
            for (time, event) in timeline.events() {
                let before = course.tenants.running.clone();
                for (sum, now) in expected.iter_mut().zip(kept(&timeline, &wishes, &before)) {
                    sum.at_stake += now.at_stake * (time - last);
                    sum.kept += now.kept * (time - last);
                }
                last = time;
                course.process(time, event);
                for (at, node) in timeline.fleet().nodes.iter().enumerate() {
                    let rentals = course.tenants.running.iter().filter(|(_, node)| **node == at);
                    let used: i64 = rentals.clone().map(|(rental, _)| timeline.machine(*rental).ram.0).sum();
                    assert_eq!(used, course.tenants.used[at].0);
                    let promised = node.ram_total.as_f64() * node.ram_ratio;
                    let full = used as f64 >= promised || used >= node.ram_free.0;
                    assert!(rentals.count() == 0 || (!full && node.running), "case {case} {contender}");
                }
                let TimelineEvent::Arrive(rental) = event else { continue };
                let place = course.tenants.running.get(&rental).copied();
                choices += 1;
                let wanted = match contender.strategy() {
                    Some(strategy) => placed(&timeline, &set, strategy, &before, rental),
                    None if *contender == Contender::Hail => found(&timeline, &before, rental),
                    None => continue,
                };
                assert_eq!(place, wanted, "case {case} {contender}");
            }
            let found = course.tenants.kept.until(last);
            for (found, expected) in found.iter().zip(&expected) {
                let near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * other.abs().max(1.0);
                assert!(near(found.at_stake, expected.at_stake), "case {case} {contender}");
                assert!(near(found.kept, expected.kept), "case {case} {contender}");
            }
        }
    }
    assert!(choices > 10_000, "{choices}");
}

#[test]
fn one_node_leaves_no_choice() {
    for case in 0..100 {
        let mut random = Random::stream(27, case);
        let mut fleet = random_fleet(&mut random);
        fleet.nodes.truncate(1);
        fleet.options.final_msav = -1e6;
        let rentals = (0..50).map(|at| Rental {
            machine: at % fleet.machines.len(),
            arrives: random.unit(),
            leaves: None,
        });
        let timeline = Timeline::new(fleet.clone(), rentals.collect(), 1).unwrap();
        let runs = simulate(&timeline, NightWork::Counted);
        assert!(runs.iter().all(|run| run.refused == runs[0].refused && run.refused_with_room == 0));
    }
}

#[test]
fn a_seed_names_a_year() {
    let mut random = Random::new(28);
    let fleet = random_fleet(&mut random);
    let drawn = |seed| {
        let arrivals = PoissonArrivals { per_day: 3.0, lifetime: 4.0, days: 50, seed };
        arrivals.draw(fleet.clone()).unwrap()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let runs = simulate(&drawn(1), NightWork::Made);
    assert_eq!(one.install(|| simulate(&drawn(1), NightWork::Made)), runs);
}

#[test]
fn moves_that_are_made_even_things_out() {
    let machines = (0..6).map(|at| machine(&format!("m{at}"), 10, &[])).collect();
    let timeline = one_by_one(fleet(vec![node("a", 101, &[]), node("b", 101, &[])], machines), 4);
    let moves = |nights| {
        let run = of(&simulate(&timeline, nights), Contender::Minimal).clone();
        (run.days.iter().map(|day| day.moves).collect::<Vec<_>>(), run.empty_nodes)
    };
    // All six are on a: three must move, again every night as long as the moves are not made.
    assert_eq!(moves(NightWork::Counted), (vec![3; 4], 1.0));
    assert_eq!(moves(NightWork::Made), (vec![3, 0, 0, 0], 0.0));
}

/// Machines that run at the beginning need not meet the rule, but arriving ones must.
#[test]
fn what_runs_is_there_at_the_beginning() {
    let on = |node: usize, machine: Machine| Machine { node: Some(node), ..machine };
    let machines = vec![
        on(0, machine("large", 90, &[])),
        on(0, machine("too-much", 30, &[])),
        on(1, machine("small", 10, &[])),
        machine("new", 60, &[]),
    ];
    let mut fleet = fleet(vec![node("b", 100, &[]), node("a", 100, &[])], machines);
    fleet.nodes[0].ram_free = Mib(-20);
    fleet.nodes[1].ram_free = Mib(90);
    let rental = |arrives| Rental { machine: 3, arrives, leaves: None };
    let mut leaves = [Some(1.5), None, None].into_iter();
    let next = || leaves.next().flatten();
    let timeline = Timeline::inhabited(fleet, vec![rental(0.5), rental(1.0), rental(1.75)], 2, next).unwrap();
    assert_eq!((timeline.resident_count(), timeline.requests(), timeline.ram()), (3, 3, Mib(180)));
    // a is the first by name; large leaves b, and the next arrival then has room there.
    for contender in Contender::ALL {
        let found = places(&timeline, *contender);
        assert_eq!(found, [None, Some(1), Some(0), Some(0), None, Some(1)], "{contender}");
    }
    for run in simulate(&timeline, NightWork::Made) {
        assert_eq!((run.refused, run.peak), (1, 0.95), "{}", run.contender);
    }
}
