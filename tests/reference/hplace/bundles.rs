//! Bundles, added to the CIBs of other clusters.

use std::fmt::Write;

use htools::generate::random::Random;

use super::cib::cib_text::{attributes, history};

const CONTAINER: &str = r#"class="ocf" provider="heartbeat" type="podman""#;
const REMOTE: &str = r#"class="ocf" provider="pacemaker" type="remote""#;
const DUMMY: &str = r#"class="ocf" provider="pacemaker" type="Dummy""#;
/// Histories without it say nothing about changed parameters.
const DIGEST: &str = r#" op-digest="f2317cad3d54cec5d7d7aa7d0bf35cf8""#;

/// The same CIB with a bundle, which other resources want to be with or after, or which itself wants that.
pub fn with_bundle(xml: &str, random: &mut Random) -> String {
    let others = alone(xml);
    let replicas = 1 + random.below(3);
    let has_inner = random.chance(0.7);
    let mut bundle = String::from(r#"<bundle id="web">"#);
    let mut pairs = Vec::new();
    if random.chance(0.3) {
        pairs.push(("resource-stickiness", (*random.pick(&["1", "100"])).to_owned()));
    }
    if random.chance(0.2) {
        pairs.push(("priority", "5".to_owned()));
    }
    attributes(&mut bundle, "meta_attributes", "web-m", &pairs);
    let _ = write!(
        bundle,
        r#"<podman image="x" replicas="{replicas}"/><network control-port="3121"/>{}</bundle>"#,
        if has_inner { format!(r#"<primitive id="inside" {DUMMY}/>"#) } else { String::new() }
    );
    let (before, after) = ("<resources>", "</resources>");
    let mut text = match random.chance(0.5) {
        true => xml.replacen(before, &format!("{before}{bundle}"), 1),
        false => xml.replacen(after, &format!("{bundle}{after}"), 1),
    };
    let nodes = nodes(&text);
    let mut taken: Vec<&String> = Vec::new();
    let mut states = String::new();
    for number in 0..replicas {
        let host = random.pick(&nodes);
        if taken.contains(&host) || random.chance(0.3) {
            continue;
        }
        taken.push(host);
        let mut histories = String::new();
        history(&mut histories, 30 + number, (&format!("web-podman-{number}"), CONTAINER), host, true);
        if has_inner && random.chance(0.9) {
            let node = format!("web-{number}");
            history(&mut histories, 40 + number, (&node, REMOTE), host, true);
            let mut inside = String::new();
            history(&mut inside, 50 + number, ("inside", DUMMY), &node, true);
            let _ = write!(
                states,
                r#"<node_state id="{node}" uname="{node}" remote_node="true" in_ccm="true"><lrm id="{node}"><lrm_resources>{}</lrm_resources></lrm></node_state>"#,
                inside.replace(DIGEST, "")
            );
        }
        text = with_histories(&text, host, &histories.replace(DIGEST, ""));
    }
    text = text.replacen("</status>", &format!("{states}</status>"), 1);
    constrained(&text, &others, &nodes, random)
}

/// The primitives outside of groups and clones that are no fencing devices.
fn alone(xml: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in xml.match_indices("<primitive ") {
        let is_inside = ["clone", "group"]
            .iter()
            .any(|whole| xml[..at].rfind(&format!("<{whole} ")) > xml[..at].rfind(&format!("</{whole}>")));
        let head = xml[at..].split_inclusive('>').next().unwrap_or_default();
        if !is_inside && !head.contains(r#"class="stonith""#) {
            found.push(head.split('"').nth(1).unwrap_or_default().to_owned());
        }
    }
    found
}

/// The nodes that have a list of histories.
fn nodes(xml: &str) -> Vec<String> {
    let states = xml.split("<node_state ").skip(1).filter(|state| state.contains("<lrm_resources>"));
    let name = |state: &str| Some(state.split_once(r#"uname=""#)?.1.split('"').next()?.to_owned());
    states.filter_map(name).collect()
}

/// The same CIB with further histories on a node.
fn with_histories(xml: &str, host: &str, histories: &str) -> String {
    const LIST: &str = "<lrm_resources>";
    let state = xml.match_indices("<node_state ").map(|(at, _)| at).find(|at| {
        let head = xml[*at..].split('>').next().unwrap_or_default();
        head.contains(&format!(r#"uname="{host}""#))
    });
    match state.and_then(|at| xml[at..].find(LIST).map(|list| at + list + LIST.len())) {
        Some(at) => format!("{}{histories}{}", &xml[..at], &xml[at..]),
        None => xml.to_owned(),
    }
}

/// The same CIB with constraints of the bundle. Colocations have it on one side only, and form no circle.
fn constrained(xml: &str, others: &[String], nodes: &[String], random: &mut Random) -> String {
    let mut added = String::new();
    if random.chance(0.5) {
        let (node, score) = (random.pick(nodes), random.pick(&["5", "200", "-10", "-INFINITY"]));
        let _ = write!(added, r#"<rsc_location id="wl" rsc="web" node="{node}" score="{score}"/>"#);
    }
    let is_dependent = random.chance(0.4);
    for (at, other) in others.iter().enumerate() {
        let (first, second) = if is_dependent { ("web", other.as_str()) } else { (other.as_str(), "web") };
        if random.chance(0.3) {
            let score = random.pick(&["10", "1000", "-10", "-100", "INFINITY", "-INFINITY"]);
            let _ = write!(
                added,
                r#"<rsc_colocation id="wc{at}" rsc="{first}" with-rsc="{second}" score="{score}"/>"#
            );
        }
        if random.chance(0.1) {
            let kind = random.pick(&["Mandatory", "Optional"]);
            let _ =
                write!(added, r#"<rsc_order id="wo{at}" first="{second}" then="{first}" kind="{kind}"/>"#);
        }
    }
    xml.replacen("</constraints>", &format!("{added}</constraints>"), 1)
}
