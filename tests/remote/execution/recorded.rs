//! The plan that Ganeti's own hbal executed on a real cluster.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use super::cluster::{Cluster, fixture, messages};
use super::program::Place;

/// The reference's output; the servers here give the same job numbers.
pub fn output() -> String {
    let text = fs::read_to_string(fixture("exec/hbal-X.out")).unwrap();
    let lines: Vec<&str> =
        text.lines().filter(|l| !l.starts_with("$ ") && !l.starts_with("exit code")).collect();
    lines.join("\n") + "\n"
}

/// Nodes of the instances after the plan, according to the plan.
pub fn end() -> Vec<(String, String, String)> {
    let mut places: BTreeMap<String, (String, String)> = Cluster::unbalanced()
        .places()
        .into_iter()
        .map(|(instance, primary, secondary)| (instance, (primary, secondary)))
        .collect();
    for line in output().lines().filter(|line| line.contains(" => ")) {
        let (before, after) = line.split_once(" => ").unwrap();
        let instance = before.split_whitespace().nth(1).unwrap();
        let (primary, secondary) = after.split_whitespace().next().unwrap().split_once(':').unwrap();
        places.insert(instance.to_owned(), (primary.to_owned(), secondary.to_owned()));
    }
    places.into_iter().map(|(instance, (primary, secondary))| (instance, primary, secondary)).collect()
}

/// A submission without our own comment and reason.
pub fn plain(submission: &str) -> String {
    let mut request: Value = serde_json::from_str(submission).unwrap();
    for job in request["args"][0].as_array_mut().unwrap() {
        for opcode in job.as_array_mut().unwrap() {
            (opcode["comment"], opcode["reason"]) = (json!("comment"), json!("reason"));
        }
    }
    request.to_string()
}

#[test]
fn the_recorded_plan() {
    let place = Place::new();
    let (stdout, stderr) = place.execute(&[]).ends(0);
    assert_eq!(stdout, output(), "{stderr}");
    let wanted = messages("exec/hbal-X.luxi.jsonl", "C>S");
    let wanted: Vec<&String> = wanted.iter().filter(|text| text.contains("SubmitManyJobs")).collect();
    let found = place.world.lock().submissions.clone();
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        assert_eq!(plain(found), plain(wanted));
        // Reading it has lost nothing.
        let request: Value = serde_json::from_str(found).unwrap();
        assert_eq!(request.to_string(), *found);
    }
    assert_eq!(place.world.lock().cluster.places(), end());
    let journal = place.journal();
    let count = |event: &str| journal.iter().filter(|line| line["event"] == event).count();
    assert_eq!((count("submitting"), count("submitted"), count("ended"), count("closed")), (12, 13, 13, 1));
    assert_eq!(journal.last().unwrap()["ending"], "done");
    assert!(stderr.ends_with("All 13 steps are done, in 0 s\n"), "{stderr}");
}
