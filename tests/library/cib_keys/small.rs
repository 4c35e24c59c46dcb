//! Reading of keys, case by case.

use std::fmt::Write;

use htools::affinity::{ChoiceDetail, MachineOrder, fleet_of_set, misplaced, place_all};
use htools::generate::random::Random;
use htools::pacemaker::cib;

use super::read;
use crate::transition::random_cib::cib_text::{DUMMY, FENCING, attributes, begin, history};

/// A cluster of three nodes of 64 GiB: `b` is in standby, `c` in maintenance. It has these resources, options and
/// histories.
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
    // With stop-all-resources, every machine is fixed.
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
            .filter(|key| !key.name.starts_with(['#']) || key.weight != 25.0);
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
    // Of two sets, the one with the higher score holds; this is no contradiction.
    let sets = r#"<instance_attributes id="y" score="1"><nvpair id="y1" name="htools:key:system:k" value="1:1"/></instance_attributes><instance_attributes id="z" score="2"><nvpair id="z1" name="htools:key:system:k" value="2:1"/></instance_attributes>"#;
    let resources = vm("v", &set("instance_attributes", "v", &bad)) + &vm("w", twice) + &vm("y", sets);
    let options = r#"<nvpair id="o" name="htools:key:pool" value="1"/>"#;
    let xml = small(options, &resources, &[]).replace(
        r#"<node id="a" uname="a">"#,
        r#"<node id="a" uname="a"><instance_attributes id="ia"><nvpair id="i1" name="good" value="-inf"/><nvpair id="i2" name="k" value="blue"/><nvpair id="i3" name="htools:key:sticky:_p" value="1:1"/><nvpair id="i4" name="standby" value="0"/><nvpair id="i5" name="unnamed" value="NaN"/></instance_attributes>"#,
    );
    let of = fleet_of_set(&cib::parse(&xml, "t").unwrap());
    let lines: Vec<String> = of.faults.iter().map(ToString::to_string).collect();
    let number = |what| format!("has a {what} that is not a number between -1e12 and 1e12");
    let form = "does not have the form of a key";
    let own =
        |attribute: &str, fault: &str| format!("attribute htools:key:{attribute} of resource v: {fault}");
    let expected = [
        "attribute htools:key:pool=1 of the cluster: is not a key that is allowed there".to_owned(),
        own("system:one=1", form),
        own("system:two=1:x", &number("weight")),
        own("customer:three=NaN:1", &number("value")),
        own("customer:four=1:inf", &number("weight")),
        own("customer:five=2e12:1", &number("value")),
        own("system:_six=1:1", "has a name that cannot begin with '_'"),
        own("customer:#seven=1:1", "has a name that cannot begin with '#'"),
        own("eight=1", "is not a key that is allowed there"),
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

/// Instance attributes other than keys may have any content.
#[test]
fn other_instance_attributes_mean_nothing() {
    let odd = r#"<instance_attributes id="q"><rule id="r" score="1"><rsc_expression id="e" class="ocf"/></rule><nvpair id="q1" name="x" value="1"/></instance_attributes><instance_attributes id-ref="nowhere"/>"#;
    let set = cib::parse(&small("", &vm("v", odd), &[]), "t").unwrap();
    assert_eq!(set.unsupported, []);
}

/// However a document is damaged, it is either refused or placed.
#[test]
fn damaged_documents_are_refused_or_placed() {
    let sample = include_str!("../../../data/affinity-cib.xml");
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
