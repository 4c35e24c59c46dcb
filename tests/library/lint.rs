//! `lint`: one faulty document for each rule, and no finding in a correct one.

use htools::pacemaker::lint::{LintFinding, lint, rules};

/// A correct cluster of two nodes; each rule's document differs from it in one place.
const WELL: &str = r#"<cib have-quorum="1"><configuration><crm_config><cluster_property_set id="o">
<nvpair id="o1" name="placement-strategy" value="balanced"/><nvpair id="o2" name="stonith-enabled" value="false"/>
</cluster_property_set></crm_config><nodes>
<node id="1" uname="alpha"><utilization id="u1"><nvpair id="u1c" name="host_memory" value="8"/></utilization></node>
<node id="2" uname="beta"><utilization id="u2"><nvpair id="u2c" name="host_memory" value="8"/></utilization></node>
</nodes><resources>
<primitive id="web" class="ocf" type="Dummy"><utilization id="w"><nvpair id="w1" name="host_memory" value="4"/></utilization></primitive>
<primitive id="db" class="ocf" type="Dummy"><utilization id="d"><nvpair id="d1" name="host_memory" value="4"/></utilization></primitive>
</resources><constraints><rsc_colocation id="c" rsc="web" with-rsc="db" score="INFINITY"/></constraints>
<rsc_defaults><meta_attributes id="r"><nvpair id="r1" name="resource-stickiness" value="1"/></meta_attributes></rsc_defaults>
</configuration><status><node_state id="1" uname="alpha" in_ccm="true" crmd="online" join="member"/>
<node_state id="2" uname="beta" in_ccm="true" crmd="online" join="member"/></status></cib>"#;

fn found(text: &str) -> Vec<LintFinding> {
    let suggest = |_: &str, known: &[&str]| format!(" (known: {})", known.join(" "));
    lint(text, "made up", &suggest).unwrap()
}

/// Columns: rule, text replaced, replacement, element that is named, and part of the message.
const WRONG: [(&str, &str, &str, &str, &str); 31] = [
    (
        "no-fencing",
        r#"name="stonith-enabled" value="false""#,
        r#"name="stonith-enabled" value="true""#,
        "",
        "nothing is started",
    ),
    (
        "unknown-strategy",
        r#"name="placement-strategy" value="balanced""#,
        r#"name="placement-strategy" value="balance""#,
        "",
        "there is no placement-strategy 'balance'",
    ),
    (
        "utilization-ignored",
        r#"name="placement-strategy" value="balanced""#,
        r#"name="placement-strategy" value="default""#,
        "",
        "beyond what they have",
    ),
    (
        "needless-moves",
        r#"name="resource-stickiness" value="1""#,
        r#"name="resource-stickiness" value="0""#,
        "web",
        "no stickiness",
    ),
    (
        "no-priorities",
        r#"id="d1" name="host_memory" value="4""#,
        r#"id="d1" name="host_memory" value="9""#,
        "",
        "db, web",
    ),
    (
        "unknown-capacity",
        r#"id="w1" name="host_memory""#,
        r#"id="w1" name="hv_memory""#,
        "web",
        "'hv_memory', which no node has",
    ),
    (
        "unused-capacity",
        r#"<utilization id="u1">"#,
        r#"<utilization id="u1"><nvpair id="u1d" name="disk" value="1"/>"#,
        "",
        "'disk', which no resource needs",
    ),
    (
        "not-a-number",
        r#"id="w1" name="host_memory" value="4""#,
        r#"id="w1" name="host_memory" value="3.5""#,
        "w1",
        "counts as 3",
    ),
    (
        "absent",
        r#"<constraints>"#,
        r#"<constraints><rsc_order id="x" first="web" then="dbb"/>"#,
        "x",
        "no resource 'dbb': Pacemaker refuses the whole document",
    ),
    (
        "absent",
        r#"<constraints>"#,
        r#"<constraints><rsc_location id="x" rsc="web" node="gamma" score="1"/>"#,
        "x",
        "no node 'gamma': the constraint is ignored",
    ),
    (
        "absent",
        r#"<constraints>"#,
        "<constraints><rsc_colocation id=\"x\" score=\"1\">\n<resource_set id=\"s\"><resource_ref id=\"web\"/><resource_ref id=\"no\"/></resource_set></rsc_colocation>",
        "x",
        "no resource 'no'",
    ),
    (
        "tag-ignored",
        r#"<constraints>"#,
        r#"<tags><tag id="t"><obj_ref id="u"/></tag><tag id="u"><obj_ref id="web"/></tag></tags>
<constraints><rsc_location id="x" rsc="t" node="alpha" score="1"/>"#,
        "x",
        "tag 't' has 'u', which is no resource",
    ),
    (
        "tag-ignored",
        r#"<constraints>"#,
        r#"<tags><tag id="t"><obj_ref id="db"/></tag><tag id="u"><obj_ref id="web"/></tag></tags>
<constraints><rsc_colocation id="x" rsc="t" with-rsc="u" score="1"/>"#,
        "x",
        "with another one: the constraint is ignored",
    ),
    (
        "exclusive-nowhere",
        r#"<constraints>"#,
        r#"<constraints><rsc_location id="x" rsc="db" node="beta" score="-INFINITY" resource-discovery="exclusive"/>"#,
        "x",
        "db may only be",
    ),
    (
        "exclusive-ignored",
        r#"</resources><constraints>"#,
        r#"<group id="g"><primitive id="in" class="ocf" type="Dummy"/></group></resources><constraints><rsc_location id="x" rsc="in" node="beta" score="5" resource-discovery="exclusive"/>"#,
        "x",
        "in is in the group g",
    ),
    (
        "ticket-never-granted",
        r#"<constraints>"#,
        r#"<constraints><rsc_ticket id="x" rsc="web" ticket="siteA"/>"#,
        "x",
        "nothing ever granted the ticket 'siteA'",
    ),
    (
        "circle",
        r#"<constraints>"#,
        r#"<constraints><rsc_colocation id="x" rsc="db" with-rsc="web" score="INFINITY"/>"#,
        "x",
        "in a circle: ",
    ),
    (
        "order-circle",
        r#"<constraints>"#,
        r#"<constraints><rsc_order id="x" first="db" then="web"/><rsc_order id="y" first="web" then="db"/>"#,
        "x",
        "in a circle through web, db",
    ),
    (
        "order-circle",
        r#"<constraints>"#,
        r#"<constraints><rsc_order id="x" first="db" then="web" kind="Optional"/><rsc_order id="y" first="web" then="db" kind="Serialize"/>"#,
        "x",
        "never gets to it",
    ),
    (
        "order-circle",
        r#"</resources><constraints>"#,
        r#"<group id="g"><primitive id="in" type="Dummy"/><primitive id="last" type="Dummy"/></group></resources><constraints>
<rsc_order id="x" first="g" then="db"/><rsc_order id="y" first="db" then="last"/>"#,
        "x",
        "through db, g, last",
    ),
    (
        "leftover",
        r#"<constraints>"#,
        r#"<constraints><rsc_location id="cli-ban-web-on-beta" rsc="web" node="beta" score="-INFINITY"/>"#,
        "cli-ban-web-on-beta",
        "keeps it from a node",
    ),
    (
        "leftover",
        r#"<constraints>"#,
        r#"<constraints><rsc_location id="cli-prefer-db" rsc="db" node="beta" score="INFINITY"/>"#,
        "cli-prefer-db",
        "holds it on a node",
    ),
    (
        "contradiction",
        r#"<constraints>"#,
        r#"<constraints><rsc_colocation id="x" rsc="db" with-rsc="web" score="-INFINITY"/>"#,
        "c",
        "by x must not",
    ),
    (
        "contradiction",
        r#"<constraints>"#,
        r#"<constraints><rsc_location id="x" rsc="db" node="alpha" score="-INFINITY"/><rsc_location id="y" rsc="web" node="beta" score="-INFINITY"/>"#,
        "c",
        "no node is allowed to both",
    ),
    (
        "needless-moves",
        r#"name="resource-stickiness" value="1""#,
        r#"name="other" value="1""#,
        "web",
        "1 others have",
    ),
    (
        "promoted-max",
        "</resources><constraints>",
        r#"<clone id="data"><meta_attributes id="m"><nvpair id="m0" name="promotable" value="true"/><nvpair id="m1" name="promoted-max" value="3"/><nvpair id="m2" name="clone-max" value="2"/></meta_attributes><primitive id="disk" class="ocf" provider="pacemaker" type="Stateful"/></clone></resources><constraints>"#,
        "data",
        "promoted-max is 3, and the clone has 2",
    ),
    (
        "role-not-named",
        "</resources><constraints>",
        r#"<clone id="data"><meta_attributes id="m"><nvpair id="m0" name="promotable" value="true"/></meta_attributes><primitive id="disk" class="ocf" provider="pacemaker" type="Stateful"/></clone><primitive id="fs" class="ocf" provider="heartbeat" type="Filesystem"/></resources><constraints><rsc_colocation id="k" rsc="fs" with-rsc="data" score="INFINITY"/>"#,
        "k",
        "any instance of data",
    ),
    (
        "no-promotion-order",
        "</resources><constraints>",
        r#"<clone id="data"><meta_attributes id="m"><nvpair id="m0" name="promotable" value="true"/></meta_attributes><primitive id="disk" class="ocf" provider="pacemaker" type="Stateful"/></clone><primitive id="fs" class="ocf" provider="heartbeat" type="Filesystem"/></resources><constraints><rsc_colocation id="k" rsc="fs" with-rsc="data" with-rsc-role="Promoted" score="INFINITY"/><rsc_order id="o9" first="data" then="fs"/>"#,
        "k",
        "no order lets it start",
    ),
    (
        "no-notify",
        "</resources><constraints>",
        r#"<clone id="data"><meta_attributes id="m"><nvpair id="m0" name="promotable" value="true"/></meta_attributes><primitive id="disk" class="ocf" provider="linbit" type="drbd"/></clone></resources><constraints>"#,
        "data",
        "needs notifications",
    ),
    (
        "no-such-role",
        "<constraints>",
        r#"<constraints><rsc_ticket id="x" rsc="web" rsc-role="Promoted" ticket="siteA"/>"#,
        "x",
        "web is no promotable clone, and has no role Promoted: the ticket does not keep it",
    ),
    (
        "no-such-role",
        "<constraints>",
        r#"<constraints><rsc_colocation id="x" rsc="web" with-rsc="db" with-rsc-role="Master" score="INFINITY"/>"#,
        "x",
        "db is no promotable clone, and has no role Master",
    ),
];

#[test]
fn every_rule_finds_what_it_is_about() {
    assert_eq!(found(WELL), []);
    for (rule, from, to, id, problem) in WRONG {
        assert!(WELL.contains(from), "{from}");
        let findings = found(&WELL.replacen(from, to, 1));
        let is_it = |finding: &&LintFinding| {
            finding.rule == rule && finding.id == id && finding.problem.contains(problem)
        };
        assert!(findings.iter().any(|finding| is_it(&finding)), "{rule}: {findings:#?}");
    }
    for rule in rules() {
        assert!(WRONG.iter().any(|wrong| wrong.0 == rule), "{rule}");
    }
}

#[test]
fn names_that_may_be_meant_are_said() {
    let findings = found(&WELL.replacen(r#"id="w1" name="host_memory""#, r#"id="w1" name="hv_memory""#, 1));
    let finding = findings.iter().find(|finding| finding.rule == "unknown-capacity").unwrap();
    assert!(finding.advice.ends_with("(known: host_memory)"), "{finding:?}");
}

#[test]
fn what_only_looks_like_it_is_no_matter() {
    let fine = [
        // The rule expires by itself.
        r##"<rsc_location id="cli-ban-web-on-beta" rsc="web"><rule id="r" score="-INFINITY"><expression id="e" attribute="#uname" operation="eq" value="beta"/><date_expression id="d" operation="lt" end="2000-01-01"/></rule></rsc_location>"##,
        r#"<rsc_order id="x" first="db" then="web"/>"#,
    ];
    for constraint in fine {
        assert_eq!(found(&WELL.replacen("<constraints>", &format!("<constraints>{constraint}"), 1)), []);
    }
    // These orders agree with the order of the group's members.
    let group = r#"<group id="g"><primitive id="in" type="Dummy"/><primitive id="last" type="Dummy"/></group></resources><constraints>
<rsc_order id="x" first="in" then="db"/><rsc_order id="y" first="db" then="last"/>"#;
    assert_eq!(found(&WELL.replacen("</resources><constraints>", group, 1)), []);
}

/// A promoted pair with its file system and address.
#[test]
fn promotable_clones_as_they_should_be() {
    let about = ["promoted-max", "role-not-named", "no-promotion-order", "no-notify", "no-such-role"];
    let pair = r#"<clone id="data"><meta_attributes id="m"><nvpair id="m0" name="promotable" value="true"/><nvpair id="m1" name="notify" value="true"/><nvpair id="m2" name="promoted-max" value="2"/></meta_attributes><primitive id="disk" class="ocf" provider="linbit" type="drbd"/></clone><group id="all"><primitive id="fs" class="ocf" provider="heartbeat" type="Filesystem"/><primitive id="ip" class="ocf" provider="heartbeat" type="IPaddr2"/></group></resources><constraints><rsc_colocation id="k" rsc="all" with-rsc="data" with-rsc-role="Promoted" score="INFINITY"/><rsc_order id="o9" first="data" first-action="promote" then="fs" then-action="start"/>"#;
    let findings = found(&WELL.replacen("</resources><constraints>", pair, 1));
    assert!(!findings.iter().any(|finding| about.contains(&finding.rule)), "{findings:#?}");
    // The same order, as sets, and in the words of older releases.
    let sets = r#"<rsc_order id="o9"><resource_set id="s1" action="promote"><resource_ref id="data"/></resource_set><resource_set id="s2" action="start"><resource_ref id="all"/></resource_set></rsc_order>"#;
    let order = r#"<rsc_order id="o9" first="data" first-action="promote" then="fs" then-action="start"/>"#;
    let pair = pair.replace(order, sets).replace("with-rsc-role=\"Promoted\"", "with-rsc-role=\"Master\"");
    let findings = found(&WELL.replacen("</resources><constraints>", &pair, 1));
    assert!(!findings.iter().any(|finding| about.contains(&finding.rule)), "{findings:#?}");
}

#[test]
fn a_known_ticket_may_be_lost() {
    let known = WELL
        .replacen("<constraints>", r#"<constraints><rsc_ticket id="x" rsc="web" ticket="siteA"/>"#, 1)
        .replacen("<status>", r#"<status><tickets><ticket_state id="siteA" granted="true"/></tickets>"#, 1);
    assert_eq!(found(&known), []);
    let mistyped = found(&known.replacen(r#"id="siteA""#, r#"id="siteB""#, 1));
    let finding = mistyped.iter().find(|finding| finding.rule == "ticket-never-granted").unwrap();
    assert!(finding.advice.ends_with("(known: siteB)"), "{finding:?}");
}

#[test]
fn what_is_no_document_is_an_error() {
    assert!(lint("<cib/>", "made up", &|_, _| String::new()).is_err());
    assert!(lint("", "made up", &|_, _| String::new()).is_err());
}
