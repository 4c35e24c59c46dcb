//! Changes of resources, according to crm_simulate's summary and to hplace's document.

use std::collections::BTreeSet;

use serde_json::Value;

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

/// `vm:0` as `vm`.
pub fn instance_of(name: &str) -> String {
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
