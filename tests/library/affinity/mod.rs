//! Placement by affinity keys: the figures of the specification.

mod copies;
mod model;
mod recipes;

use htools::affinity::{
    AffinityKey, AffinityOptions, ChoiceDetail, CompiledKeys, Fleet, FleetNode, KeyLevel, KeyOwner,
    LevelKeys, Machine, MachineChoice, MachineOrder, NodeKey, NodeRefusal, Occupancy, SPECIAL, misplaced,
    place_all,
};
use htools::model::Mib;

const GIB: i64 = 1024;

fn node(name: &str, gib: i64, keys: &[(&str, f64)]) -> FleetNode {
    let keys =
        keys.iter().map(|(name, value)| NodeKey { name: (*name).to_owned(), value: *value, sticky: None });
    FleetNode {
        name: name.to_owned(),
        running: true,
        ram_total: Mib(gib * GIB),
        ram_free: Mib(gib * GIB),
        ram_ratio: 1.0,
        cpus: 16,
        cpu_ratio: 1.0,
        load: 0.0,
        keys: keys.collect(),
    }
}

fn machine(name: &str, gib: i64, vcpus: u64) -> Machine {
    Machine { name: name.to_owned(), ram: Mib(gib * GIB), vcpus, ..Machine::default() }
}

/// A running machine with only its size and keys.
fn running(name: &str, on: usize, gib: i64, vcpus: u64, keys: &[(&str, f64)]) -> Machine {
    let keys = keys.iter().map(|(name, value)| ((*name).to_owned(), *value));
    Machine { node: Some(on), started_with: Some(keys.collect()), ..machine(name, gib, vcpus) }
}

fn with(mut machine: Machine, owner: KeyOwner, level: KeyLevel, keys: &[(&str, f64, f64)]) -> Machine {
    let key = |(name, value, weight): &(&str, f64, f64)| AffinityKey {
        name: (*name).to_owned(),
        value: *value,
        weight: *weight,
    };
    machine.keys.push(LevelKeys { level, owner, keys: keys.iter().map(key).collect() });
    machine
}

fn wishing(machine: Machine, keys: &[(&str, f64, f64)]) -> Machine {
    with(machine, KeyOwner::Customer, KeyLevel::Server, keys)
}

fn fleet(nodes: Vec<FleetNode>, machines: Vec<Machine>) -> Fleet {
    Fleet { nodes, machines, ..Fleet::default() }
}

/// A fleet in which the special keys have this weight.
fn with_special(weight: f64, nodes: Vec<FleetNode>, machines: Vec<Machine>) -> Fleet {
    let keys = SPECIAL.map(|name| AffinityKey { name: name.to_owned(), value: 0.0, weight });
    Fleet { keys: keys.to_vec(), ..fleet(nodes, machines) }
}

/// A fleet in which the cluster switches the special keys off.
fn without_special(nodes: Vec<FleetNode>, machines: Vec<Machine>) -> Fleet {
    with_special(0.0, nodes, machines)
}

fn placed(fleet: &Fleet) -> Vec<MachineChoice> {
    place_all(fleet, MachineOrder::Document, ChoiceDetail::Terms)
}

fn names(fleet: &Fleet, choices: &[MachineChoice]) -> Vec<String> {
    let name = |choice: &MachineChoice| choice.node.map_or("-".to_owned(), |at| fleet.nodes[at].name.clone());
    choices.iter().map(name).collect()
}

fn scores(choice: &MachineChoice) -> Vec<f64> {
    choice.verdicts.iter().map(|verdict| verdict.system).collect()
}

fn wishes(choice: &MachineChoice) -> Vec<f64> {
    choice.verdicts.iter().map(|verdict| verdict.customer).collect()
}

#[test]
fn a_node_needs_more_memory_than_is_needed_by_both_counts() {
    // Physical GiB, ratio, allocated GiB, free MiB, and the result.
    let refused = |allocated: i64, ratio: f64, free: i64| {
        let mut host = node("n", 64, &[]);
        (host.ram_ratio, host.ram_free) = (ratio, Mib(free));
        let fleet = fleet(vec![host], vec![running("old", 0, allocated, 1, &[]), machine("vm", 4, 1)]);
        placed(&fleet)[0].verdicts[0].refusal
    };
    let needed = Mib(5120);
    assert_eq!(refused(60, 1.0, 10 * GIB), Some(NodeRefusal::Promised { free: 4096.0, needed }));
    assert_eq!(refused(70, 2.0, 5 * GIB), Some(NodeRefusal::Measured { free: Mib(5120), needed }));
    assert_eq!(refused(100, 2.0, 9 * GIB / 2), Some(NodeRefusal::Measured { free: Mib(4608), needed }));
    assert_eq!(refused(59, 1.0, 10 * GIB), Some(NodeRefusal::Promised { free: 5120.0, needed }));
    assert_eq!(refused(58, 1.0, 10 * GIB), None);
}

/// Nodes of 64 GiB and 16 processors, each used as given.
fn used(parts: &[(i64, u64, f64, f64)]) -> Fleet {
    let mut machines = Vec::new();
    let mut nodes = Vec::new();
    for (at, (ram, vcpus, load, cpu_ratio)) in parts.iter().enumerate() {
        let mut host = node(&format!("n{}", at + 1), 64, &[]);
        (host.load, host.cpu_ratio) = (*load, *cpu_ratio);
        nodes.push(host);
        machines.push(running(&format!("old{at}"), at, *ram, *vcpus, &[]));
    }
    machines.push(machine("vm", 1, 1));
    with_special(30.0, nodes, machines)
}

#[test]
fn rounds_let_the_best_pass() {
    let fleet = used(&[(16, 8, 0.25, 1.0), (32, 16, 0.5, 1.0), (20, 4, 0.3, 1.0)]);
    let choice = &placed(&fleet)[0];
    assert_eq!(scores(choice), [60.0, 30.0, 64.125]);
    let passed: Vec<bool> = choice.verdicts.iter().map(|verdict| verdict.passed).collect();
    assert_eq!((choice.round, passed), (Some(3), vec![false, false, true]));

    let fleet = used(&[(48, 12, 0.75, 1.0), (44, 14, 0.7, 1.0), (60, 32, 1.0, 2.0)]);
    let choice = &placed(&fleet)[0];
    assert_eq!(
        scores(choice).iter().map(|score| (score * 1e6).round() / 1e6).collect::<Vec<_>>(),
        [22.5, 22.125, 1.875]
    );
    let passed: Vec<bool> = choice.verdicts.iter().map(|verdict| verdict.passed).collect();
    assert_eq!((choice.round, passed), (Some(7), vec![true, true, false]));
}

#[test]
fn nothing_is_started_where_it_is_repelled_too_much() {
    let vm = with(machine("vm", 1, 1), KeyOwner::System, KeyLevel::Server, &[("ds", 1.0, -10.0)]);
    let alone = without_special(vec![node("n1", 64, &[("ds", 1.0)])], vec![vm.clone()]);
    let choice = &placed(&alone)[0];
    assert_eq!((scores(choice), choice.node, choice.round), (vec![-10.0], None, None));
    let two = without_special(vec![node("n1", 64, &[("ds", 1.0)]), node("n2", 64, &[("ds", 2.0)])], vec![vm]);
    let choice = &placed(&two)[0];
    assert_eq!((scores(choice), choice.node, choice.round), (vec![-10.0, 0.0], Some(1), Some(10)));
    let plain = without_special(vec![node("n1", 64, &[])], vec![machine("vm", 1, 1)]);
    assert_eq!(placed(&plain)[0].round, Some(10));
}

#[test]
fn customers_keys_decide_among_those_that_passed() {
    let nodes = || {
        vec![
            node("n1", 64, &[("_ssd", 1.0)]),
            node("n2", 64, &[("_ssd", 1.0)]),
            node("n3", 64, &[("_ssd", 0.0)]),
        ]
    };
    let old = || {
        let group = |name: &str, on, value| running(name, on, 0, 0, &[("group", value)]);
        vec![group("a", 0, 1.0), group("b", 0, 1.0), group("c", 0, 1.5), group("d", 1, 2.0)]
    };
    let place = |keys: &[(&str, f64, f64)]| {
        let mut machines = old();
        machines.push(wishing(machine("vm", 1, 1), keys));
        let fleet = fleet(nodes(), machines);
        let choice = placed(&fleet).remove(0);
        (wishes(&choice), choice.node)
    };
    assert_eq!(place(&[("group", 1.0, 20.0)]), (vec![50.0, 0.0, 0.0], Some(0)));
    assert_eq!(place(&[("group", 1.0, -20.0), ("_ssd", 1.0, 25.0)]), (vec![-25.0, 25.0, 0.0], Some(1)));
}

#[test]
fn each_machine_sees_those_before() {
    let sequence = |weight: f64| {
        let nodes = vec![node("n1", 64, &[]), node("n2", 64, &[]), node("n3", 32, &[])];
        let vm = |at: usize| wishing(machine(&format!("vm{at}"), 4, 2), &[("grp", 7.0, weight)]);
        let fleet = with_special(30.0, nodes, (1..=5).map(vm).collect());
        let choices = placed(&fleet);
        (names(&fleet, &choices), choices)
    };
    let (apart, choices) = sequence(-50.0);
    assert_eq!(apart, ["n1", "n2", "n3", "n1", "n2"]);
    assert_eq!(scores(&choices[1]), [84.375, 90.0, 90.0]);
    assert_eq!(scores(&choices[4]), [78.75, 84.375, 82.5]);
    assert!(!choices[4].verdicts[0].passed && choices[4].round == Some(1));
    let (together, choices) = sequence(50.0);
    assert_eq!(together, ["n1", "n1", "n2", "n2", "n3"]);
    assert_eq!((scores(&choices[2])[0], wishes(&choices[2])[0]), (78.75, 100.0));
    assert!(!choices[2].verdicts[0].passed);
}

#[test]
fn a_first_disk_leaves_no_choice() {
    let mut vm = wishing(machine("vm", 1, 1), &[("grp", 1.0, 50.0)]);
    vm.disk_node = Some(1);
    let mut fleet = fleet(
        vec![node("n1", 64, &[]), node("n2", 64, &[])],
        vec![running("a", 0, 1, 1, &[("grp", 1.0)]), vm],
    );
    let choice = placed(&fleet).remove(0);
    assert_eq!(
        (choice.node, choice.round, choice.verdicts[0].refusal),
        (Some(1), None, Some(NodeRefusal::DiskElsewhere))
    );
    fleet.nodes[1].running = false;
    assert_eq!(placed(&fleet)[0].node, None);
}

#[test]
fn thresholds_are_exceeded_not_met() {
    // A score exactly at a threshold, and the nearest numbers above and below it.
    for round in 1..=10 {
        let options = AffinityOptions::default();
        let threshold = options.threshold(round);
        for (weight, expected) in [
            (threshold, round + 1),
            (threshold.next_up(), round + 1),
            (threshold.next_down(), round + 1),
            (threshold + 2e-9, round),
            (threshold - 2e-9, round + 1),
        ] {
            let vm = with(machine("vm", 1, 1), KeyOwner::System, KeyLevel::Server, &[("k", 1.0, weight)]);
            let fleet = without_special(vec![node("n", 64, &[("k", 1.0)])], vec![vm]);
            let wanted = Some(expected).filter(|round| *round <= 10);
            assert_eq!(placed(&fleet)[0].round, wanted, "{threshold} {weight}");
        }
    }
}

#[test]
fn sums_that_are_no_numbers_still_choose() {
    // No document can contain this, but a user of the library can.
    let huge = [("_a", 0.0, f64::MAX), ("_b", 0.0, -f64::MAX)];
    let vm = wishing(machine("vm", 1, 1), &huge);
    let other = running("other", 0, 1, 1, &[("_a", 0.0), ("_b", 0.0)]);
    for tie_seed in [None, Some(1)] {
        let mut fleet =
            fleet(vec![node("n", 64, &[("_a", 0.0), ("_b", 0.0)])], vec![vm.clone(), other.clone()]);
        fleet.options.tie_seed = tie_seed;
        let choice = &placed(&fleet)[0];
        assert!(choice.verdicts[0].customer.is_nan());
        assert_eq!(choice.node, Some(0));
    }
}

#[test]
fn the_largest_come_first_and_ties_may_be_random() {
    let nodes = || vec![node("n1", 64, &[]), node("n2", 64, &[]), node("n3", 64, &[])];
    let mut fleet = fleet(nodes(), vec![machine("small", 2, 1), machine("large", 32, 1)]);
    let order = |fleet: &Fleet, order| {
        let choices = place_all(fleet, order, ChoiceDetail::Scores);
        choices.iter().map(|choice| fleet.machines[choice.machine].name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(order(&fleet, MachineOrder::Document), ["small", "large"]);
    assert_eq!(order(&fleet, MachineOrder::Ram), ["large", "small"]);
    let seeds: std::collections::HashSet<Option<usize>> = (0..50)
        .map(|seed| {
            fleet.options.tie_seed = Some(seed);
            let again = placed(&fleet)[0].node;
            assert_eq!(placed(&fleet)[0].node, again);
            again
        })
        .collect();
    assert_eq!(seeds.len(), 3);
}
