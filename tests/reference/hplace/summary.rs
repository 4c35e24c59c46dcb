//! Changes of resources, according to crm_simulate's summary and to hplace's document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::graph::Closure;

/// Actions on resources with their places, without the numbers of instances.
pub type Deeds = BTreeSet<(String, String)>;

/// Parses the end of crm_simulate's answer to `-s`.
pub fn theirs(answer: &str) -> Deeds {
    answer.lines().filter_map(deed).collect()
}

/// `Move  vm:0  ( n1 -> n2 )  due to ...`: a recovery counts as a move or a restart. Roles do
/// not count, but a promotion of a stopped instance is a start.
fn deed(line: &str) -> Option<(String, String)> {
    let (before, rest) = line.split_once('(')?;
    let (places, why) = rest.split_once(')')?;
    let mut words = before.split_whitespace();
    let (word, resource, None) = (words.next()?, words.next()?, words.next()) else { return None };
    let starts_promoted = word == "Promote" && places.contains("Stopped");
    let is_role = |word: &&str| ["Promoted", "Unpromoted", "Started", "Stopped"].contains(word);
    let place =
        |place: &str| place.split_whitespace().filter(|word| !is_role(word)).collect::<Vec<_>>().join(" ");
    let places: Vec<String> = places.split("->").map(place).filter(|place| !place.is_empty()).collect();
    let known = match word {
        "Promote" if starts_promoted => "start",
        "Recover" | "Restart" if places.len() == 2 => "move",
        "Recover" | "Restart" => "restart",
        "Start" => "start",
        "Stop" => "stop",
        "Move" => "move",
        "Migrate" => "migrate",
        _ => return None,
    };
    let text = match why.contains("blocked") {
        true => "blocked".to_owned(),
        false => format!("{known} {}", places.join(" ")),
    };
    Some((instance_of(resource), text))
}

/// Tells if an action of a graph precedes itself.
pub fn has_circle(graph: &Closure) -> bool {
    graph.order.iter().any(|(before, after)| before == after)
}

/// The changes of a graph that are carried out: those that wait for nothing, or only for what is carried out. Marks
/// carry only the order.
pub fn carried_out_of_graph(dot: &str) -> BTreeSet<String> {
    let mut waits: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut changes = BTreeSet::new();
    for line in dot.lines() {
        let parts: Vec<&str> = line.split('"').collect();
        match parts[..] {
            ["", before, " -> ", after, style] if style.contains("style = bold") => {
                waits.entry(after).or_default().push(before);
            }
            ["", name, ref style @ ..] if style.iter().any(|part| part.contains("style=bold")) => {
                waits.entry(name).or_default();
                if is_change(name) && !style.contains(&"orange") {
                    changes.insert(name);
                }
            }
            _ => {}
        }
    }
    let mut done: BTreeSet<&str> = BTreeSet::new();
    loop {
        let is_next = |name: &str, before: &Vec<&str>| {
            !done.contains(name) && before.iter().all(|one| done.contains(one) || !waits.contains_key(one))
        };
        let next: Vec<&str> =
            waits.iter().filter(|(name, before)| is_next(name, before)).map(|(name, _)| *name).collect();
        if next.is_empty() {
            break;
        }
        done.extend(next);
    }
    changes.intersection(&done).map(|name| bare(name)).collect()
}

/// Tells if an action changes a resource or fences a node.
fn is_change(name: &str) -> bool {
    const CHANGES: [&str; 6] =
        ["_start_0 ", "_stop_0 ", "_promote_0 ", "_demote_0 ", "_migrate_to_0 ", "_migrate_from_0 "];
    name.starts_with("stonith '") || CHANGES.iter().any(|change| name.contains(change))
}

/// `storage:1_start_0 node2` as `storage_start_0 node2`.
fn bare(action: &str) -> String {
    let Some((resource, rest)) = action.split_once(':') else { return action.to_owned() };
    format!("{resource}{}", rest.trim_start_matches(|letter: char| letter.is_ascii_digit()))
}

/// The changes that crm_simulate carries out, in the notation of its graph: `vm1_start_0 node2`.
pub fn carried_out(answer: &str) -> BTreeSet<String> {
    let action = |line: &str| {
        if let Some(fencing) = line.strip_prefix("Fencing ") {
            let (node, kind) = fencing.split_once(" (")?;
            return Some(format!("stonith '{}' {node}", kind.trim_end_matches(')')));
        }
        let mut words = line.strip_prefix("Resource action: ")?.split_whitespace();
        let (resource, action, "on", node) = (words.next()?, words.next()?, words.next()?, words.next()?)
        else {
            return None;
        };
        let is_change =
            ["start", "stop", "promote", "demote", "migrate_to", "migrate_from"].contains(&action);
        is_change.then(|| format!("{}_{action}_0 {node}", instance_of(resource)))
    };
    answer.lines().filter_map(action).collect()
}

/// Reads the document of hplace's `--json`.
pub fn ours(document: &Value) -> Deeds {
    let resources = document["resources"].as_array().into_iter().flatten();
    resources.flat_map(own_deeds).collect()
}

fn own_deeds(resource: &Value) -> Vec<(String, String)> {
    let text = |key: &str| resource[key].as_str().unwrap_or_default();
    let also = resource["also_on"].as_array().into_iter().flatten();
    let was: Vec<&str> = resource["was"].as_str().into_iter().chain(also.filter_map(Value::as_str)).collect();
    let (action, node) = (text("action"), text("node"));
    let deeds = match action {
        "none" | "promote" | "demote" => Vec::new(),
        "start" if was == [node] => vec!["goes on".to_owned()],
        "start" | "restart" => vec![format!("{action} {node}")],
        "stop" => was.iter().map(|host| format!("stop {host}")).collect(),
        "move" | "migrate" => vec![format!("{action} {} {node}", was.first().unwrap_or(&""))],
        _ => vec!["blocked".to_owned()],
    };
    deeds.into_iter().map(|deed| (instance_of(text("id")), deed)).collect()
}

fn instance_of(name: &str) -> String {
    match name.rsplit_once(':') {
        Some((base, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => base.to_owned(),
        _ => name.to_owned(),
    }
}

/// The first action that only one of the two reports. crm_simulate need not report blocked resources. It reports a
/// continuing start as nothing or as a restart.
pub fn difference(theirs: &Deeds, ours: &Deeds) -> Option<String> {
    let goes_on = |resource: &str| ours.contains(&(resource.to_owned(), "goes on".to_owned()));
    let is_told = |(resource, deed): &&(String, String)| match deed.as_str() {
        "blocked" => theirs.iter().any(|(other, _)| other == resource),
        deed => deed != "goes on",
    };
    let only_theirs = theirs.difference(ours);
    let only_theirs = only_theirs
        .filter(|(resource, deed)| !(deed.starts_with("restart ") && goes_on(resource)))
        .map(|deed| ("crm_simulate", deed));
    let only_ours = ours.difference(theirs).filter(is_told).map(|deed| ("hplace", deed));
    let (who, (resource, deed)) = only_theirs.chain(only_ours).next()?;
    Some(format!("only {who}: {resource}: {deed}"))
}
