//! JSON documents of hplace.

use std::fs;

use assert_cmd::Command;
use htools::pacemaker::Release;
use jsonschema::Validator;
use serde_json::Value;

use super::{PROGRAM, array, validator};

/// Reads the output of hplace, after checking it against the schema.
fn read(words: &[&str], validator: &Validator, status: &'static [i32]) -> Value {
    let run = Command::new(PROGRAM).env_remove("HTOOLS").arg("hplace").args(words).assert().code(status);
    let document: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{words:?}: {errors:#?}");
    document
}

#[test]
fn placements_of_pacemaker_clusters() {
    let (placement, normalized) =
        (validator("htools.placement-1.json"), validator("htools.normalized-1.json"));
    let (survival, fit) = (validator("htools.survival-1.json"), validator("htools.fit-1.json"));
    let lint = validator("htools.lint-1.json");
    for (file, count) in [("data/pacemaker-small.xml", 2), ("data/pacemaker-six-nodes.xml", 0)] {
        let document = read(&["lint", "-x", file, "--json"], &lint, &[0, 2]);
        assert_eq!(array(&document, "findings").len(), count);
        let document = read(&["-x", file, "--strategy=optimal", "--json"], &placement, &[0, 2]);
        assert_eq!(document["optimum"]["result"], "proved");
    }
    for (file, unplaced) in
        [("data/pacemaker-small.xml", "rsc-large"), ("data/pacemaker-six-nodes.xml", "report")]
    {
        let document = read(&["-x", file, "--json"], &placement, &[2]);
        assert_eq!(document["unplaced"], serde_json::json!([unplaced]));
        let resources = array(&document, "resources");
        assert_eq!(array(&document, "order").len(), resources.len());
        let lost = resources.iter().find(|one| one["id"] == unplaced).unwrap();
        assert!(!array(lost, "room_taken").is_empty());
        assert!(document.get("transition").is_none());
        let document = read(&["survive", "--nodes=2", "-x", file, "--json"], &survival, &[2]);
        assert_eq!(array(&document, "losses")[0]["quorum"], unplaced != "rsc-large");
        for size in ["cpu=1,memory=512", "cpu=1000"] {
            let document = read(&["fit", size, "-x", file, "--json"], &fit, &[0, 2]);
            let nodes = array(&document, "nodes").iter().map(|node| node["more"].as_u64().unwrap());
            assert_eq!(document["count"], nodes.sum::<u64>());
            assert_eq!(document["first_full"].is_null(), size == "cpu=1000");
        }
        let document = read(&["-x", file, "--show-normalized"], &normalized, &[0]);
        assert_eq!(array(&document, "resources").len(), resources.len());
    }
    for version in Release::CHOICES {
        read(&["-x", "data/pacemaker-small.xml", "--pacemaker-version", version, "--json"], &placement, &[2]);
    }
    for file in fs::read_dir("tests/fixtures/pacemaker").unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_none_or(|end| end != "xml") {
            continue;
        }
        let words = ["-x", file.to_str().unwrap(), "--json", "--transition"];
        let document = read(&words, &placement, &[0, 2]);
        let transition = &document["transition"];
        let steps = array(transition, "steps").len();
        let position = |edge: &Value, end: &str| usize::try_from(edge[end].as_u64().unwrap()).unwrap();
        for edge in array(transition, "edges") {
            assert!(position(edge, "before") < position(edge, "after") && position(edge, "after") < steps);
        }
    }
}

#[test]
fn placements_by_keys() {
    let (fleet, printed) = (validator("htools.fleet-1.json"), validator("htools.affinity-1.json"));
    let sample: Value = serde_json::from_str(&fs::read_to_string("data/affinity.json").unwrap()).unwrap();
    assert!(fleet.is_valid(&sample));
    for (words, misplaced) in [(&[][..], false), (&["--verify"][..], true)] {
        let words = [&["-j", "data/affinity.json", "--json"], words].concat();
        let document = read(&words, &printed, &[0, 2]);
        assert_eq!(document.get("misplaced").is_some(), misplaced);
        let placed: Vec<&str> =
            array(&document, "machines").iter().map(|one| one["node"].as_str().unwrap()).collect();
        assert_eq!(placed, ["node2", "node2", "gold1"]);
    }
}

#[test]
fn strategies_with_machines_that_come_and_go() {
    let (arrivals, printed) = (validator("htools.arrivals-1.json"), validator("htools.simulation-1.json"));
    let sample: Value = serde_json::from_str(&fs::read_to_string("data/arrivals.json").unwrap()).unwrap();
    assert!(arrivals.is_valid(&sample));
    let drawn = ["--poisson=3", "-j", "data/affinity.json", "--days=20"];
    for words in [&["--arrivals", "data/arrivals.json"][..], &drawn] {
        for (nightly, made) in [(&[][..], false), (&["--nightly"][..], true)] {
            let document = read(&[&["simulate", "--json"], words, nightly].concat(), &printed, &[0]);
            assert_eq!(document["nightly_moves_made"], made);
            for of in array(&document, "strategies") {
                let days = array(of, "by_day");
                assert_eq!(document["days"], days.len());
                assert_eq!(days.last().unwrap()["refused"], of["refused"]);
                let moves: u64 = days.iter().map(|day| day["moves"].as_u64().unwrap()).sum();
                assert_eq!(of["moves"], moves);
            }
        }
    }
}
