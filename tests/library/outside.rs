//! Clusters whose answer hplace does not know are refused by name.

use std::fs;

use htools::pacemaker::WorkingSet;
use htools::pacemaker::cib::{self, GuestReading};

use crate::transition::planned;

/// A cluster of two nodes with resources, constraints, and the history of the first node.
fn cluster(resources: &str, constraints: &str, history: &str) -> WorkingSet {
    let state = |number: usize, lrm: &str| {
        format!(
            r#"<node_state id="{number}" uname="n{number}" in_ccm="true" crmd="online" join="member" expected="member">{lrm}</node_state>"#
        )
    };
    let lrm = format!(r#"<lrm id="1"><lrm_resources>{history}</lrm_resources></lrm>"#);
    let text = format!(
        r#"<cib have-quorum="1" crm_feature_set="3.16.1"><configuration><crm_config><cluster_property_set id="o"><nvpair id="f" name="stonith-enabled" value="false"/></cluster_property_set></crm_config>
        <nodes><node id="1" uname="n1"/><node id="2" uname="n2"/></nodes><resources>{resources}</resources>
        <constraints>{constraints}</constraints></configuration><status>{}{}</status></cib>"#,
        state(1, &lrm),
        state(2, "")
    );
    cib::read_with(text.as_bytes(), "t", GuestReading::Followed).unwrap()
}

fn reasons(set: &WorkingSet) -> Vec<&str> {
    set.unsupported.iter().map(|one| one.reason.as_str()).collect()
}

fn primitive(id: &str) -> String {
    format!(r#"<primitive id="{id}" class="ocf" provider="pacemaker" type="Dummy"/>"#)
}

/// The history of a started resource; `more` are further attributes of its start.
fn started(id: &str, kind: &str, more: &str) -> String {
    format!(
        r#"<lrm_resource id="{id}" class="ocf" provider="pacemaker" type="{kind}"><lrm_rsc_op id="{id}_last_0" operation="start" call-id="1" interval="0" transition-key="1:1:0:x" {more}/></lrm_resource>"#
    )
}

/// No Pacemaker writes such operations, so their meaning for it is chance.
#[test]
fn operations_as_pacemaker_does_not_write_them_are_refused() {
    const SOUND: &str = r#"op-status="0" rc-code="0""#;
    let garbled = |history: &str| {
        let set = cluster(&primitive("a"), "", history);
        reasons(&set).iter().any(|reason| reason.ends_with("Pacemaker would not write so"))
    };
    assert!(!garbled(&started("a", "Dummy", SOUND)));
    for more in [
        r#"op-status="later" rc-code="0""#,
        r#"op-status="100" rc-code="0""#,
        r#"op-status="-100" rc-code="0""#,
        r#"op-status="0" rc-code="-1""#,
        r#"op-status="0" rc-code="nothing""#,
        r#"op-status="0" rc-code="""#,
        r#"rc-code="0""#,
        r#"op-status="0""#,
    ] {
        assert!(garbled(&started("a", "Dummy", more)), "{more}");
    }
    let sound = started("a", "Dummy", SOUND);
    assert!(garbled(&sound.replace(r#"interval="0""#, r#"interval="10000""#)));
    assert!(!garbled(
        &sound.replace(r#""start""#, r#""monitor""#).replace(r#"interval="0""#, r#"interval="10000""#)
    ));
    assert!(garbled(&sound.replace(r#""start""#, r#""migrate_to""#)));
    let ends = r#"migrate_source="n1" migrate_target="n2" "#;
    assert!(!garbled(&sound.replace(r#""start""#, &format!(r#""migrate_to" {ends}"#))));
}

/// An operation on an unknown node is refused, unless all nodes have got other names.
#[test]
fn operations_on_nodes_that_are_not_there_are_refused() {
    let on = |first: &str, second: &str| {
        let history: String = [("a", first), ("b", second)]
            .iter()
            .map(|(id, node)| started(id, "Dummy", &format!(r#"op-status="0" rc-code="0" on_node="{node}""#)))
            .collect();
        let set = cluster(&(primitive("a") + &primitive("b")), "", &history);
        reasons(&set).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(on("n1", "n1").is_empty() && on("n2", "n1").is_empty());
    for strange in ["x", ""] {
        assert_eq!(on("n1", strange), ["an operation on a node that is not there"]);
    }
    assert!(on("old1", "old2").is_empty());
    // Those of the connection to a guest node count, too.
    let text = fs::read_to_string("tests/fixtures/pacemaker/guests/connection-broke.xml").unwrap();
    let elsewhere = |line: &str| match line.contains(r#"<lrm_rsc_op id="lxc2_"#) {
        true => line.replace(r#"on_node="18node"#, r#"on_node="x"#),
        false => line.to_owned(),
    };
    let text: String = text.lines().map(elsewhere).collect();
    let set = cib::read_with(text.as_bytes(), "t", GuestReading::Followed).unwrap();
    assert_eq!(reasons(&set), ["an operation on a node that is not there"]);
}

/// hplace knows how the restart of an instance for another agent affects others if its clone is alone or before plain
/// resources. It refuses chains of clones.
#[test]
fn instances_of_another_agent_are_refused_in_chains() {
    let clone = |id: &str, inner: &str| {
        format!(
            r#"<clone id="{id}"><meta_attributes id="{id}-m"><nvpair id="{id}-i" name="interleave" value="true"/></meta_attributes>{}</clone>"#,
            primitive(inner)
        )
    };
    let order = |first: &str, then: &str| {
        format!(r#"<rsc_order id="{first}-{then}" first="{first}" then="{then}"/>"#)
    };
    let resources = clone("c", "p") + &clone("d", "q") + &clone("e", "r") + &primitive("z");
    let is_refused = |constraints: &str| {
        let set = cluster(&resources, constraints, &started("p", "Other", r#"op-status="0" rc-code="0""#));
        let reasons = reasons(&set);
        reasons == ["an instance that runs by another agent than the configured one, which concerns others"]
    };
    assert!(!is_refused("") && !is_refused(&order("c", "z")) && !is_refused(&order("c", "d")));
    assert!(is_refused(&(order("c", "d") + &order("d", "e"))));
    assert!(is_refused(&(order("c", "d") + &order("d", "z"))));
    assert!(!is_refused(&(order("d", "e") + &order("e", "z"))));
}

/// Orders of actions that are not known.
#[test]
fn orders_that_are_not_known_have_a_reason() {
    let changes = |name: &str| {
        let text = fs::read_to_string(format!("tests/fixtures/pacemaker/{name}.xml")).unwrap();
        let (set, _, plan) = planned(&text, name);
        (plan.changes.without_clone(&set).is_some(), set.lone_connection().is_some())
    };
    assert_eq!(changes("promoted/no-limit-for-an-unmanaged-clone"), (true, false));
    assert_eq!(changes("clones/managed-in-an-unmanaged-clone"), (false, false));
    assert_eq!(changes("guests/runs"), (false, false));
    let text = fs::read_to_string("tests/fixtures/pacemaker/guests/connection-broke.xml").unwrap();
    // The history of the VM is that of another resource.
    let alone = text.replace(r#"<lrm_resource id="container1""#, r#"<lrm_resource id="other""#);
    for (document, is_alone) in [(&text, false), (&alone, true)] {
        let set = cib::read_with(document.as_bytes(), "t", GuestReading::Followed).unwrap();
        assert_eq!(set.lone_connection().is_some(), is_alone);
        let is_refused = reasons(&set)
            == ["the machine of a guest node that does not run, while the connection to it has failed"];
        assert_eq!(is_refused, is_alone);
    }
}
