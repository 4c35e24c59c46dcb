//! Comparison of hail's answers where listed differences apply.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::cases::Case;
use super::hail::Asked;
use super::hail_rules::{drained_secondary, forced, listed};
use super::restate;
use super::rules::{Rule, split_instances};
use super::run::Output;

/// Standard output as a JSON object, if it is one.
pub fn parsed(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(Value::is_object)
}

/// The answer without the parts whose wording is free.
pub fn masked(case: &Case, asked: &Asked, restated: bool, text: &str) -> String {
    let Some(mut answer) = parsed(text) else { return text.to_owned() };
    if Rule::ChangeGroupDump.applies(case) {
        cut_dumps(&mut answer);
    }
    if restated {
        restate::without_extra_group(&mut answer);
    }
    if restated && Rule::DrainedSecondary.applies(case) {
        let names: Vec<&str> = listed(&case.cluster.raw, asked)
            .filter(|instance| drained_secondary(case, instance))
            .map(|instance| instance.name.as_str())
            .collect();
        for failed in answer["result"][1].as_array_mut().into_iter().flatten() {
            if failed[0].as_str().is_some_and(|name| names.contains(&name)) {
                failed[1] = Value::Null;
            }
        }
    }
    answer.to_string()
}

/// Cuts off the text after the message that no group is left.
fn cut_dumps(answer: &mut Value) {
    const BEGIN: &str = "no groups for evacuation: ";
    for failed in answer["result"][1].as_array_mut().into_iter().flatten() {
        if failed[1].as_str().is_some_and(|text| text.starts_with(BEGIN)) {
            failed[1] = json!(BEGIN);
        }
    }
}

/// Compares a request for several instances, restated for a single group, with our answer. Returns true if all are in
/// the same places, or if not all of them were placed.
pub fn same_places(theirs: &str, ours: &str) -> bool {
    let (Some(theirs), Some(ours)) = (parsed(theirs), parsed(ours)) else { return false };
    if theirs["success"] == true {
        return theirs == ours;
    }
    ours["result"][1].as_array().is_some_and(|failed| !failed.is_empty()) || ours["success"] == false
}

/// Tells if several instances have the same places, up to our first one in another group than the first instance's.
pub fn same_until_other_group(case: &Case, theirs: &str, ours: &str) -> bool {
    let (Some(theirs), Some(ours)) = (parsed(theirs), parsed(ours)) else { return false };
    let list = |answer: &Value| answer["result"][0].as_array().cloned().unwrap_or_default();
    let raw = &case.cluster.raw;
    let group = |entry: &Value| {
        let node = raw.nodes.iter().find(|node| entry[1][0] == node.name.as_str());
        node.map(|node| node.group)
    };
    let (theirs, ours) = (list(&theirs), list(&ours));
    // A case with instances partly in the group cannot be restated.
    let named = case.asked.as_ref().is_some_and(|asked| asked.group_name().is_some());
    if named && !split_instances(raw).is_empty() {
        return !ours.is_empty() && theirs.first() == ours.first();
    }
    let first = ours.first().and_then(group);
    let until = ours.iter().position(|entry| group(entry) != first).unwrap_or(ours.len());
    // The reference fails completely if the group of its choice is full.
    until < ours.len() && (theirs.is_empty() || theirs.get(..until) == Some(&ours[..until]))
}

/// Tells if the descriptions of one instance's places differ only in the number dropped by the capacity check, and
/// ours is not smaller.
pub fn same_but_dropped(theirs: &str, ours: &str) -> bool {
    let counts = |text: &str| {
        let info = parsed(text)?["info"].as_str()?.to_owned();
        let mut counts: BTreeMap<String, i64> = BTreeMap::new();
        for part in info.split([',', '(', ')']) {
            let part = part.trim().trim_start_matches("Request failed: No valid allocation solutions");
            if let Some((name, count)) = part.trim_start_matches("failure reasons: ").split_once(": ") {
                counts.extend(count.parse().ok().map(|count| (name.to_owned(), count)));
            } else if let Some(count) = part.strip_prefix("successes ") {
                counts.insert("successes".into(), count.parse().ok()?);
            }
        }
        let dropped = counts.remove("FailN1").unwrap_or(0);
        *counts.entry("successes".into()).or_default() += dropped;
        Some((counts, dropped))
    };
    match (counts(theirs), counts(ours)) {
        (Some((theirs, dropped)), Some((ours, more))) => theirs == ours && dropped <= more,
        _ => false,
    }
}

/// Tells if our answer to a request that the reference cannot process is right: it fails with a one-line reason.
pub fn refused(asked: &Asked, ours: &Output, text: &str) -> bool {
    let Some(answer) = parsed(text) else { return false };
    let says = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty() && !text.contains('\n'));
    let failed = answer["success"] == false && says(&answer["info"]);
    let listed = asked.kind() == "multi-allocate"
        && answer["result"][1].as_array().is_some_and(|list| list.iter().any(|entry| says(&entry[1])));
    ours.status == Some(0) && (failed || listed)
}

/// The answer without the number after "score".
pub fn without_score(text: &str) -> String {
    match text.split_once("score: ") {
        Some((before, after)) => format!("{before}{}", after.split_once(',').map_or("", |(_, rest)| rest)),
        None => text.to_owned(),
    }
}

/// Tells if our answer uses only allowed nodes, and the moves are equal up to the reference's first one that does
/// not.
pub fn same_until_allowed(case: &Case, theirs: &str, ours: &str) -> bool {
    let (Some(theirs), Some(ours)) = (parsed(theirs), parsed(ours)) else { return false };
    let Some(allowed) = &case.facts.restricted else { return false };
    let keeps = |entry: &Value| {
        let nodes = entry[2].as_array();
        nodes.is_some_and(|nodes| nodes.iter().all(|node| allowed.iter().any(|name| *node == name.as_str())))
    };
    let list = |answer: &Value| answer["result"][0].as_array().cloned().unwrap_or_default();
    let (theirs, ours) = (list(&theirs), list(&ours));
    let until = theirs.iter().position(|entry| !keeps(entry));
    ours.iter().all(keeps) && until.is_some_and(|until| ours.get(..until) == Some(&theirs[..until]))
}

/// Tells if the answers are equal up to the first instance that the reference leaves where it is and ours moves.
pub fn same_until_next_group(case: &Case, asked: &Asked, theirs: &str, ours: &str) -> bool {
    let (Some(theirs), Some(ours)) = (parsed(theirs), parsed(ours)) else { return false };
    let entry = |answer: &Value, part: usize, name: &str| {
        let list = answer["result"][part].as_array()?;
        list.iter().find(|entry| entry[0] == name).cloned()
    };
    let said = |answer: &Value, name: &str| [0, 1].map(|part| entry(answer, part, name));
    let mut names = listed(&case.cluster.raw, asked).map(|instance| instance.name.as_str());
    let first = names.find(|name| said(&theirs, name) != said(&ours, name));
    first.is_some_and(|name| entry(&theirs, 1, name).is_some() && entry(&ours, 0, name).is_some())
}

/// Tells if the answers are equal except for instances that the reference moves between nodes out of use, and ours
/// leaves there.
pub fn same_but_forced(case: &Case, asked: &Asked, theirs: &str, ours: &str) -> bool {
    let (Some(mut theirs), Some(mut ours)) = (parsed(theirs), parsed(ours)) else { return false };
    let names: Vec<&str> = listed(&case.cluster.raw, asked)
        .filter(|instance| forced(case, instance))
        .map(|instance| instance.name.as_str())
        .collect();
    let is_forced = |value: &Value| value.as_str().is_some_and(|name| names.contains(&name));
    let moved = |answer: &Value| {
        answer["result"][0].as_array().is_some_and(|list| list.iter().any(|entry| is_forced(&entry[0])))
    };
    let differs = moved(&theirs) && !moved(&ours);
    for answer in [&mut theirs, &mut ours] {
        answer["info"] = Value::Null;
        for part in 0..3 {
            if let Some(list) = answer["result"][part].as_array_mut() {
                list.retain(|entry| !is_forced(&entry[0]) && !is_forced(&entry[0]["instance_name"]));
            }
        }
    }
    differs && theirs == ours
}
