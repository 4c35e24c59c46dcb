//! Properties of placement by affinity keys, and a comparison with a plain model, on random fleets.

use htools::generate::random::Random;
use htools::model::proximity;

use super::*;

#[test]
fn what_is_started_and_stopped_leaves_no_trace() {
    let mut random = Random::new(7);
    for _ in 0..200 {
        let fleet = random_fleet(&mut random);
        let before = Occupancy::of(&fleet);
        let mut now = before.clone();
        let mut all: Vec<Started> = (0..12)
            .map(|at| {
                let keys = [("grp", random.below(3)), ("new", random.below(2))];
                let keys = keys.map(|(name, value)| (name.to_owned(), value as f64 / 10.0));
                (
                    random.below(fleet.nodes.len()),
                    machine(&format!("m{at}"), 1 + at, at as u64),
                    keys.to_vec(),
                )
            })
            .collect();
        for (on, machine, keys) in &all {
            now.start(*on, machine, keys);
        }
        assert_ne!(now, before);
        random.shuffle(&mut all);
        for (on, machine, keys) in &all {
            now.stop(*on, machine, keys);
        }
        assert_eq!(now, before);
    }
}

/// A started machine: its node, the machine and its keys.
type Started = (usize, Machine, Vec<(String, f64)>);

const LEVELS: [KeyLevel; 4] = [KeyLevel::Customer, KeyLevel::Vdc, KeyLevel::Server, KeyLevel::Disk];

fn quarter(random: &mut Random) -> f64 {
    random.below(9) as f64 / 4.0
}

fn random_fleet(random: &mut Random) -> Fleet {
    let count = 1 + random.below(5);
    let mut nodes: Vec<FleetNode> = (0..count)
        .map(|at| {
            let mut host = node(&format!("n{at}"), 4 + 4 * random.below(8) as i64, &[]);
            host.running = random.chance(0.9);
            host.cpus = 1 << random.below(5);
            host.load = quarter(random) / 2.0;
            host.ram_ratio = *random.pick(&[1.0, 2.0]);
            for name in ["ds", "rack", "_ssd"] {
                if random.chance(0.7) {
                    let weight = random.between(-2, 8) as f64 * 8.0;
                    let sticky = (!name.starts_with('_') && random.chance(0.3)).then_some(weight);
                    host.keys.push(NodeKey { name: name.to_owned(), value: quarter(random), sticky });
                }
            }
            host
        })
        .collect();
    random.shuffle(&mut nodes);
    let machines = (0..1 + random.below(8)).map(|at| {
        let mut vm = machine(&format!("m{at}"), random.below(5) as i64, random.below(5) as u64);
        vm.node = random.chance(0.5).then(|| random.below(count));
        vm.last_node = (vm.node.is_none() && random.chance(0.5)).then(|| random.below(count));
        vm.disk_node = random.chance(0.05).then(|| random.below(count));
        for level in LEVELS {
            for (owner, names) in [
                (KeyOwner::System, ["ds", "rack", "#RAM"]),
                (KeyOwner::Customer, ["grp", "_ssd", "app"]),
                (KeyOwner::Billing, ["grp", "_ssd", "app"]),
            ] {
                let keys: Vec<(&str, f64, f64)> =
                    names.iter().filter(|_| random.chance(0.2)).map(|name| (*name, 0.0, 0.0)).collect();
                let keys: Vec<(&str, f64, f64)> = keys
                    .into_iter()
                    .map(|(name, ..)| {
                        let value = if name.starts_with('#') { 0.0 } else { quarter(random) };
                        (name, value, random.between(-4, 8) as f64 * 8.0)
                    })
                    .collect();
                if !keys.is_empty() {
                    vm = with(vm, owner, level, &keys);
                }
            }
        }
        vm
    });
    let machines = machines.collect();
    let mut fleet = Fleet { nodes, machines, ..Fleet::default() };
    for name in ["#CPU", "#LOAD", "ds"] {
        if random.chance(0.2) {
            let (name, weight) = (name.to_owned(), random.between(-1, 6) as f64 * 8.0);
            fleet.keys.push(AffinityKey { name, value: 0.0, weight });
        }
    }
    fleet.options.zero_disables = random.chance(0.2);
    fleet.options.msav_steps = 1 + random.below(12) as u32;
    fleet.options.overhead = Mib(*random.pick(&[0, 1024]));
    fleet
}

/// The rules in their plainest form.
mod plain {
    use super::*;

    /// Name, value and weight of each key that counts.
    pub type Keys = Vec<(String, f64, f64)>;

    pub fn keys(fleet: &Fleet, machine: &Machine, system: bool) -> Keys {
        let mut found: Vec<(String, usize, f64, f64)> = Vec::new();
        let mut see = |rank: usize, key: &AffinityKey| {
            if key.weight == 0.0 && !fleet.options.zero_disables {
                return;
            }
            match found.iter_mut().find(|(name, ..)| *name == key.name) {
                Some(old) if old.1 > rank => {}
                Some(old) => *old = (key.name.clone(), rank, key.value, key.weight),
                None => found.push((key.name.clone(), rank, key.value, key.weight)),
            }
        };
        if system {
            for name in ["#CPU", "#LOAD", "#RAM"] {
                if !fleet.keys.iter().any(|key| key.name == name && key.weight == 0.0) {
                    see(0, &AffinityKey { name: name.to_owned(), value: 0.0, weight: 25.0 });
                }
            }
            fleet.keys.iter().for_each(|key| see(1, key));
        }
        for of in &machine.keys {
            let rank = 10 * (of.level as usize) + usize::from(of.owner != KeyOwner::Billing);
            if system == (of.owner == KeyOwner::System) {
                of.keys.iter().for_each(|key| see(rank + 10, key));
            }
        }
        // Copies are on the server level, unless the machine has such a key there.
        let home = machine.node.or(machine.last_node).filter(|_| system);
        for key in home.into_iter().flat_map(|on| &fleet.nodes[on].keys) {
            let (name, value) = (key.name.clone(), key.value);
            let copy = key.sticky.map(|weight| AffinityKey { name, value, weight });
            copy.iter().for_each(|copy| see(10 * (KeyLevel::Server as usize) + 10, copy));
        }
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let left = found.into_iter().filter(|(.., weight)| *weight != 0.0);
        left.map(|(name, _, value, weight)| (name, value, weight)).collect()
    }

    /// Node and round of each machine.
    pub fn place(fleet: &Fleet) -> Vec<(Option<usize>, Option<u32>)> {
        let mut runs: Vec<(usize, usize, Keys)> = Vec::new();
        for (at, machine) in fleet.machines.iter().enumerate() {
            if let Some(on) = machine.node {
                runs.push((at, on, keys(fleet, machine, false)));
            }
        }
        let mut free: Vec<i64> = fleet.nodes.iter().map(|node| node.ram_free.0).collect();
        let mut answers = Vec::new();
        for (at, machine) in fleet.machines.iter().enumerate().filter(|(_, machine)| machine.node.is_none()) {
            let (system, customer) = (keys(fleet, machine, true), keys(fleet, machine, false));
            let mut candidates: Vec<(usize, f64, f64)> = Vec::new();
            for (on, host) in fleet.nodes.iter().enumerate() {
                let here = || runs.iter().filter(|(_, place, _)| *place == on);
                let ram: i64 = here().map(|(other, ..)| fleet.machines[*other].ram.0).sum();
                let vcpus: u64 = here().map(|(other, ..)| fleet.machines[*other].vcpus).sum();
                let needed = machine.ram.0 + fleet.options.overhead.0;
                let promised = host.ram_total.0 as f64 * host.ram_ratio - ram as f64;
                let elsewhere = machine.disk_node.is_some_and(|disk| disk != on);
                if !host.running || promised <= needed as f64 || free[on] <= needed || elsewhere {
                    continue;
                }
                let mut score = 0.0;
                for (name, value, weight) in &system {
                    let of_node = match name.as_str() {
                        "#RAM" => Some((ram as f64 / (host.ram_total.0 as f64 * host.ram_ratio)).min(1.0)),
                        "#CPU" => Some((vcpus as f64 / (host.cpus as f64 * host.cpu_ratio)).min(1.0)),
                        "#LOAD" => Some(host.load.min(1.0)),
                        _ => host.keys.iter().find(|key| key.name == *name).map(|key| key.value),
                    };
                    score += of_node.map_or(0.0, |of_node| proximity(of_node, *value) * weight);
                }
                let mut wish = 0.0;
                for (name, value, weight) in &customer {
                    for (.., others) in here() {
                        for (other, with, _) in others.iter().filter(|(other, ..)| other == name) {
                            let _ = other;
                            wish += proximity(*with, *value) * weight;
                        }
                    }
                    for key in host.keys.iter().filter(|key| key.name == *name && name.starts_with('_')) {
                        wish += proximity(key.value, *value) * weight;
                    }
                }
                candidates.push((on, score, wish));
            }
            let mut answer = (None, None);
            if machine.disk_node.is_some() {
                answer.0 = candidates.first().map(|(on, ..)| *on);
            } else {
                for round in 1..=fleet.options.msav_steps {
                    let threshold = fleet.options.threshold(round);
                    let up: Vec<&(usize, f64, f64)> = candidates
                        .iter()
                        .filter(|(_, score, _)| (score * 1e9).round() > (threshold * 1e9).round())
                        .collect();
                    let most = up.iter().map(|of| of.2).fold(f64::NEG_INFINITY, f64::max);
                    let mut equal: Vec<_> = up.into_iter().filter(|of| most - of.2 < 1e-9).collect();
                    equal.sort_by_key(|of| &fleet.nodes[of.0].name);
                    let best = equal.first();
                    if let Some(best) = best {
                        answer = (Some(best.0), Some(round));
                        break;
                    }
                }
            }
            if let Some(on) = answer.0 {
                runs.push((at, on, customer));
                free[on] -= machine.ram.0;
            }
            answers.push(answer);
        }
        answers
    }
}

#[test]
fn five_thousand_fleets_are_placed_as_the_rules_say() {
    let mut random = Random::new(26);
    let (mut placed_ones, mut others) = (0, 0);
    for number in 0..5000 {
        let fleet = random_fleet(&mut random);
        let ours: Vec<_> = placed(&fleet).iter().map(|choice| (choice.node, choice.round)).collect();
        assert_eq!(ours, plain::place(&fleet), "fleet {number}: {fleet:?}");
        placed_ones += ours.iter().filter(|(node, _)| node.is_some()).count();
        others += ours.iter().filter(|(node, _)| node.is_none()).count();
    }
    assert!(placed_ones > 5000 && others > 500, "{placed_ones} {others}");
}

#[test]
fn verifying_is_placing_anew() {
    let mut random = Random::new(3);
    let mut elsewhere = 0;
    for _ in 0..500 {
        let fleet = random_fleet(&mut random);
        let found = misplaced(&fleet);
        for (at, machine) in fleet.machines.iter().enumerate().filter(|(_, machine)| machine.node.is_some()) {
            // The same fleet with this machine just stopped, and no other waiting.
            let mut other = fleet.clone();
            for waiting in &mut other.machines {
                if waiting.node.is_none() {
                    (waiting.ram, waiting.vcpus) = (Mib(i64::from(u32::MAX)), 0);
                }
            }
            let on = machine.node.unwrap();
            (other.machines[at].node, other.machines[at].last_node) = (None, Some(on));
            other.nodes[on].ram_free += machine.ram;
            let choice = placed(&other).into_iter().find(|choice| choice.machine == at).unwrap();
            let anew = choice.node;
            let told = found.iter().find(|of| of.machine == at);
            let worth = |node: usize| choice.verdicts[node].customer;
            let ties = |best: usize| choice.verdicts[on].passed && worth(best) - worth(on) < 1e-9;
            assert_eq!(told.is_none(), anew == Some(on) || anew.is_some_and(ties));
            if let Some(told) = told {
                assert_eq!((told.at, told.node), (on, anew));
                elsewhere += 1;
            }
        }
    }
    assert!(elsewhere > 100, "{elsewhere}");
}

#[test]
fn order_and_shifts_change_nothing() {
    let mut random = Random::new(11);
    for _ in 0..300 {
        let fleet = random_fleet(&mut random);
        let expected = names(&fleet, &placed(&fleet));
        // Nodes, keys and levels in another order.
        let mut other = fleet.clone();
        let mut order: Vec<usize> = (0..fleet.nodes.len()).collect();
        random.shuffle(&mut order);
        other.nodes = order.iter().map(|at| fleet.nodes[*at].clone()).collect();
        let moved = |at: usize| order.iter().position(|old| *old == at).unwrap();
        for vm in &mut other.machines {
            (vm.node, vm.disk_node) = (vm.node.map(moved), vm.disk_node.map(moved));
            vm.last_node = vm.last_node.map(moved);
            random.shuffle(&mut vm.keys);
            vm.keys.iter_mut().for_each(|of| of.keys.reverse());
        }
        other.nodes.iter_mut().for_each(|host| host.keys.reverse());
        assert_eq!(names(&other, &placed(&other)), expected);
        // The same amount added to all values of one key; quarters stay exact.
        let mut other = fleet.clone();
        for key in other.nodes.iter_mut().flat_map(|host| &mut host.keys).filter(|key| key.name == "ds") {
            key.value += 16.0;
        }
        let of_machines = other.machines.iter_mut().flat_map(|vm| &mut vm.keys);
        for key in of_machines.flat_map(|of| &mut of.keys).chain(&mut other.keys) {
            if key.name == "ds" {
                key.value += 16.0;
            }
        }
        assert_eq!(names(&other, &placed(&other)), expected);
        // A node that cannot take any machine.
        let mut other = fleet.clone();
        other.nodes.push(FleetNode { running: false, ..node("a-first", 500, &[("_ssd", 1.0), ("ds", 1.0)]) });
        assert_eq!(names(&other, &placed(&other)), expected);
    }
}

#[test]
fn more_weight_never_lowers_a_node_of_that_value() {
    let mut random = Random::new(5);
    for _ in 0..300 {
        let fleet = random_fleet(&mut random);
        let occupancy = Occupancy::of(&fleet);
        let rank = |keys: &CompiledKeys, node: usize| {
            let scores = occupancy.system_scores(&fleet, keys, None);
            scores.iter().filter(|score| **score > scores[node]).count()
        };
        for vm in &fleet.machines {
            let keys = fleet.compiled(vm);
            for (at, key) in keys.system.iter().enumerate().filter(|(_, key)| key.weight > 0.0) {
                let mut more = keys.clone();
                more.system[at].weight += 64.0;
                let has = |host: &FleetNode| {
                    host.keys.iter().any(|of| of.name == key.name && of.value == key.value)
                };
                for node in (0..fleet.nodes.len()).filter(|node| has(&fleet.nodes[*node])) {
                    assert!(rank(&more, node) <= rank(&keys, node));
                }
            }
        }
    }
}
