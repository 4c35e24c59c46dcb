//! Remote nodes, added to the CIBs of other clusters.

use std::fmt::Write;

use htools::generate::random::Random;

use super::cib::cib_text::history;
use super::guests::{REMOTE, candidates, located, moved, with_element};

/// The same CIB with one or two remote nodes. Some primitives run there or prefer them.
pub fn with_remote_nodes(xml: &str, random: &mut Random) -> String {
    let names = &["away", "far"][..1 + random.below(2)];
    let mut text = xml.to_owned();
    let others = candidates(xml);
    let mut states = String::new();
    for name in names {
        let connection = format!(r#"<primitive id="{name}" {REMOTE}/>"#);
        text = text.replacen("</resources>", &format!("{connection}\n</resources>"), 1);
        text = with_element(&text, name, random);
        text = with_connection(&text, name, random);
        let mut histories = String::new();
        for other in &others {
            if random.chance(0.3) {
                text = moved(&text, &other.id, name, &mut histories);
            }
        }
        let _ = writeln!(
            states,
            r#"<node_state id="{name}" uname="{name}" remote_node="true"><lrm id="{name}"><lrm_resources>{histories}</lrm_resources></lrm></node_state>"#
        );
    }
    text = text.replacen("</status>", &format!("{states}</status>"), 1);
    located(&text, names, random)
}

/// The same CIB in which a connection usually runs on a node that is online.
fn with_connection(xml: &str, name: &str, random: &mut Random) -> String {
    const STATE: &str = r#" uname=""#;
    let starts = xml.match_indices("<node_state ").map(|(at, _)| at);
    let online: Vec<usize> = starts
        .filter(|at| xml[*at..].split('>').next().is_some_and(|tag| tag.contains(r#"crmd="online""#)))
        .collect();
    if online.is_empty() || random.chance(0.15) {
        return xml.to_owned();
    }
    let (before, state) = xml.split_at(*random.pick(&online));
    let host = state.split_once(STATE).and_then(|(_, rest)| rest.split('"').next()).unwrap_or_default();
    let mut started = String::new();
    history(&mut started, 900, (name, REMOTE), host, true);
    let list = "<lrm_resources>";
    format!("{before}{}", state.replacen(list, &format!("{list}{started}"), 1))
}
