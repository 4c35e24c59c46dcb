//! Rare features, added to the CIBs of other clusters.

use htools::generate::random::Random;

/// The same CIB in which some groups are unordered, or not colocated if they are outside clones.
pub fn with_loose_groups(xml: &str, random: &mut Random) -> String {
    each(xml, "<group ", |before, group| {
        let is_cloned = before.rfind("<clone ") > before.rfind("</clone>");
        let pairs: String = [("ordered", 0.5), ("collocated", if is_cloned { 0.0 } else { 0.2 })]
            .into_iter()
            .filter(|(_, chance)| random.chance(*chance))
            .map(|(name, _)| format!(r#"<nvpair id="{group}-{name}" name="{name}" value="false"/>"#))
            .collect();
        format!(r#"<meta_attributes id="{group}-loose">{pairs}</meta_attributes>"#)
    })
}

/// The same CIB in which some locations limit the discovery of resources.
pub fn with_discovery(xml: &str, random: &mut Random) -> String {
    const TAG: &str = "<rsc_location ";
    let mut parts = xml.split(TAG);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let word = *random.pick(&["exclusive", "exclusive", "never", "always"]);
        let word =
            if random.chance(0.3) { format!(r#"resource-discovery="{word}" "#) } else { String::new() };
        text = text + TAG + &word + part;
    }
    text
}

/// The same CIB, sometimes without quorum.
pub fn without_quorum(xml: &str, random: &mut Random) -> String {
    if random.chance(0.8) {
        return xml.to_owned();
    }
    const SET: &str = r#"<cluster_property_set id="o">"#;
    let word = random.pick(&["stop", "freeze", "demote", "ignore"]);
    let policy = format!(r#"{SET}<nvpair id="o-nqp" name="no-quorum-policy" value="{word}"/>"#);
    xml.replacen(r#"have-quorum="1""#, r#"have-quorum="0""#, 1).replacen(SET, &policy, 1)
}

/// The same CIB in which some resources need tickets, some of them for a role.
pub fn with_tickets(xml: &str, random: &mut Random) -> String {
    let mut rules = String::new();
    for tag in ["<primitive ", "<group ", "<clone "] {
        each(xml, tag, |before, id| {
            let is_cloned = before.rfind("<clone ") > before.rfind("</clone>");
            if (tag == "<clone " || !is_cloned) && random.chance(0.4) {
                let policy = random.pick(&["stop", "demote", "fence", "freeze", "freeze"]);
                let ticket = random.pick(&["here", "there", "never"]);
                let role =
                    random.pick(&["", "", "", "Started", "Promoted", "Promoted", "Unpromoted", "Stopped"]);
                let role = if role.is_empty() { String::new() } else { format!(r#" rsc-role="{role}""#) };
                rules += &format!(
                    r#"<rsc_ticket id="{id}-{ticket}" rsc="{id}"{role} ticket="{ticket}" loss-policy="{policy}"/>"#
                );
            }
            String::new()
        });
    }
    let state = |ticket: &str, random: &mut Random| {
        let [granted, standby] = [0.5, 0.2].map(|chance| random.chance(chance));
        format!(r#"<ticket_state id="{ticket}" granted="{granted}" standby="{standby}"/>"#)
    };
    let states: String = ["here", "there"].iter().map(|ticket| state(ticket, random)).collect();
    xml.replacen("</constraints>", &format!("{rules}</constraints>"), 1).replacen(
        "</status>",
        &format!("<tickets>{states}</tickets></status>"),
        1,
    )
}

/// The same CIB in which instances of some clones are told apart. On each node, the status tells of another instance.
pub fn with_told_apart(xml: &str, random: &mut Random) -> String {
    let mut unique: Vec<String> = Vec::new();
    let mut is_unique = false;
    each(xml, "<", |before, id| {
        let tag = &before[before.rfind('<').unwrap_or_default()..];
        if tag.starts_with("<clone ") {
            is_unique = random.chance(0.7);
            if is_unique {
                unique.push(id.to_owned());
            }
        } else if tag.starts_with("</clone>") {
            is_unique = false;
        } else if tag.starts_with("<primitive ") && is_unique {
            unique.push(id.to_owned());
        }
        String::new()
    });
    let text = each(xml, "<clone ", |_, clone| {
        if !unique.iter().any(|one| one == clone) {
            return String::new();
        }
        let most = 1 + random.below(3);
        let pair = |name: &str, value: &str| {
            format!(r#"<nvpair id="{clone}-{name}" name="{name}" value="{value}"/>"#)
        };
        let pairs = pair("globally-unique", "true") + &pair("clone-node-max", &most.to_string());
        format!(r#"<meta_attributes id="{clone}-unique">{pairs}</meta_attributes>"#)
    });
    const STATE: &str = "<node_state ";
    let mut states = text.split(STATE);
    let mut told = states.next().unwrap_or_default().to_owned();
    for (number, state) in states.enumerate() {
        let mut state = state.to_owned();
        for one in &unique {
            let (old, new) =
                (format!(r#"<lrm_resource id="{one}""#), format!(r#"<lrm_resource id="{one}:{number}""#));
            state = state.replace(&old, &new);
        }
        told = told + STATE + &state;
    }
    told
}

/// Inserts text after each tag that begins with `tag`. The text depends on everything before it and on the tag's id.
pub(super) fn each(xml: &str, tag: &str, mut more: impl FnMut(&str, &str) -> String) -> String {
    let mut text = String::new();
    let mut rest = xml;
    while let Some(at) = rest.find(tag) {
        let end = at + rest[at..].find('>').map_or(0, |end| end + 1);
        let id = rest[at..end].split('"').nth(1).unwrap_or_default();
        text.push_str(&rest[..end]);
        let added = more(&text, id);
        text.push_str(&added);
        rest = &rest[end..];
    }
    text + rest
}
