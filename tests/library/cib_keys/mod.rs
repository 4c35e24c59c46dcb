//! Placement by affinity keys on Pacemaker clusters: the same fleet as a CIB and as a document, and the effect of
//! constraints.

mod sample;
mod small;

use std::collections::HashMap;
use std::fmt::Write;

use htools::affinity::{
    ChoiceDetail, Fleet, MachineChoice, MachineOrder, NodeRefusal, PacemakerFleet, document, fleet_of_set,
    misplaced, place_all,
};
use htools::generate::random::Random;
use htools::model::Mib;
use htools::pacemaker::cib;
use sample::{Host, Sample, Vm, escaped, sample};

fn read(xml: &str) -> PacemakerFleet {
    let of = fleet_of_set(&cib::parse(xml, "t").unwrap());
    assert_eq!(of.faults, [], "{xml}");
    of
}

/// The choices, with names.
fn shown(fleet: &Fleet, choices: &[MachineChoice]) -> Vec<String> {
    let of = |choice: &MachineChoice| {
        let node = choice.node.map(|at| fleet.nodes[at].name.as_str());
        let verdicts = choice.verdicts.iter().map(|of| (of.refusal, of.system, of.passed, of.customer));
        let keys = choice.keys.system.iter().chain(&choice.keys.customer);
        let keys = keys.map(|key| (&key.name, key.value, key.weight, key.level, key.owner));
        let (verdicts, keys): (Vec<_>, Vec<_>) = (verdicts.collect(), keys.collect());
        format!("{} {node:?} {:?} {verdicts:?} {keys:?}", fleet.machines[choice.machine].name, choice.round)
    };
    choices.iter().map(of).collect()
}

#[test]
fn a_cib_is_placed_as_the_same_fleet_in_a_document() {
    let mut random = Random::new(26);
    let (mut placed, mut elsewhere) = (0, 0);
    for _ in 0..1500 {
        let sample = sample(&mut random);
        let xml = sample.cib("");
        let mut of_cib = read(&xml).fleet;
        let mut of_document = document::parse(&sample.document().to_string(), "t").unwrap().0;
        for fleet in [&mut of_cib, &mut of_document] {
            fleet.options.overhead = Mib(0);
        }
        let order = *random.pick(&[MachineOrder::Document, MachineOrder::Ram]);
        let choices = [&of_cib, &of_document].map(|fleet| place_all(fleet, order, ChoiceDetail::Scores));
        assert_eq!(shown(&of_cib, &choices[0]), shown(&of_document, &choices[1]), "{xml}");
        placed += choices[0].iter().filter(|choice| choice.node.is_some()).count();
        let unmanaged = |name: &str| sample.vms.iter().any(|vm| vm.name == name && !vm.managed);
        let [found, expected] = [&of_cib, &of_document].map(|fleet| {
            let found = misplaced(fleet).into_iter();
            let named = found.map(|of| (fleet.machines[of.machine].name.clone(), of.node, of.gain));
            named.filter(|(name, ..)| !unmanaged(name)).collect::<Vec<_>>()
        });
        assert_eq!(found, expected, "{xml}");
        assert!(misplaced(&of_cib).iter().all(|of| !unmanaged(&of_cib.machines[of.machine].name)));
        elsewhere += found.len();
    }
    assert!(placed > 2000 && elsewhere > 500, "{placed} {elsewhere}");
}

/// Constraints of a sample, by the numbers of its machines.
#[derive(Default)]
struct Rules {
    /// (machine, host) pairs of bans.
    off: Vec<(usize, usize)>,
    apart: Vec<(usize, usize)>,
    /// (machine, other) pairs: the machine must run with the other.
    with: Vec<(usize, usize)>,
}

impl Rules {
    fn of(random: &mut Random, hosts: usize, vms: usize) -> Rules {
        let mut rules = Rules::default();
        for vm in 0..vms {
            for host in 0..hosts {
                rules.off.extend(random.chance(0.15).then_some((vm, host)));
            }
            for other in 0..vm {
                match random.below(8) {
                    0 => rules.apart.push(if random.chance(0.5) { (vm, other) } else { (other, vm) }),
                    // Only machines with smaller numbers are followed, so there are no circles.
                    1 => rules.with.push((vm, other)),
                    _ => {}
                }
            }
        }
        rules
    }

    fn xml(&self, sample: &Sample) -> String {
        let mut xml = String::new();
        let id = |vm: usize| &sample.vms[vm].name;
        for (vm, host) in &self.off {
            let host = escaped(&sample.hosts[*host].name);
            let _ = write!(
                xml,
                r#"<rsc_location id="l-{vm}-{host}" rsc="{}" node="{host}" score="-INFINITY"/>"#,
                id(*vm)
            );
        }
        for (word, score, pairs) in [("a", "-INFINITY", &self.apart), ("w", "INFINITY", &self.with)] {
            for (one, other) in pairs {
                let _ = write!(
                    xml,
                    r#"<rsc_colocation id="{word}-{one}-{other}" rsc="{}" with-rsc="{}" score="{score}"/>"#,
                    id(*one),
                    id(*other)
                );
            }
        }
        xml
    }
}

/// Every node is refused by exactly the constraint that forbids it.
#[test]
fn rules_that_bind_refuse_nodes_and_nothing_else_does() {
    let mut random = Random::new(27);
    let (mut refused, mut alone) = (0, 0);
    for _ in 0..1500 {
        let mut sample = sample(&mut random);
        sample.vms.iter_mut().for_each(|vm| vm.managed = true);
        sample.hosts.iter_mut().for_each(|host| (host.standby, host.ram) = (random.chance(0.1), 1 << 20));
        let rules = Rules::of(&mut random, sample.hosts.len(), sample.vms.len());
        let xml = sample.cib(&rules.xml(&sample));
        let fleet = read(&xml).fleet;
        let number = |name: &str| sample.vms.iter().position(|vm| vm.name == name);
        let mut place: HashMap<usize, usize> = HashMap::new();
        for machine in &fleet.machines {
            place.extend(number(&machine.name).zip(machine.node));
        }
        let waits = |vm: usize| !place.contains_key(&vm);
        let followed: Vec<bool> = (0..sample.vms.len())
            .map(|vm| rules.with.iter().any(|(one, other)| *other == vm && waits(*one)))
            .collect();
        for (vm, at) in &place {
            assert!(!sample.hosts[*at].standby && !rules.off.contains(&(*vm, *at)), "{xml}");
        }
        for choice in place_all(&fleet, MachineOrder::Document, ChoiceDetail::Scores) {
            let vm = number(&fleet.machines[choice.machine].name).unwrap();
            for (host, verdict) in choice.verdicts.iter().enumerate() {
                let is_there = |other: usize| place.get(&other) == Some(&host);
                let is_apart = rules
                    .apart
                    .iter()
                    .any(|(one, other)| (*one == vm && is_there(*other)) || (*other == vm && is_there(*one)));
                let is_alone = rules.with.iter().any(|(one, other)| *one == vm && !is_there(*other));
                let is_out =
                    sample.hosts[host].standby || rules.off.contains(&(vm, host)) || is_apart || is_alone;
                match verdict.refusal {
                    // The machines that depend on it may be unable to run there.
                    Some(NodeRefusal::OutOfReach) if followed[vm] => {}
                    why => assert_eq!(why.is_some(), is_out, "{vm} on {host}: {why:?}\n{xml}"),
                }
                refused += usize::from(is_out);
                alone += usize::from(is_alone);
            }
            place.extend(choice.node.map(|node| (vm, node)));
        }
    }
    assert!(refused > 2000 && alone > 500, "{refused} {alone}");
}

/// Hosts with the same rack, an attribute, count as one place.
#[test]
fn colocations_by_an_attribute_hold_for_zones() {
    let host =
        |name: &str| Host { name: name.to_owned(), ram: 1 << 20, cpus: 4, standby: false, keys: vec![] };
    let vm = |name: &str, host| Vm {
        name: name.to_owned(),
        ram: [1, 0],
        cpus: 1,
        host,
        ran: None,
        managed: true,
        is_group: false,
        keys: Default::default(),
    };
    let vms = vec![vm("here", Some(0)), vm("far", None), vm("near", None)];
    let sample = Sample { hosts: ["a", "b", "c"].map(host).into(), vms, cluster: vec![] };
    let rules = r#"<rsc_colocation id="far-off" rsc="far" with-rsc="here" score="-INFINITY" node-attribute="rack"/><rsc_colocation id="close" rsc="near" with-rsc="here" score="INFINITY" node-attribute="rack"/>"#;
    let xml = sample.cib(rules);
    let racks = [("a", "R1"), ("b", "r1"), ("c", "r2")];
    let xml = racks.iter().fold(xml, |xml, (name, rack)| {
        let own = format!(r#"<instance_attributes id="{name}-instance_attributes">"#);
        xml.replace(&own, &format!(r#"{own}<nvpair id="{name}-rack" name="rack" value="{rack}"/>"#))
    });
    let fleet = read(&xml).fleet;
    let choices = place_all(&fleet, MachineOrder::Document, ChoiceDetail::Scores);
    let open = |choice: &MachineChoice| {
        let open = choice.verdicts.iter().enumerate().filter(|(_, of)| of.refusal.is_none());
        open.map(|(at, _)| fleet.nodes[at].name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(open(&choices[0]), ["c"]);
    assert_eq!(open(&choices[1]), ["a", "b"]);
}
