//! `--weights`: invalid values are refused, and the weights affect every score.

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

const SAMPLE: [&str; 2] = ["-t", "data/unbalanced-drbd.data"];

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").args(words);
    command
}

fn run(words: &[&str]) -> (String, String) {
    let run = command(words).assert().code(0);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&run.get_output().stdout), text(&run.get_output().stderr))
}

fn document(words: &[&str]) -> Value {
    serde_json::from_str(&run(words).0).unwrap()
}

#[test]
fn what_is_no_weight_is_refused() {
    for (value, problem) in [
        (
            "free_mem=2",
            "there is no metric 'free_mem', did you mean 'free_mem_cv'?\nHint: the valid words are free_mem_cv, ",
        ),
        ("n1_cnt", "'n1_cnt' is not NAME=WEIGHT"),
        ("n1_cnt=", "'' is not a number"),
        ("n1_cnt=1,", "'' is not NAME=WEIGHT"),
        ("n1_cnt=NaN", "'n1_cnt=NaN' is not 0 or a weight from 1e-6 to 1e6"),
        ("n1_cnt=Infinity", "'n1_cnt=Infinity' is not 0 or a weight"),
        ("n1_cnt=-1", "'n1_cnt=-1' is not 0 or a weight"),
        ("n1_cnt=1e308", "'n1_cnt=1e308' is not 0 or a weight"),
        ("n1_cnt=1e-9", "'n1_cnt=1e-9' is not 0 or a weight"),
    ] {
        let failed =
            command(&["hbal", "-t", "data/unbalanced-drbd.data", "--weights", value]).assert().code(1);
        let said = String::from_utf8_lossy(&failed.get_output().stderr);
        assert!(said.contains(problem), "{value}: {said}");
        assert!(failed.get_output().stdout.is_empty());
    }
}

/// Name, initial value and weight of each metric, according to hbal's document.
fn components(weights: &str) -> Vec<(String, f64, f64)> {
    let found = document(&["hbal", SAMPLE[0], SAMPLE[1], "-l", "0", "--json", "--weights", weights]);
    let parts = found["initial_score"]["components"].as_array().unwrap();
    let number = |of: &Value, key: &str| of[key].as_f64().unwrap();
    let total = found["initial_score"]["total"].as_f64().unwrap();
    let all: Vec<(String, f64, f64)> = parts
        .iter()
        .map(|of| (of["name"].as_str().unwrap().to_owned(), number(of, "value"), number(of, "weight")))
        .collect();
    let sum: f64 = all.iter().map(|(_, value, weight)| value * weight).sum();
    assert!((sum - total).abs() < 1e-9, "{sum} {total}");
    all
}

#[test]
fn a_weight_takes_the_place_of_ganetis() {
    let (usual, chosen) = (components(""), components("free_mem_cv=2,reserved_mem_rtotal=0"));
    for (usual, chosen) in usual.iter().zip(&chosen) {
        let weight = match usual.0.as_str() {
            "free_mem_cv" => 2.0,
            "reserved_mem_rtotal" => 0.0,
            _ => usual.2,
        };
        assert_eq!(chosen, &(usual.0.clone(), usual.1, weight));
    }
    // The last value counts; an empty one restores Ganeti's weights.
    assert_eq!(components("n1_cnt=3,n1_cnt=1,cpu_load_cv=1"), usual);
    let words = ["hbal", SAMPLE[0], SAMPLE[1], "--weights", "free_mem_cv=9"];
    assert_eq!(run(&[&words[..], &["--weights="]].concat()).0, run(&words[..3]).0);
    assert_ne!(run(&words).0, run(&words[..3]).0);
}

#[test]
fn they_are_shown() {
    let chosen = ["--weights", "free_mem_cv=2.125,n1_cnt=0"];
    let (out, said) = run(&[&["hbal", "-v", "-v", "-l0"], &SAMPLE[..], &chosen].concat());
    assert!(
        said.starts_with("Weights of the score that are not Ganeti's: free_mem_cv=2.125, n1_cnt=0\n"),
        "{said}"
    );
    assert!(out.contains(" x2.125\n") && out.contains(" x0.00\n") && out.contains(" x16.00\n"), "{out}");
    let tools: [&[&str]; 5] = [&["hinfo"], &["hcheck"], &["hspace"], &["hsqueeze"], &["hgroup", "status"]];
    for tool in tools {
        let weights = |words: &[&[&str]]| -> Value {
            let run = command(&[&[tool, &SAMPLE, &["--json"]], words].concat().concat()).output().unwrap();
            serde_json::from_slice::<Value>(&run.stdout).unwrap()["generator"]["weights"].clone()
        };
        assert_eq!(weights(&[]), Value::Null, "{tool:?}");
        assert_eq!(weights(&[&chosen]), serde_json::json!({"free_mem_cv": 2.125, "n1_cnt": 0.0}), "{tool:?}");
    }
}

#[test]
fn a_metric_switched_off_no_longer_matters() {
    let off = |but: &str| {
        let names = components("").into_iter().map(|part| part.0).filter(|name| name != but);
        names.map(|name| format!("{name}=0")).collect::<Vec<_>>().join(",")
    };
    let found = |weights: &str| document(&["hbal", SAMPLE[0], SAMPLE[1], "--json", "--weights", weights]);
    // No node fails N+1, so there is nothing to gain.
    assert_eq!(found(&off("n1_cnt"))["ending"], "balanced");
    // With only memory in the score, memory ends more balanced than with all metrics.
    let spread = |weights: &str| found(weights)["final_score"]["components"][0]["value"].as_f64().unwrap();
    assert!(spread(&off("free_mem_cv")) < spread(""));
}

/// A saved plan keeps its weights. Making it again gives the same plan.
#[test]
fn saved_plans_hold_their_weights() {
    let place = tempfile::TempDir::new().unwrap();
    let plan = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let chosen = "n1_cnt=0,free_disk_cv=4";
    let (made, other) = (plan("made"), plan("other"));
    run(&[&["hbal", "--weights", chosen, "--save-plan", &made], &SAMPLE[..]].concat());
    run(&[&["hbal", "--save-plan", &other], &SAMPLE[..]].concat());
    let read =
        |path: &str| -> Value { serde_json::from_slice(&std::fs::read(Path::new(path)).unwrap()).unwrap() };
    assert_eq!(read(&made)["options"], serde_json::json!([format!("--weights={chosen}")]));
    assert_ne!(read(&made)["work"], read(&other)["work"]);
    // The plan does not fit its own result, so it is made again with its original weights.
    let end = place.path().join("end");
    run(&[&["hbal", "-l", "1", "-S", end.to_str().unwrap()], &SAMPLE[..]].concat());
    let end = format!("{}.balanced", end.display());
    let again = run(&["htools", "apply", "--replan", "-t", &end, &made][1..]).0;
    let expected = run(&["hbal", "-t", &end, "--weights", chosen]).0;
    assert_eq!(again, expected);
    assert_ne!(again, run(&["hbal", "-t", &end]).0);
}

/// hbal on a cluster with affinity keys.
fn keyed(words: &[&str]) -> String {
    run(&[&["hbal", "-t", "data/wishes.data"], words].concat()).0
}

#[test]
fn affinity_keys_count_only_where_that_is_asked_for() {
    assert_eq!(keyed(&["--affinity-weight", "0"]), keyed(&[]));
    assert_ne!(keyed(&["--affinity-weight", "0.01"]), keyed(&[]));
    // There are no keys there.
    let plain = |words: &[&str]| run(&[&["hbal", SAMPLE[0], SAMPLE[1]], words].concat()).0;
    assert_eq!(plain(&["--affinity-weight", "5"]), plain(&[]));
    assert!(!keyed(&["-vvv", "-l0"]).contains("affinity_keys"));
    // Two web servers are on one node, and no database is on a fast one.
    assert!(
        keyed(&["-vvv", "-l0", "--affinity-weight", "0.5"])
            .contains("affinity_keys            80.00000000  x0.50\n")
    );
}

#[test]
fn what_is_no_affinity_weight_is_refused() {
    for value in ["-1", "NaN", "1e308", "x"] {
        let failed = command(&["hbal", "-t", "data/wishes.data", "--affinity-weight", value])
            .assert()
            .code(1)
            .stdout("");
        assert!(!failed.get_output().stderr.is_empty());
    }
    let named = command(&["hbal", "-t", "data/wishes.data", "--weights", "affinity_keys=1"]).assert().code(1);
    assert!(
        String::from_utf8_lossy(&named.get_output().stderr).contains("there is no metric 'affinity_keys'")
    );
    let text = std::fs::read_to_string("data/wishes.data").unwrap().replace("web:1:-40", "web:1:-1e12");
    let heavy =
        command(&["hbal", "-t", "-", "--affinity-weight", "1"]).write_stdin(text).assert().code(1).stdout("");
    let said = String::from_utf8_lossy(&heavy.get_output().stderr).into_owned();
    assert!(said.contains("too large to be added exactly") && said.lines().count() == 1, "{said}");
}

#[test]
fn plans_by_affinity_keys_end_where_they_say() {
    let folder = tempfile::tempdir().unwrap();
    for (form, weight) in
        [(&[][..], "0.01"), (&["--deep"], "1"), (&["--deep", "--max-moves", "3"], "0.1"), (&["--merge"], "1")]
    {
        let saved = folder.path().join("state");
        let words = [&["--json", "--affinity-weight", weight, "-S", saved.to_str().unwrap()], form].concat();
        let found: Value = serde_json::from_str(&keyed(&words)).unwrap();
        let last = found["final_score"]["total"].as_f64().unwrap();
        assert!(last < found["initial_score"]["total"].as_f64().unwrap());
        let balanced = folder.path().join("state.balanced");
        let again = document(&[
            "hbal",
            "-t",
            balanced.to_str().unwrap(),
            "-l0",
            "--json",
            "--affinity-weight",
            weight,
        ]);
        let first = again["initial_score"]["total"].as_f64().unwrap();
        assert!((first - last).abs() < 1e-9, "{form:?}: {first} {last}");
    }
}
