//! Guest nodes, added to the CIBs of other clusters.

use std::fmt::Write;

use htools::generate::random::Random;

use super::cib::RACKS;
use super::cib::cib_text::{attributes, history};

/// The agent of connections to guest nodes.
pub(super) const REMOTE: &str = r#"class="ocf" provider="pacemaker" type="remote""#;

/// A primitive outside clones that is no fencing device, with its guest node, if it has one.
pub(super) struct Candidate {
    pub(super) id: String,
    /// Its start tag.
    head: String,
    guest: Option<&'static str>,
}

/// The same CIB in which some primitives are guest nodes. Others run there or prefer them.
pub fn with_guests(xml: &str, failures: bool, random: &mut Random) -> String {
    let mut candidates = candidates(xml);
    let mut names = ["a1", "g-2", "x1", "zed"];
    random.shuffle(&mut names);
    random.shuffle(&mut candidates);
    let count = 1 + random.below(3);
    for (candidate, name) in candidates.iter_mut().zip(names).take(count) {
        candidate.guest = Some(name);
    }
    let (machines, others): (Vec<Candidate>, Vec<Candidate>) =
        candidates.into_iter().partition(|one| one.guest.is_some());
    let mut text = xml.to_owned();
    for (machine, guest) in guests(&machines) {
        let (id, head) = (&machine.id, &machine.head);
        let mut meta = String::new();
        attributes(
            &mut meta,
            "meta_attributes",
            &format!("{id}-guest"),
            &[("remote-node", guest.to_owned())],
        );
        text = text.replacen(head, &format!("{head}{meta}"), 1);
    }
    let mut states: Vec<(&str, String)> =
        guests(&machines).map(|(_, guest)| (guest, String::new())).collect();
    for (machine, guest) in guests(&machines) {
        text = with_element(&text, guest, random);
        text = with_connection(&text, &machine.id, guest, failures, random);
    }
    for other in &others {
        if !states.is_empty() && random.chance(0.4) {
            let at = random.below(states.len());
            let (guest, state) = &mut states[at];
            text = moved(&text, &other.id, guest, state);
        }
    }
    random.shuffle(&mut states);
    let mut told = String::new();
    for (guest, histories) in states {
        if histories.is_empty() && random.chance(0.2) {
            continue;
        }
        let mut counted = String::new();
        if let Some(other) = others.first().filter(|_| random.chance(0.1)) {
            let pair = (format!("fail-count-{}#monitor_10000", other.id), "INFINITY".to_owned());
            attributes(&mut counted, "instance_attributes", &format!("s-{guest}"), &[(&pair.0, pair.1)]);
        }
        let _ = writeln!(
            told,
            r#"<node_state id="{guest}" uname="{guest}" remote_node="true"><transient_attributes id="{guest}">{counted}</transient_attributes><lrm id="{guest}"><lrm_resources>{histories}</lrm_resources></lrm></node_state>"#
        );
    }
    text = text.replacen("</status>", &format!("{told}</status>"), 1);
    let names: Vec<&str> = guests(&machines).map(|(_, guest)| guest).collect();
    located(&text, &names, random)
}

fn guests(machines: &[Candidate]) -> impl Iterator<Item = (&Candidate, &'static str)> {
    machines.iter().filter_map(|machine| Some((machine, machine.guest?)))
}

pub(super) fn candidates(xml: &str) -> Vec<Candidate> {
    const TAG: &str = "<primitive ";
    let mut found = Vec::new();
    for (at, _) in xml.match_indices(TAG) {
        let is_cloned = xml[..at].rfind("<clone ") > xml[..at].rfind("</clone>");
        let head = xml[at..].split_inclusive('>').next().unwrap_or_default();
        let id = head.split('"').nth(1).unwrap_or_default();
        if !is_cloned && !head.contains(r#"class="stonith""#) {
            found.push(Candidate { id: id.to_owned(), head: head.to_owned(), guest: None });
        }
    }
    found
}

/// The same CIB with the guest node possibly in the list of nodes.
pub(super) fn with_element(xml: &str, guest: &str, random: &mut Random) -> String {
    if random.chance(0.4) {
        return xml.to_owned();
    }
    let mut node = format!(r#"<node id="{guest}" uname="{guest}" type="remote">"#);
    let mut pairs = Vec::new();
    if random.chance(0.5) {
        pairs.push(("rack", (*random.pick(&RACKS)).to_owned()));
    }
    if random.chance(0.06) {
        pairs.push(("standby", "on".to_owned()));
    }
    attributes(&mut node, "instance_attributes", &format!("n-{guest}"), &pairs);
    let amounts = [("cpu", (1 + random.below(12)).to_string())];
    attributes(&mut node, "utilization", &format!("n-{guest}"), &amounts);
    xml.replacen("</nodes>", &format!("{node}</node>\n</nodes>"), 1)
}

/// The same CIB in which the cluster is usually connected to a running machine.
fn with_connection(xml: &str, machine: &str, guest: &str, failures: bool, random: &mut Random) -> String {
    let begin = format!(r#"<lrm_resource id="{machine}" "#);
    let mut parts = xml.split(&begin);
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut connected = false;
    for part in parts {
        let (operations, rest) = part.split_once("</lrm_resource>").unwrap_or((part, ""));
        text.extend([&begin, operations, "</lrm_resource>"]);
        let runs = operations.contains(r#"operation="start""#);
        if runs && !std::mem::replace(&mut connected, true) && random.chance(0.92) {
            let host = on_node(operations);
            let mut started = String::new();
            history(&mut started, 2, (guest, REMOTE), host, true);
            if failures && random.chance(0.15) {
                let failed = format!(
                    r#"<lrm_rsc_op id="{guest}_3" operation_key="{guest}_monitor_30000" operation="monitor" crm_feature_set="3.16.1" transition-key="3:1:0:x" transition-magic="4:1;3:1:0:x" on_node="{host}" call-id="3" rc-code="1" op-status="4" interval="30000"/></lrm_resource>"#
                );
                started = started.replacen("</lrm_resource>", &failed, 1);
            }
            text.push_str(&started);
        }
        text.push_str(rest);
    }
    text
}

/// The node that the operations name.
fn on_node(operations: &str) -> &str {
    let (_, rest) = operations.split_once(r#"on_node=""#).unwrap_or_default();
    rest.split('"').next().unwrap_or_default()
}

/// The same CIB with a resource's history moved from its first active node to a guest node.
pub(super) fn moved(xml: &str, resource: &str, guest: &str, state: &mut String) -> String {
    const END: &str = "</lrm_resource>";
    let begin = format!(r#"<lrm_resource id="{resource}" "#);
    for (at, _) in xml.match_indices(&begin) {
        let end = xml[at..].find(END).map_or(xml.len(), |end| at + end + END.len());
        let operations = &xml[at..end];
        if operations.contains(r#"operation="start""#) {
            let host = on_node(operations);
            *state += &operations.replace(&format!(r#"on_node="{host}""#), &format!(r#"on_node="{guest}""#));
            return format!("{}{}", &xml[..at], &xml[end..]);
        }
    }
    xml.to_owned()
}

/// The same CIB in which some locations concern guest nodes, or distinguish them from other nodes.
pub(super) fn located(xml: &str, guests: &[&str], random: &mut Random) -> String {
    const TAG: &str = "<rsc_location ";
    let mut parts = xml.split(TAG);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(TAG);
        match part.split_once(r#" node=""#).filter(|_| !guests.is_empty() && random.chance(0.35)) {
            Some((before, rest)) => {
                let rest = rest.split_once('"').map_or("", |(_, rest)| rest);
                let node = format!(r#" node="{}""#, random.pick(guests));
                text.extend([before, &node, rest]);
            }
            None => text.push_str(part),
        }
    }
    if random.chance(0.3) {
        let resource = xml.match_indices(TAG).next().map(|(at, _)| &xml[at..]);
        let resource = resource.and_then(|tag| tag.split('"').nth(3)).unwrap_or_default().to_owned();
        let (kind, score) =
            (random.pick(&["container", "cluster"]), random.pick(&["INFINITY", "-INFINITY", "30"]));
        if !resource.is_empty() {
            let rule = format!(
                r##"<rsc_location id="lk" rsc="{resource}"><rule id="lkr" score="{score}"><expression id="lke" attribute="#kind" operation="eq" value="{kind}"/></rule></rsc_location>"##
            );
            text = text.replacen("</constraints>", &format!("{rule}</constraints>"), 1);
        }
    }
    text
}
