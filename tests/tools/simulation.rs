//! hplace simulate: its output, its plots, and its errors.

use std::fs;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::{contains, starts_with};

fn simulate(words: &[&str], document: &str) -> Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").args(["hplace", "simulate"]).args(words).write_stdin(document).assert()
}

const SAMPLE: [&str; 2] = ["--arrivals", "data/arrivals.json"];
const FLEET: [&str; 6] = ["-j", "data/affinity.json", "--poisson", "2", "--lifetime", "6"];

/// A document with one machine on one node.
fn small(times: &str) -> String {
    format!(
        r#"{{"nodes": [{{"name": "n", "ram_total": 8192, "cpus": 4, "load": 0}}], "vms": [{{"name": "<vm>", {times}, "ram": 512, "vcpus": 1}}]}}"#
    )
}

#[test]
fn what_cannot_be_simulated_is_one_line() {
    let one_line = || {
        predicate::function(|text: &str| text.lines().filter(|line| !line.starts_with("Hint: ")).count() == 1)
    };
    let cases = [
        (String::new(), "EOF while parsing"),
        ("{\"nodes\": []}".to_owned(), "missing field `vms`"),
        (small("\"arrives\": -1"), "vm '<vm>': arrives must be a number of days, 0 or more"),
        (small("\"arrives\": NaN"), "expected value"),
        (small("\"arrives\": 1e999"), "number out of range"),
        (small("\"arrives\": \"1\""), "invalid type"),
        (small("\"arrives\": 2, \"leaves\": 2"), "vm '<vm>': leaves must be a number of days after arrives"),
        (small("\"arrives\": 2, \"leaves\": 1"), "vm '<vm>': leaves must be a number of days after arrives"),
        (small("\"arrives\": 1, \"arrives\": 1"), "duplicate field"),
        (small("\"arrives\": 1, \"node\": \"n\""), "unknown field"),
        (
            small("\"arrives\": 1").replace("\"vms\"", "\"days\": 0, \"vms\""),
            "days must be between 1 and 36525",
        ),
        (small("\"arrives\": 1").replace("\"vms\"", "\"days\": 99999999999, \"vms\""), "invalid value"),
        (small("\"arrives\": 1").replace("\"<vm>\"", "\"\""), "the name is empty or not unique"),
        (small("\"arrives\": 1").replace("\"ram\": 512", "\"ram\": -1"), "invalid value"),
    ];
    for (document, problem) in cases {
        simulate(&["--arrivals", "-"], &document)
            .code(1)
            .stdout("")
            .stderr(starts_with("Error: ").and(contains(problem)).and(one_line()));
    }
    let fleet = |words: &[&'static str]| [&["-j", "data/affinity.json"], words].concat();
    for (words, problem) in [
        (vec![], "the simulation has no arrivals\nHint: use --arrivals FILE"),
        (vec!["--poisson", "2"], "--poisson needs nodes and machines\nHint: name a document with -j FILE"),
        (fleet(&["--arrivals", "data/arrivals.json"]), "option -j does not apply to --arrivals"),
        (fleet(&["--poisson", "1", "--arrivals", "-"]), "options --arrivals and --poisson exclude"),
        (fleet(&["--poisson", "1e9"]), "more than 1000000 machines would arrive"),
        (fleet(&["--poisson", "1", "--days", "99999999999"]), "days must be between 1 and 36525"),
        ([&SAMPLE[..], &["--lifetime", "3"]].concat(), "--lifetime needs --poisson"),
        ([&SAMPLE[..], &["--seed", "3"]].concat(), "--seed needs --poisson"),
        ([&SAMPLE[..], &["-t", "data/wishes.data"]].concat(), "-t, -m and -L do not apply"),
        (fleet(&["--poisson", "1", "-t", "data/wishes.data"]), "no other cluster can be named"),
        (
            fleet(&["--poisson", "1", "--ram-ratio", "2"]),
            "option --ram-ratio applies only to Ganeti clusters",
        ),
        ([&SAMPLE[..], &["--svg", "/nowhere/at/all.svg"]].concat(), "/nowhere/at/all.svg"),
    ] {
        simulate(&words, "").code(1).stdout("").stderr(contains(problem).and(one_line()));
    }
    for (word, long) in [
        ("--order=ram", "order"),
        ("--explain", "with-reasons"),
        ("--strategy=affinity", "strategy"),
        ("-xdata/pacemaker-small.xml", "xml-file"),
        ("-Udata/utilisation.txt", "dynu-file"),
    ] {
        let problem = format!(
            "Error: option --{long} does not apply to `hplace simulate'\nHint: --{long} belongs to `hplace"
        );
        simulate(&fleet(&["--poisson", "1", word]), "").code(1).stdout("").stderr(starts_with(problem));
    }
    for words in [["--poisson", "nan"], ["--poisson", "-1"], ["--lifetime", "inf"], ["--days", "-1"]] {
        simulate(&words, "").code(1).stdout("");
    }
    let elsewhere = Command::new(env!("CARGO_BIN_EXE_htools")).args(["hplace", "--poisson", "1"]).assert();
    elsewhere.code(1).stderr(contains("simulate"));
}

#[test]
fn a_seed_names_the_bytes_on_one_core_or_many() {
    let run = |seed: &str, threads: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env_remove("HTOOLS").env("RAYON_NUM_THREADS", threads);
        let run = command.args(["hplace", "simulate", "--days", "60", "--seed", seed, "--json"]).args(FLEET);
        run.assert().code(0).get_output().stdout.clone()
    };
    assert_eq!(run("1", "1"), run("1", "4"));
    assert_ne!(run("1", "1"), run("2", "1"));
}

#[test]
fn the_picture_is_well_formed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("days.svg");
    let words = |file| [&SAMPLE[..], &["--svg", file]].concat();
    simulate(&words(file.to_str().unwrap()), "").code(0).stdout(contains("Strategy"));
    let text = fs::read_to_string(&file).unwrap();
    let picture = roxmltree::Document::parse(&text).unwrap();
    let lines = picture.descendants().filter(|node| node.has_tag_name("polyline"));
    let points: Vec<usize> = lines.map(|line| line.attribute("points").unwrap().split(' ').count()).collect();
    assert_eq!(points, [28; 15]);
    assert!(!text.contains("NaN") && !text.contains("inf"));
    // This is the plot in the document.
    assert_eq!(text, fs::read_to_string("docs/simulation.svg").unwrap());
    // Without arrivals, the lines are at the bottom.
    let nobody = r#"{"nodes": [{"name": "n", "ram_total": 8192, "cpus": 4, "load": 0}], "vms": []}"#;
    simulate(&["--arrivals", "-", "--svg", file.to_str().unwrap()], nobody).code(0);
    assert!(roxmltree::Document::parse(&fs::read_to_string(&file).unwrap()).is_ok());
}

#[test]
fn who_comes_too_late_is_told() {
    simulate(&["--arrivals", "-", "--days", "3"], &small("\"arrives\": 3"))
        .code(0)
        .stdout(contains("0 requests on 1 node in 3 days"))
        .stderr("Warning: 1 of 1 machines arrive after the end of day 3\n");
}

/// The running instances of a Ganeti cluster are there at the start, and leave.
#[test]
fn a_ganeti_cluster_is_the_beginning() {
    let run = |words: &[&str]| {
        let words = [&["-t", "data/wishes.data", "--poisson", "1", "--days", "30", "--json"], words].concat();
        let run = simulate(&words, "").code(0);
        serde_json::from_slice::<serde_json::Value>(&run.get_output().stdout).unwrap()
    };
    // Instances that stay for a million days do not leave within a month.
    let full = run(&["--lifetime", "1e6"]);
    let empty = run(&["--lifetime", "0.01"]);
    assert_eq!((&full["residents"], &empty["residents"]), (&20.into(), &20.into()));
    assert_eq!(full["requests"], empty["requests"]);
    let used = |of: &serde_json::Value, at: usize, day: usize| {
        of["strategies"][at]["by_day"][day]["used"].as_f64().unwrap()
    };
    for strategy in 0..5 {
        assert!(used(&full, strategy, 0) > 0.2 && used(&empty, strategy, 29) < 0.1, "{strategy}");
        // All of them run at the start.
        assert!(empty["strategies"][strategy]["peak"].as_f64().unwrap() > 0.35, "{strategy}");
    }
    simulate(&["-t", "data/wishes.data", "--poisson", "1", "--days", "3"], "")
        .code(0)
        .stdout(contains("; 20 machines there at the beginning;"))
        .stderr("");
    // The whole memory of the nodes is promised twice.
    simulate(&["-t", "data/wishes.data", "--poisson", "1", "--days", "3", "--ram-ratio", "2"], "").code(0);
}
