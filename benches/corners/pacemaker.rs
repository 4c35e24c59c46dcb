//! Pacemaker clusters, as CIBs.

use std::fmt::Write;

use super::{Corner, INPUT};

/// One element per number below `count`.
fn elements(count: usize, element: impl Fn(usize) -> String) -> String {
    let mut all = String::new();
    for at in 0..count {
        // Writing to a string cannot fail.
        let _ = writeln!(all, "{}", element(at));
    }
    all
}

fn amount(owner: &str, name: &str, value: usize) -> String {
    format!(
        r#"<utilization id="u-{owner}"><nvpair id="u-{owner}-{name}" name="{name}" value="{value}"/></utilization>"#
    )
}

fn node(at: usize, name: &str, capacity: usize) -> String {
    format!(r#"<node id="{at}" uname="n{at}">{}</node>"#, amount(&format!("n{at}"), name, capacity))
}

fn primitive(at: usize, name: &str) -> String {
    let needs = amount(&format!("r{at}"), name, 1);
    format!(r#"<primitive id="r{at}" class="ocf" provider="heartbeat" type="Dummy">{needs}</primitive>"#)
}

fn cib(nodes: &str, resources: &str, constraints: &str, tags: &str, online: usize) -> String {
    let status = elements(online, |at| {
        format!(
            r#"<node_state id="{at}" uname="n{at}" in_ccm="true" crmd="online" join="member" expected="member"/>"#
        )
    });
    format!(
        r#"<cib crm_feature_set="3.16.1" validate-with="pacemaker-3.9" epoch="1" num_updates="0" admin_epoch="0" have-quorum="1" dc-uuid="1">
<configuration><crm_config><cluster_property_set id="o">
<nvpair id="o1" name="stonith-enabled" value="false"/><nvpair id="o2" name="placement-strategy" value="balanced"/>
</cluster_property_set></crm_config><nodes>
{nodes}</nodes><resources>
{resources}</resources><constraints>
{constraints}</constraints><tags>
{tags}</tags></configuration><status>
{status}</status></cib>"#
    )
}

/// Resources with constraints, on ten nodes that can each hold all of them.
fn constrained(resources: usize, constraints: &str, tags: &str) -> String {
    let nodes = elements(10, |i| node(i, "cpu", resources));
    cib(&nodes, &elements(resources, |i| primitive(i, "cpu")), constraints, tags, 10)
}

fn locations(n: usize) -> String {
    let location =
        |i: usize| format!(r#"<rsc_location id="l{i}" rsc="r{}" node="n{}" score="{i}"/>"#, i % 1000, i % 10);
    constrained(1000, &elements(n, location), "")
}

/// Locations by tags. Each tag also names something that is not a resource.
fn tagged(n: usize) -> String {
    let location =
        |i: usize| format!(r#"<rsc_location id="l{i}" rsc="t{i}" node="n{}" score="{i}"/>"#, i % 10);
    let tag = |i: usize| {
        let odd = if i.is_multiple_of(2) { "" } else { r#"<obj_ref id="nobody"/>"# };
        format!(r#"<tag id="t{i}"><obj_ref id="r{}"/>{odd}</tag>"#, i % 100)
    };
    constrained(100, &elements(n, location), &elements(n, tag))
}

/// A chain of resources: each must run with the next one.
fn chain(n: usize) -> String {
    let colocation = |i: usize| {
        format!(r#"<rsc_colocation id="c{i}" rsc="r{i}" with-rsc="r{}" score="INFINITY"/>"#, i + 1)
    };
    constrained(n, &elements(n - 1, colocation), "")
}

/// Pairs of resources that must not run together.
fn apart(n: usize) -> String {
    let colocation = |i: usize| {
        format!(r#"<rsc_colocation id="c{i}" rsc="r{}" with-rsc="r{}" score="-INFINITY"/>"#, 2 * i, 2 * i + 1)
    };
    constrained(2 * n, &elements(n, colocation), "")
}

fn orders(n: usize) -> String {
    let order = |i: usize| format!(r#"<rsc_order id="o{i}" first="r{i}" then="r{}"/>"#, i + 1);
    constrained(n, &elements(n - 1, order), "")
}

fn resources(n: usize) -> String {
    constrained(n, "", "")
}

/// Resources on ten nodes with room for a tenth of them.
fn no_room(n: usize) -> String {
    let nodes = elements(10, |i| node(i, "cpu", n / 100));
    cib(&nodes, &elements(n, |i| primitive(i, "cpu")), "", "", 10)
}

fn nodes(n: usize) -> String {
    cib(&elements(n, |i| node(i, "cpu", 64)), &elements(100, |i| primitive(i, "cpu")), "", "", n)
}

/// Each resource needs another capacity.
fn capacities(n: usize) -> String {
    let nodes = elements(10, |i| node(i, "cpu", 64));
    cib(&nodes, &elements(n, |i| primitive(i, &format!("a{i}"))), "", "", 10)
}

/// Constraints for resources that do not exist.
fn absent(n: usize) -> String {
    let location = |i: usize| format!(r#"<rsc_location id="l{i}" rsc="x{i}" node="y{i}" score="1"/>"#);
    constrained(n / 10, &elements(n / 10, location), "")
}

fn no_request(_: usize) -> String {
    String::new()
}

const ALL: &[&[&str]] = &[
    &["hplace", "-x", INPUT],
    &["hplace", "--json", "-x", INPUT],
    &["hplace", "--transition", "-x", INPUT],
    &["hplace", "lint", "-x", INPUT],
    &["hplace", "why", "-x", INPUT, "r1"],
    &["hplace", "survive", "-x", INPUT],
    &["hplace", "fit", "-x", INPUT, "cpu=1"],
    &["hplace", "--strategy", "optimal", "--steps", "1", "-x", INPUT],
];

const LINT: &[&[&str]] = &[&["hplace", "lint", "-x", INPUT]];

const fn corner(
    name: &'static str,
    size: usize,
    make: fn(usize) -> String,
    commands: &'static [&'static [&'static str]],
) -> Corner {
    Corner { name, size, make, request: no_request, commands }
}

/// The inputs.
pub const CORNERS: &[Corner] = &[
    corner("locations", 10_000, locations, ALL),
    corner("tags", 5_000, tagged, ALL),
    corner("colocations in a chain", 100, chain, ALL),
    corner("pairs that keep apart", 300, apart, ALL),
    corner("orders in a chain", 500, orders, ALL),
    corner("resources", 1_000, resources, ALL),
    corner("resources without room", 500, no_room, ALL),
    corner("nodes", 1_000, nodes, ALL),
    corner("capacities", 500, capacities, ALL),
    corner("resources that are not there", 10_000, absent, LINT),
];
