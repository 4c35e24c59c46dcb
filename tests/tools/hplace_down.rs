//! Resources that should run but do not are reported by hplace's table, its documents and its exit status.

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::{contains, starts_with};

/// A run with this document on standard input.
fn hplace(words: &[&str], document: &str) -> Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").args(["hplace", "-x", "-"]).args(words).write_stdin(document).assert()
}

/// A cluster of two nodes: alpha with 4 CPUs, and beta with 2.
struct TwoNodes {
    options: &'static str,
    resources: &'static str,
    constraints: &'static str,
    /// Resources started on alpha.
    on_alpha: &'static [&'static str],
    /// True if alpha was lost.
    lost: bool,
}

const TWO: TwoNodes = TwoNodes {
    options: r#"<nvpair id="o1" name="stonith-enabled" value="false"/>"#,
    resources: r#"<primitive id="db" type="Dummy"/><primitive id="web" type="Dummy"/>"#,
    constraints: "",
    on_alpha: &[],
    lost: false,
};

impl TwoNodes {
    fn text(&self) -> String {
        let node = |id: usize, name: &str, cpu: usize| {
            format!(
                r#"<node id="{id}" uname="{name}"><utilization id="u{id}"><nvpair id="u{id}c" name="cpu" value="{cpu}"/></utilization></node>"#
            )
        };
        let nodes = node(1, "alpha", 4) + &node(2, "beta", 2);
        let started = self.on_alpha.iter().map(|name| {
            format!(r#"<lrm_resource id="{name}" type="Dummy"><lrm_rsc_op id="{name}s" operation="start" call-id="1" rc-code="0" op-status="0" transition-key="1:1:0:x" op-digest="f2317cad3d54cec5d7d7aa7d0bf35cf8"/></lrm_resource>"#)
        });
        let started: String = started.collect();
        let alpha = match self.lost {
            true => r#"in_ccm="false" crmd="offline" join="down" expected="member""#,
            false => r#"in_ccm="true" crmd="online" join="member" expected="member""#,
        };
        let TwoNodes { options, resources, constraints, .. } = self;
        format!(
            r#"<cib have-quorum="1"><configuration><crm_config><cluster_property_set id="o">{options}</cluster_property_set></crm_config>
            <nodes>{nodes}</nodes><resources>{resources}</resources><constraints>{constraints}</constraints></configuration>
            <status><node_state id="1" uname="alpha" {alpha}><lrm id="1"><lrm_resources>{started}</lrm_resources></lrm></node_state>
            <node_state id="2" uname="beta" in_ccm="true" crmd="online" join="member" expected="member"/></status></cib>"#
        )
    }
}

const CIRCLE: &str = r#"<rsc_order id="x" first="db" then="web"/><rsc_order id="y" first="web" then="db"/>"#;

#[test]
fn orders_in_a_circle() {
    let circle = TwoNodes { constraints: CIRCLE, ..TWO }.text();
    let warned = "Warning: db, web wait for each other in a circle (order x, order y); Pacemaker never starts these actions, nor those that wait for them\n";
    let told = contains("web      -   -   not started (it waits in a circle)\n").and(contains(warned));
    hplace(&[], &circle).code(2).stdout(told);
    for words in [&["--transition"][..], &["--dot"], &["--json"]] {
        hplace(words, &circle).code(2);
    }
    hplace(&["--json"], &circle).stdout(
        contains(r#""action": "blocked""#).and(contains("\"down\": [\n    \"db\",\n    \"web\"\n  ]")),
    );
    // Pacemaker's own graph contains them nevertheless.
    hplace(&["--dot"], &circle)
        .stdout(contains("\"db_start_0 alpha\" [ style=bold").and(contains("dashed").not()));
    // An order that is optional, or does not apply to stops, also makes a circle.
    for word in [r#"kind="Optional""#, r#"kind="Serialize""#, r#"symmetrical="false""#] {
        let soft = circle.replace(r#"then="db""#, &format!(r#"then="db" {word}"#));
        hplace(&[], &soft).code(2).stdout(contains(warned));
    }
    // A resource that stays does not wait; one that would move does.
    let running = TwoNodes { constraints: CIRCLE, on_alpha: &["db", "web"], ..TWO }.text();
    let held = contains("web      alpha alpha cannot be stopped (it waits in a circle)\n");
    hplace(&[], &running).code(2).stdout(held.and(contains(warned)));
    let together = r#"<constraints><rsc_colocation id="c" rsc="web" with-rsc="db" score="INFINITY"/>"#;
    let running = running.replace("<constraints>", together);
    hplace(&[], &running).code(0).stdout(contains("Warning").not());
    let without_alpha =
        "Without alpha:\n  db, priority 0: it waits in a circle\n  web, priority 0: it waits in a circle\n";
    hplace(&["survive"], &running).code(2).stdout(contains(without_alpha));
    hplace(&["evacuate", "alpha"], &running).code(2).stdout(contains(warned));
    let itself = circle.replace(r#"then="db""#, r#"then="web""#);
    hplace(&[], &itself).code(1).stderr(contains("rsc_order 'y': the resource is ordered after itself"));
}

#[test]
fn what_waits_for_one_that_is_stopped_on_purpose() {
    let stopped = r#"<primitive id="db" type="Dummy"><meta_attributes id="m"><nvpair id="m1" name="target-role" value="Stopped"/></meta_attributes></primitive>
        <primitive id="web" type="Dummy"/>"#;
    let order = r#"<rsc_order id="x" first="db" then="web"/>"#;
    let both = TwoNodes { resources: stopped, constraints: order, ..TWO }.text();
    hplace(&[], &both).code(2).stdout(contains("web      -   -   not started (order x)\n"));
    // A resource that was stopped on purpose is not missing.
    hplace(&[], &both.replace(order, "")).code(0);
}

#[test]
fn a_device_that_fences_the_last_node_is_not_missed() {
    let ban = |name: &str, node: &str| {
        format!(r#"<rsc_location id="l-{name}" rsc="{name}" node="{node}" score="-INFINITY"/>"#)
    };
    let device = r#"class="stonith" type="fence_x""#;
    // fb is banned from beta and runs on alpha.
    let with = |kind: &str| {
        let resources = format!(r#"<primitive id="fa" {device}/><primitive id="fb" {kind}/>"#);
        let constraints = format!("<constraints>{}{}", ban("fa", "alpha"), ban("fb", "beta"));
        let text = TwoNodes { options: "", on_alpha: &["fb"], ..TWO }.text();
        text.replace(TWO.resources, &resources)
            .replace("<constraints>", &constraints)
            .replace(r#"id="fb" type="Dummy""#, &format!(r#"id="fb" {kind}"#))
    };
    hplace(&["survive"], &with(device)).code(0).stdout(contains("something stays down after 0 of them"));
    hplace(&["survive"], &with(r#"type="Dummy""#)).code(2);
}

/// A clone of a group whose members each need 2 CPUs.
const CLONE: &str = r#"<clone id="c"><group id="g">
    <primitive id="g1" type="Dummy"><utilization id="gu1"><nvpair id="gc1" name="cpu" value="2"/></utilization></primitive>
    <primitive id="g2" type="Dummy"><utilization id="gu2"><nvpair id="gc2" name="cpu" value="2"/></utilization></primitive>
    </group></clone>"#;

#[test]
fn a_part_of_an_instance_is_missed() {
    let options = r#"<nvpair id="o1" name="stonith-enabled" value="false"/><nvpair id="o2" name="placement-strategy" value="utilization"/>"#;
    let cloned = TwoNodes { options, resources: CLONE, ..TWO }.text();
    hplace(&[], &cloned)
        .code(2)
        .stdout(contains("Not placed: g2:1 (alpha: g1:0 is there; beta: no room: cpu lacks 2)"));
    // If both nodes have room, all is well, also after the loss of one.
    let roomy = cloned.replace(
        r#"name="cpu" value="2"/></utilization></node>"#,
        r#"name="cpu" value="4"/></utilization></node>"#,
    );
    assert_ne!(roomy, cloned);
    hplace(&[], &roomy).code(0);
    hplace(&["survive"], &roomy).code(0);
    // beta has no room for the second member in addition to another resource.
    let vm = r#"<primitive id="vm" type="Dummy"><meta_attributes id="vm-m"><nvpair id="vm-m1" name="priority" value="9"/></meta_attributes>
        <utilization id="vm-u"><nvpair id="vm-c" name="cpu" value="1"/></utilization></primitive><clone id="c"><meta_attributes id="cm"><nvpair id="cm1" name="priority" value="5"/></meta_attributes>"#;
    let crowded = roomy.replace(r#"<clone id="c">"#, vm).replacen(r#"value="4""#, r#"value="5""#, 1);
    hplace(&["survive"], &crowded)
        .code(2)
        .stdout(contains(", priority 5: alpha: offline; beta: no room: cpu lacks 1"));
}

#[test]
fn a_lost_node_that_nothing_fences() {
    let frozen = TwoNodes { options: "", on_alpha: &["db"], lost: true, ..TWO };
    let nothing = "Warning: Pacemaker starts, stops and moves nothing: stonith-enabled is true (the default), but there is no fencing device\n";
    let lost =
        "Warning: alpha is lost and cannot be fenced, so its resources are not started elsewhere: db\n";
    hplace(&[], &frozen.text()).code(2).stdout(contains(nothing).and(contains(lost)));
    // Everything that should run does.
    let calm = TwoNodes { on_alpha: &["db", "web"], lost: false, ..frozen };
    hplace(&[], &calm.text()).code(0).stdout(contains(nothing).and(contains(lost).not()));
    let fenced = TwoNodes { options: TWO.options, ..frozen };
    hplace(&[], &fenced.text()).code(0).stdout(starts_with("Strategy").and(contains("Warning").not()));
}

#[test]
fn what_pacemaker_refuses_or_replaces() {
    let util = r#"<utilization id="w"><nvpair id="w1" name="cpu" value="1"/></utilization>"#;
    let inner = r#"<primitive id="db" type="Dummy"/>"#;
    for (text, named) in [
        (format!(r#"<group id="g">{util}{inner}</group>"#), "group 'g'"),
        (format!(r#"<clone id="c">{util}{inner}</clone>"#), "clone 'c'"),
        (format!(r#"<clone id="c"><group id="g">{util}{inner}</group></clone>"#), "group 'g'"),
    ] {
        let wrong = TWO.text().replace(TWO.resources, &text);
        hplace(&[], &wrong)
            .code(1)
            .stderr(contains(named).and(contains("only primitives have a utilization")));
    }
    let strategy = |word: &str| {
        let options = format!(r#"{}<nvpair id="o2" name="placement-strategy" value="{word}"/>"#, TWO.options);
        TWO.text().replace(TWO.options, &options)
    };
    let warned =
        "Warning: there is no placement-strategy 'foo'; Pacemaker uses 'default', which ignores capacities\n";
    hplace(&[], &strategy("foo")).code(0).stdout(starts_with("Strategy default: ")).stderr(warned);
    hplace(&[], &strategy("Balanced")).code(0).stdout(starts_with("Strategy balanced: ")).stderr("");
}
