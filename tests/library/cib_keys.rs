//! Placement by affinity keys on Pacemaker clusters: the same fleet as a CIB and as a document, and rules that bind.

use std::collections::HashMap;
use std::fmt::Write;

use htools::generate::random::Random;
use htools::model::Mib;
use htools::placement::affinity::{
    ChoiceDetail, Fleet, MachineChoice, MachineOrder, NodeRefusal, PacemakerFleet, document, fleet_of_set,
    misplaced, place_all,
};
use htools::placement::cib;
use serde_json::{Value, json};

use crate::transition::random_cib::cib_text::{DUMMY, FENCING, attributes, begin, history};

/// Names that have to be escaped, and the special one.
const NAMES: [&str; 4] = ["ds", "R&D", "a<\"b\">", "#RAM"];
const WISHES: [&str; 4] = ["grp", "_ssd", "é'", "x y"];

/// Name, value and weight.
type Key = (&'static str, f64, f64);

struct Host {
    name: String,
    ram: u32,
    cpus: u32,
    standby: bool,
    keys: Vec<Key>,
}

struct Vm {
    name: String,
    ram: [u32; 2],
    cpus: u32,
    host: Option<usize>,
    managed: bool,
    /// Whether it is a group of two.
    is_group: bool,
    /// By level, virtual data center and server, the operator's keys and the customer's.
    keys: [[Vec<Key>; 2]; 2],
}

struct Sample {
    hosts: Vec<Host>,
    vms: Vec<Vm>,
    cluster: Vec<Key>,
}

fn quarter(random: &mut Random) -> f64 {
    random.below(12) as f64 / 4.0
}

fn some_keys(random: &mut Random, names: &[&'static str], chance: f64) -> Vec<Key> {
    let mut keys = Vec::new();
    for name in names {
        if random.chance(chance) {
            keys.push((*name, quarter(random), random.between(-4, 8) as f64 * 8.0));
        }
    }
    keys
}

fn sample(random: &mut Random) -> Sample {
    let count = 1 + random.below(5);
    let host = |at: usize, random: &mut Random| Host {
        name: format!("n{at}&"),
        ram: 1024 * (4 + 4 * random.below(8) as u32),
        cpus: 1 << random.below(5),
        standby: random.chance(0.2),
        keys: some_keys(random, &["ds", "R&D", "a<\"b\">", "_ssd"], 0.7),
    };
    let hosts = (0..count).map(|at| host(at, random)).collect();
    let vm = |at: usize, random: &mut Random| {
        let is_group = random.chance(0.3);
        let second = if is_group { 512 * random.below(4) as u32 } else { 0 };
        let levels = |random: &mut Random| [some_keys(random, &NAMES, 0.3), some_keys(random, &WISHES, 0.3)];
        Vm {
            name: format!("m{at}"),
            ram: [1024 * random.below(5) as u32, second],
            cpus: random.below(5) as u32,
            host: random.chance(0.5).then(|| random.below(count)),
            managed: random.chance(0.8),
            is_group,
            keys: [if is_group { levels(random) } else { Default::default() }, levels(random)],
        }
    };
    let vms = (0..1 + random.below(8)).map(|at| vm(at, random)).collect();
    Sample { hosts, vms, cluster: some_keys(random, &NAMES, 0.3) }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// What instance attributes say of keys of a side.
fn told(side: &str, keys: &[Key]) -> Vec<(String, String)> {
    let of = |(name, value, weight): &Key| {
        let tag = format!("htools:key:{side}:{}", name.replace('#', "@"));
        // the form of tags, and that which crm_resource can write
        let dotted = format!("htools.key.{side}.{}", name.replace('#', "."));
        (escaped(if weight.rem_euclid(16.0) == 0.0 { &tag } else { &dotted }), format!("{value}:{weight}"))
    };
    keys.iter().map(of).collect()
}

fn pairs(xml: &mut String, element: &str, id: &str, of: &[(String, String)]) {
    let of: Vec<(&str, String)> = of.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    attributes(xml, element, id, &of);
}

fn primitive(xml: &mut String, id: &str, size: (u32, u32), keys: &[(String, String)]) {
    let _ = write!(xml, r#"<primitive id="{id}" {DUMMY}>"#);
    pairs(xml, "instance_attributes", id, keys);
    let size = [("memory".to_owned(), size.0.to_string()), ("cpu".to_owned(), size.1.to_string())];
    pairs(xml, "utilization", id, &size);
    let _ = write!(xml, "</primitive>");
}

impl Sample {
    fn cib(&self, constraints: &str) -> String {
        let mut xml = String::new();
        begin(&mut xml, 0);
        xml += r#"<crm_config><cluster_property_set id="o">"#;
        for (at, (name, value)) in told("system", &self.cluster).iter().enumerate() {
            let _ = write!(xml, r#"<nvpair id="o{at}" name="{name}" value="{value}"/>"#);
        }
        xml += "</cluster_property_set></crm_config><nodes>";
        // the order of the document is not that of the names
        for (at, host) in self.hosts.iter().enumerate().rev() {
            let name = escaped(&host.name);
            let _ = write!(xml, r#"<node id="{at}" uname="{name}">"#);
            let mut own: Vec<(String, String)> =
                host.keys.iter().map(|(name, value, _)| (escaped(name), value.to_string())).collect();
            own.push(("standby".to_owned(), host.standby.to_string()));
            own.push(("site".to_owned(), "2b".to_owned()));
            pairs(&mut xml, "instance_attributes", &name, &own);
            let size =
                [("memory".to_owned(), host.ram.to_string()), ("cpu".to_owned(), host.cpus.to_string())];
            pairs(&mut xml, "utilization", &name, &size);
            xml += "</node>";
        }
        let _ = write!(xml, r#"</nodes><resources><primitive id="fence" {FENCING}/>"#);
        for vm in &self.vms {
            let [of_group, own] = &vm.keys;
            let [system, customer] = [told("system", &own[0]), told("customer", &own[1])];
            if vm.is_group {
                let _ = write!(xml, r#"<group id="{}">"#, vm.name);
                let shared = [told("system", &of_group[0]), told("customer", &of_group[1])].concat();
                pairs(&mut xml, "instance_attributes", &vm.name, &shared);
            }
            if !vm.managed {
                let meta = [("is-managed", "false".to_owned())];
                if vm.is_group {
                    attributes(&mut xml, "meta_attributes", &vm.name, &meta);
                }
            }
            if vm.is_group {
                primitive(&mut xml, &format!("{}-a", vm.name), (vm.ram[0], vm.cpus), &system);
                primitive(&mut xml, &format!("{}-b", vm.name), (vm.ram[1], 0), &customer);
                xml += "</group>";
            } else {
                let before = xml.len();
                primitive(&mut xml, &vm.name, (vm.ram[0], vm.cpus), &[system, customer].concat());
                if !vm.managed {
                    let meta = r#"<meta_attributes id="x"><nvpair id="x-x" name="is-managed" value="false"/></meta_attributes></primitive>"#;
                    let changed = xml[before..].replace("</primitive>", meta);
                    xml.replace_range(before.., &changed);
                }
            }
        }
        let _ = write!(xml, "</resources><constraints>{constraints}</constraints></configuration><status>");
        for (at, host) in self.hosts.iter().enumerate() {
            let name = escaped(&host.name);
            let _ = write!(
                xml,
                r#"<node_state id="{at}" uname="{name}" in_ccm="true" crmd="online" join="member" expected="member"><lrm id="{at}"><lrm_resources>"#
            );
            for vm in self.vms.iter().filter(|vm| vm.host == Some(at)) {
                let ends: &[&str] = if vm.is_group { &["-a", "-b"] } else { &[""] };
                ends.iter().for_each(|end| {
                    history(&mut xml, 1, (&format!("{}{end}", vm.name), DUMMY), &name, true);
                });
            }
            xml += "</lrm_resources></lrm></node_state>";
        }
        xml + "</status></cib>"
    }

    fn document(&self) -> Value {
        let of_keys = |keys: &[Key]| -> Value {
            let of = |(name, value, weight): &Key| json!({"name": name, "value": value, "weight": weight});
            keys.iter().map(of).collect()
        };
        let node = |host: &Host| {
            let keys: Vec<Value> =
                host.keys.iter().map(|(name, value, _)| json!({"name": name, "value": value})).collect();
            let state = if host.standby { "maintenance" } else { "running" };
            json!({"name": host.name, "state": state, "ram_total": host.ram, "cpus": host.cpus, "load": 0, "keys": keys})
        };
        let level =
            |sides: &[Vec<Key>; 2]| json!({"system": of_keys(&sides[0]), "customer": of_keys(&sides[1])});
        // what is not managed and does not run is nothing, and what has to leave its node has none
        let vms = self.vms.iter().filter(|vm| vm.managed || vm.host.is_some()).map(|vm| {
            let host = vm.host.filter(|at| !vm.managed || !self.hosts[*at].standby);
            let node = host.map(|at| self.hosts[at].name.clone());
            let [vdc, server] = &vm.keys;
            json!({
                "name": vm.name, "ram": vm.ram[0] + vm.ram[1], "vcpus": vm.cpus, "node": node,
                "keys": {"vdc": level(vdc), "server": level(server)},
            })
        });
        json!({
            "cluster": {"keys": of_keys(&self.cluster)},
            "nodes": self.hosts.iter().map(node).collect::<Vec<_>>(),
            "vms": vms.collect::<Vec<_>>(),
        })
    }
}

fn read(xml: &str) -> PacemakerFleet {
    let of = fleet_of_set(&cib::parse(xml, "t").unwrap());
    assert_eq!(of.faults, [], "{xml}");
    of
}

/// What was found, in names.
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
    /// Which machine may not be on which host.
    off: Vec<(usize, usize)>,
    apart: Vec<(usize, usize)>,
    /// Who has to be with whom.
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
                    // no circles: who is with whom goes down
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

/// Every node is refused by the rule that forbids it, and by nothing else.
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
                    // those that wait for it may not be there
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

/// Hosts of one rack, whose name is an attribute, are one place.
#[test]
fn colocations_by_an_attribute_hold_for_zones() {
    let host =
        |name: &str| Host { name: name.to_owned(), ram: 1 << 20, cpus: 4, standby: false, keys: vec![] };
    let vm = |name: &str, host| Vm {
        name: name.to_owned(),
        ram: [1, 0],
        cpus: 1,
        host,
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

/// A cluster of three nodes of 64 GiB, `b` in standby and `c` in maintenance, with these resources, options and histories.
fn small(options: &str, resources: &str, runs: &[(&str, &str)]) -> String {
    let mut xml = String::new();
    begin(&mut xml, 0);
    let _ = write!(
        xml,
        r#"<crm_config><cluster_property_set id="o">{options}</cluster_property_set></crm_config><nodes>"#
    );
    for (name, state) in [("a", ""), ("b", "standby"), ("c", "maintenance")] {
        let set = if state.is_empty() { vec![] } else { vec![(state, "true".to_owned())] };
        let _ = write!(xml, r#"<node id="{name}" uname="{name}">"#);
        attributes(&mut xml, "instance_attributes", name, &set);
        attributes(
            &mut xml,
            "utilization",
            name,
            &[("memory", "65536".to_owned()), ("cpu", "16".to_owned())],
        );
        xml += "</node>";
    }
    let _ = write!(
        xml,
        r#"</nodes><resources><primitive id="fence" {FENCING}/>{resources}</resources></configuration><status>"#
    );
    for name in ["a", "b", "c"] {
        let _ = write!(
            xml,
            r#"<node_state id="{name}" uname="{name}" in_ccm="true" crmd="online" join="member" expected="member"><lrm id="{name}"><lrm_resources>"#
        );
        for (resource, _) in runs.iter().filter(|(_, on)| *on == name) {
            history(&mut xml, 1, (resource, DUMMY), name, true);
        }
        xml += "</lrm_resources></lrm></node_state>";
    }
    xml + "</status></cib>"
}

fn vm(id: &str, inner: &str) -> String {
    format!(
        r#"<primitive id="{id}" {DUMMY}>{inner}<utilization id="{id}-u"><nvpair id="{id}-m" name="memory" value="1000"/></utilization></primitive>"#
    )
}

fn set(element: &str, id: &str, pairs: &[(&str, &str)]) -> String {
    let mut xml = String::new();
    let pairs: Vec<(&str, String)> = pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    attributes(&mut xml, element, id, &pairs);
    xml
}

#[test]
fn machines_are_what_runs_and_what_should() {
    let meta = |id: &str, name: &str, value: &str| set("meta_attributes", id, &[(name, value)]);
    let resources = [
        vm("runs", ""),
        vm("waits", ""),
        vm("leaves", ""),
        vm("stays", ""),
        vm("stopped", &meta("stopped", "target-role", "Stopped")),
        vm("halting", &meta("halting", "target-role", "Stopped")),
        vm("left", &meta("left", "is-managed", "false")),
        vm("idle", &meta("idle", "is-managed", "false")),
        vm("twice", ""),
        format!(
            "<group id=\"g\">{}{}{}</group>",
            vm("g1", ""),
            vm("g2", ""),
            vm("g3", &meta("g3", "target-role", "Stopped"))
        ),
        format!("<clone id=\"k\">{}</clone>", vm("k1", "")),
    ];
    let runs = [
        ("fence", "a"),
        ("runs", "a"),
        ("leaves", "b"),
        ("stays", "c"),
        ("halting", "a"),
        ("left", "b"),
        ("twice", "a"),
        ("twice", "b"),
        ("k1", "a"),
    ];
    let fleet = read(&small("", &resources.concat(), &runs)).fleet;
    let found: Vec<_> =
        fleet.machines.iter().map(|of| (of.name.as_str(), of.ram.0, of.node, of.fixed)).collect();
    assert_eq!(
        found,
        [
            ("fence", 0, Some(0), true),
            ("runs", 1000, Some(0), false),
            ("waits", 1000, None, false),
            ("leaves", 1000, None, false),
            ("stays", 1000, Some(2), true),
            ("left", 1000, Some(1), true),
            ("twice", 1000, Some(0), true),
            ("g", 2000, None, false),
            ("k1:0", 1000, Some(0), true),
            ("twice", 1000, Some(1), true),
        ]
    );
    assert_eq!(fleet.nodes.iter().map(|node| node.running).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(fleet.nodes.iter().map(|node| node.ram_free.0).collect::<Vec<_>>(), [62536, 63536, 64536]);
    // what has too few nodes may not be on all
    let nothing = read(&small(
        r#"<nvpair id="s" name="stop-all-resources" value="true"/>"#,
        &resources.concat(),
        &runs,
    ));
    assert!(nothing.fleet.machines.iter().all(|of| of.fixed));
}

#[test]
fn keys_are_of_the_cluster_the_group_and_the_resource() {
    let option =
        |id: &str, name: &str, value: &str| format!(r#"<nvpair id="{id}" name="{name}" value="{value}"/>"#);
    let options = option("o1", "htools:key:system:ds", "1:10")
        + &option("o2", "htools:key:customer:all", "1:7")
        + &option("o3", "htools:key:system:@RAM", "0:50");
    let template = format!(
        r#"<template id="t" {DUMMY}>{}</template>"#,
        set(
            "instance_attributes",
            "t",
            &[("htools:key:system:ds", "3:5"), ("htools:key:customer:own", "1:1")]
        )
    );
    let member = vm(
        "m",
        &set("instance_attributes", "m", &[("htools:key:customer:grp", "2:-8"), ("config", "/m.xml")]),
    );
    let group = format!(
        "<group id=\"g\">{}{member}</group>",
        set(
            "instance_attributes",
            "g",
            &[("htools:key:system:ds", "2:20"), ("htools:key:customer:grp", "1:8")]
        )
    );
    let own = set("instance_attributes", "v", &[("htools:key:customer:own", "2:2")]);
    let of_template = format!(r#"<primitive id="v" template="t">{own}</primitive>"#);
    let fleet = read(&small(&options, &(template + &group + &of_template), &[])).fleet;
    let shown = |name: &str| {
        let keys = fleet.compiled(fleet.machines.iter().find(|of| of.name == name).unwrap());
        let all = keys
            .system
            .into_iter()
            .chain(keys.customer)
            .filter(|key| !key.name.starts_with(['#']) || key.weight != 30.0);
        all.map(|key| format!("{}={}:{}@{}", key.name, key.value, key.weight, key.level)).collect::<Vec<_>>()
    };
    assert_eq!(shown("g"), ["#RAM=0:50@cluster", "ds=2:20@vdc", "all=1:7@cluster", "grp=2:-8@server"]);
    assert_eq!(shown("v"), ["#RAM=0:50@cluster", "ds=3:5@server", "all=1:7@cluster", "own=2:2@server"]);
}

#[test]
fn attributes_that_are_no_keys_do_nothing_and_are_told() {
    let bad = [
        ("htools:key:system:one", "1"),
        ("htools:key:system:two", "1:x"),
        ("htools:key:customer:three", "NaN:1"),
        ("htools:key:customer:four", "1:inf"),
        ("htools:key:customer:five", "2e12:1"),
        ("htools:key:system:_six", "1:1"),
        ("htools:key:customer:#seven", "1:1"),
        ("htools:key:eight", "1"),
        ("htools:key:system:a:b", "1:1"),
        ("htools:key:", ""),
        ("htools:key:system:#RAM", "0:1"),
        ("htools.key.system..RAM", "0:2"),
        ("htools:key:system:good", "1:1"),
    ];
    let twice = r#"<instance_attributes id="w"><nvpair id="w1" name="htools:key:system:k" value="1:1"/><nvpair id="w2" name="htools:key:system:k" value="2:1"/></instance_attributes>"#;
    // of two sets the one with the higher score holds, which is no contradiction
    let sets = r#"<instance_attributes id="y" score="1"><nvpair id="y1" name="htools:key:system:k" value="1:1"/></instance_attributes><instance_attributes id="z" score="2"><nvpair id="z1" name="htools:key:system:k" value="2:1"/></instance_attributes>"#;
    let resources = vm("v", &set("instance_attributes", "v", &bad)) + &vm("w", twice) + &vm("y", sets);
    let options = r#"<nvpair id="o" name="htools:key:pool" value="1"/>"#;
    let xml = small(options, &resources, &[]).replace(
        r#"<node id="a" uname="a">"#,
        r#"<node id="a" uname="a"><instance_attributes id="ia"><nvpair id="i1" name="good" value="-inf"/><nvpair id="i2" name="k" value="blue"/><nvpair id="i3" name="htools:key:sticky:_p" value="1:1"/><nvpair id="i4" name="standby" value="0"/><nvpair id="i5" name="unnamed" value="NaN"/></instance_attributes>"#,
    );
    let of = fleet_of_set(&cib::parse(&xml, "t").unwrap());
    let lines: Vec<String> = of.faults.iter().map(ToString::to_string).collect();
    let number = |what| format!("has a {what} that is no number between -1e12 and 1e12");
    let form = "is not of the form of a key";
    let own =
        |attribute: &str, fault: &str| format!("attribute htools:key:{attribute} of resource v: {fault}");
    let expected = [
        "attribute htools:key:pool=1 of the cluster: is no key there".to_owned(),
        own("system:one=1", form),
        own("system:two=1:x", &number("weight")),
        own("customer:three=NaN:1", &number("value")),
        own("customer:four=1:inf", &number("weight")),
        own("customer:five=2e12:1", &number("value")),
        own("system:_six=1:1", "has a name that cannot begin with '_'"),
        own("customer:#seven=1:1", "has a name that cannot begin with '#'"),
        own("eight=1", "is no key there"),
        own("system:a:b=1:1", form),
        own("=", form),
        own("system:#RAM=0:1", "contradicts another key of this name"),
        "attribute htools.key.system..RAM=0:2 of resource v: contradicts another key of this name".to_owned(),
        "attribute htools:key:system:k=1:1 of resource w: contradicts another key of this name".to_owned(),
        "attribute htools:key:system:k=2:1 of resource w: contradicts another key of this name".to_owned(),
        format!("attribute good=-inf of node a: {}", number("value")),
        "attribute htools:key:sticky:_p=1:1 of node a: has a name that cannot begin with '_'".to_owned(),
    ];
    assert_eq!(lines, expected);
    let keys = |name: &str| {
        let keys = of.fleet.compiled(of.fleet.machines.iter().find(|of| of.name == name).unwrap());
        let keys = keys.system.into_iter().filter(|key| !key.name.starts_with('#'));
        keys.map(|key| (key.name, key.value)).collect::<Vec<_>>()
    };
    assert_eq!(keys("v"), [("good".to_owned(), 1.0)]);
    assert_eq!((keys("w"), keys("y")), (vec![], vec![("k".to_owned(), 2.0)]));
    assert!(of.fleet.nodes.iter().all(|node| node.keys.is_empty()));
}

/// Instance attributes without keys may say what they like, as ever.
#[test]
fn other_instance_attributes_mean_nothing() {
    let odd = r#"<instance_attributes id="q"><rule id="r" score="1"><rsc_expression id="e" class="ocf"/></rule><nvpair id="q1" name="x" value="1"/></instance_attributes><instance_attributes id-ref="nowhere"/>"#;
    let set = cib::parse(&small("", &vm("v", odd), &[]), "t").unwrap();
    assert_eq!(set.outside, []);
}

/// Whatever is done to a document, it is refused or placed.
#[test]
fn damaged_documents_are_refused_or_placed() {
    let sample = include_str!("../../data/affinity-cib.xml");
    let pieces = [
        "",
        "\"",
        "-INFINITY",
        "1:1",
        "htools.key.system.pool",
        "9999999999999999999",
        "node1",
        "web1",
        "Stopped",
        "&#10;",
        "htools:key:",
        "NaN",
        "true",
        "score",
        "mail",
        "-1",
    ];
    let mut random = Random::new(28);
    let mut read = 0;
    for _ in 0..4000 {
        let mut text = sample.to_owned();
        for _ in 0..1 + random.below(3) {
            let quotes: Vec<usize> = text.match_indices('"').map(|(at, _)| at).collect();
            let pair = random.below(quotes.len().max(2) / 2);
            if let [from, to, ..] = quotes[(2 * pair).min(quotes.len())..] {
                text.replace_range(from + 1..to, pieces[random.below(pieces.len())]);
            }
        }
        let Ok(set) = cib::parse(&text, "t") else { continue };
        read += 1;
        let of = fleet_of_set(&set);
        place_all(&of.fleet, MachineOrder::Ram, ChoiceDetail::Terms);
        misplaced(&of.fleet);
    }
    assert!(read > 1000, "{read}");
}
