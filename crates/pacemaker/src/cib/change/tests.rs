//! Changes to documents, made and undone.

use super::*;

fn pin(id: &str, resource: &str, node: &str) -> LocationPin {
    LocationPin { id: id.to_owned(), resource: resource.to_owned(), node: node.to_owned(), promoted: false }
}

fn cib(constraints: &str) -> String {
    format!(
        r#"<cib><configuration><crm_config/><nodes><node id="1" uname="a"/></nodes><resources/>{constraints}</configuration><status/></cib>"#
    )
}

#[test]
fn constraints_come_and_go() {
    let ours = pin("hplace-r", "r&\"<\n", "a");
    let xml = r#"<rsc_location id="hplace-r" rsc="r&amp;&quot;&lt;&#10;" node="a" score="INFINITY"/>"#;
    let other = r#"<rsc_location id="x" rsc="r" node="a" score="INFINITY"/>"#;
    for (before, after) in [
        (String::new(), format!("<constraints>{xml}</constraints>")),
        ("<constraints/>".to_owned(), format!("<constraints>{xml}</constraints>")),
        ("<constraints></constraints >".to_owned(), format!("<constraints>{xml}</constraints >")),
        (format!("<constraints>{other}</constraints>"), format!("<constraints>{other}{xml}</constraints>")),
        (
            r#"<constraints><rsc_location id="hplace-r" rsc="r" node="b" score="7"/></constraints>"#
                .to_owned(),
            format!("<constraints>{xml}</constraints>"),
        ),
    ] {
        let change = CibChange::Pin(vec![ours.clone()]);
        assert!(!change.is_made_in(&cib(&before), "t").unwrap());
        let made = change.made_in(&cib(&before), "t").unwrap();
        assert_eq!(made, cib(&after));
        assert!(change.is_made_in(&made, "t").unwrap());
        assert_eq!(PinSurvey::of(&made, "t").unwrap().pins, std::slice::from_ref(&ours));
        let back = CibChange::Unpin(vec![ours.clone()]);
        assert!(!back.is_made_in(&made, "t").unwrap());
        let gone = back.made_in(&made, "t").unwrap();
        assert_eq!(gone, cib(&after.replace(xml, "")));
        assert!(back.is_made_in(&gone, "t").unwrap());
    }
}

#[test]
fn ids_are_names_and_never_collide() {
    let text = cib(
        r#"<constraints><rsc_order id="hplace-a"/><rsc_location id="hplace-b" rsc="b" node="a" score="INFINITY"/><rsc_location id="hplace-c" rsc="c" node="a" score="5"/></constraints>"#,
    );
    let mut survey = PinSurvey::of(&text, "t").unwrap();
    let ids: Vec<String> =
        ["a", "b", "c", "d:é", "d__", "d__"].iter().map(|name| survey.id_for(name, false)).collect();
    let wanted = ["hplace-a-2", "hplace-b", "hplace-c-2", "hplace-d__", "hplace-d__-2", "hplace-d__-3"];
    assert_eq!(ids, wanted);
}

#[test]
fn a_document_is_looked_at_another_time() {
    let now = Timestamp::from_second(1_710_325_800).unwrap();
    let dated = |text: &str| super::dated(text, "x", now).unwrap();
    for (text, wanted) in [
        ("<cib/>", r#"<cib execution-date="1710325800"/>"#),
        ("<!--<cib>--><cib><a/></cib>", r#"<!--<cib>--><cib execution-date="1710325800"><a/></cib>"#),
        ("<cib\nx='1'/>", "<cib execution-date=\"1710325800\"\nx='1'/>"),
        (r#"<cib execution-date="7" x="1"/>"#, r#"<cib execution-date="1710325800" x="1"/>"#),
    ] {
        assert_eq!(dated(text), wanted);
    }
}

#[test]
fn nodes_go_to_standby_and_back() {
    let on = r#"<nvpair id="nodes-1-standby" name="standby" value="on"/>"#;
    let change = CibChange::Standby("a".to_owned());
    for (inside, after) in [
        ("", format!(r#"<instance_attributes id="nodes-1">{on}</instance_attributes>"#)),
        (
            r#"<instance_attributes id="x"/>"#,
            format!(r#"<instance_attributes id="x">{on}</instance_attributes>"#),
        ),
        (
            r#"<instance_attributes id="x"><nvpair id="y" name="standby" value="off"/></instance_attributes>"#,
            format!(r#"<instance_attributes id="x">{on}</instance_attributes>"#),
        ),
    ] {
        let with = |inside: &str| {
            cib("")
                .replace(r#"<node id="1" uname="a"/>"#, &format!(r#"<node id="1" uname="a">{inside}</node>"#))
        };
        let made = change.made_in(&with(inside), "t").unwrap();
        assert_eq!(made, with(&after));
        assert!(change.is_made_in(&made, "t").unwrap());
        let back = CibChange::Online("a".to_owned());
        let undone = back.made_in(&made, "t").unwrap();
        assert!(back.is_made_in(&undone, "t").unwrap() && !change.is_made_in(&undone, "t").unwrap());
    }
    assert!(change.made_in(&cib(""), "t").unwrap().contains(on));
    let error = CibChange::Standby("b\n".to_owned()).made_in(&cib(""), "t").unwrap_err();
    assert_eq!(error.to_string(), "t: there is no node 'b\\n'");
}

#[test]
fn changes_are_made_together() {
    let pin = CibChange::Pin(vec![pin("hplace-r", "r", "a")]);
    let both = CibChange::Together(vec![pin.clone(), CibChange::Standby("a".to_owned())]);
    assert_eq!(both.to_string(), "set 1 constraint, put a in standby");
    let before = cib("<constraints/>");
    let made = both.made_in(&before, "t").unwrap();
    assert!(both.is_made_in(&made, "t").unwrap());
    assert!(!both.is_made_in(&pin.made_in(&before, "t").unwrap(), "t").unwrap());
    assert!(both.made_in(&made, "t").unwrap() == made);
    let nowhere = CibChange::Together(vec![pin, CibChange::Online("b".to_owned())]);
    assert!(nowhere.made_in(&before, "t").unwrap_err().to_string().contains("there is no node 'b'"));
    assert!(CibChange::Together(vec![CibChange::Pin(Vec::new())]).is_empty());
}
