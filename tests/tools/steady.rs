//! hbal by a timer: conditions, cooldowns and limits, with a history in a file; and `htools history`.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

const SAMPLE: &str = "data/unbalanced-drbd.data";

/// Runs a tool with an own state directory. Returns status, standard output and standard error.
fn run(place: &TempDir, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").env("XDG_STATE_HOME", place.path()).env("TZ", "UTC").args(words);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// A move of an instance from a node, by a run that ended at a time.
fn moved(at: u64, run: u64, instance: &str, from: &str, outcome: &str) -> String {
    let name = |short: &str| format!("{short}.example.com");
    let line = |event: Value| {
        let mut line = json!({"history": "htools.history-1", "at": at, "cluster": {"name": "c", "uuid": "u"}, "tool": "hbal"});
        line.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let planned = json!({"instance": name(instance), "from": {"primary": name(from), "secondary": name("node3")},
        "to": {"primary": name("node1"), "secondary": name("node3")}});
    line(
        json!({"event": "begun", "run": run, "journal": "/j", "reason": "r", "score": 4.5, "moves": [planned]}),
    ) + &line(json!({"event": "ended", "run": run, "ending": "done", "score": 2.25, "outcomes": [outcome]}))
}

fn history(place: &TempDir, lines: &str) -> String {
    let path = place.path().join("past.jsonl");
    fs::write(&path, lines).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Instances that the steps of a plan move.
fn instances(output: &str) -> Vec<&str> {
    let steps = output.lines().filter(|line| line.contains(" => "));
    steps.filter_map(|line| line.split_whitespace().nth(1)).collect()
}

#[test]
fn only_what_is_above_moves() {
    let place = TempDir::new().unwrap();
    let hbal = |words: &[&str]| run(&place, &[&["hbal", "-t", SAMPLE][..], words].concat());
    let (status, out, error) = hbal(&["--only-if", "memory > 99"]);
    assert_eq!((status, out.as_str(), error.as_str()), (0, "", "Nothing to do: memory>99 does not hold\n"));
    let (status, out, error) = hbal(&["--only-if", "memory>60", "--until-below"]);
    assert_eq!(status, 0);
    assert!(error.starts_with("memory>60 holds: node1 memory 85.4 %, node2 memory 72.9 %\n"), "{error}");
    assert!(error.ends_with("No plan ends this with fewer than 2 moves\n"), "{error}");
    assert_eq!(instances(&out).len(), 2, "{out}");
    // Live migrations do where they suffice.
    let (_, out, _) = hbal(&["--only-if", "memory>80", "--until-below"]);
    assert!(out.lines().filter(|line| line.contains(" => ")).all(|line| line.ends_with("a=f")), "{out}");
    let (status, out, _) = hbal(&["--only-if", "score>5", "--json"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((status, document["ending"].as_str()), (0, Some("improved")));
    let (_, out, _) = hbal(&["--only-if", "score>500", "--json"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["ending"], "not-now");
    let (status, _, error) = hbal(&["--only-if", "cpu>80"]);
    assert!(status == 1 && error.contains("the processor load is not known"), "{error}");
    for wrong in ["memory", "mem>5", "memory>x", ""] {
        assert_eq!(hbal(&["--only-if", wrong]).0, 1, "{wrong}");
    }
    for words in [
        &["--until-below"][..],
        &["--rounds=2"],
        &["--only-if=memory>5", "--margin=3"],
        &["--only-if=memory>5", "--all-groups"],
    ] {
        assert_eq!(hbal(words).0, 1, "{words:?}");
    }
    // Nodes that stay above are named, with status 1.
    let (status, out, error) = hbal(&["--only-if", "memory>10", "--until-below"]);
    assert!(status == 1 && (out + &error).contains("is still above a limit of --only-if"), "{error}");
}

#[test]
fn rounds_count_for_each_node() {
    let place = TempDir::new().unwrap();
    let group = "a7f3c1d2-0b4e-4c5a-9d61-3e8f27b90c14";
    let look = |ago: u64, nodes: &[&str]| {
        let nodes: Vec<String> = nodes.iter().map(|node| format!("{node}.example.com")).collect();
        let line = json!({"history": "htools.history-1", "at": now() - ago * 900_000, "cluster": {"name": "c", "uuid": "u"},
            "tool": "hbal", "event": "look", "group": group, "condition": "memory>70", "is_met": true, "score": 3.0,
            "nodes": nodes});
        format!("{line}\n")
    };
    let past = history(&place, &[look(2, &["node1", "node2"]), look(1, &["node1"])].concat());
    let hbal = |rounds: &str, words: &[&str]| {
        let condition = ["--only-if=memory>70", rounds, "--until-below", "--history", &past];
        run(&place, &[&["hbal", "-t", SAMPLE], &condition[..], words].concat())
    };
    // node2 is above for the second time, but not in a row.
    let (status, out, error) = hbal("--rounds=3", &[]);
    assert!(error.starts_with("memory>70 holds: node1 memory 85.4 %\n"), "{error}");
    assert_eq!((status, instances(&out)), (0, vec!["db1"]), "{out}{error}");
    let (_, out, error) = hbal("--rounds=1", &[]);
    assert!(error.starts_with("memory>70 holds: node1 memory 85.4 %, node2 memory 72.9 %\n"), "{error}");
    assert_eq!(instances(&out).len(), 2, "{out}");
    let (status, out, error) = hbal("--rounds=4", &[]);
    assert_eq!((status, out.as_str()), (0, ""));
    assert!(error.ends_with("Nothing is done yet: this is round 3 of 4\n"), "{error}");
    // What cron would mail: nothing, or one line.
    assert_eq!(hbal("--rounds=4", &["-q"]).2, "");
    assert_eq!(hbal("--rounds=3", &["-q"]).2, "memory>70 holds: node1 memory 85.4 %\n");
}

#[test]
fn the_margin_is_below_the_threshold() {
    let place = TempDir::new().unwrap();
    let use_of = |name: &str, margin: &str| {
        let words = ["hbal", "-t", SAMPLE, "--only-if=memory>80", "--until-below", margin, "-S", "s"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        let output = command.env("XDG_STATE_HOME", place.path()).current_dir(place.path()).args(words);
        let words = std::path::absolute(SAMPLE).unwrap();
        output.args(["-t", words.to_str().unwrap()]).assert().code(0);
        let saved = fs::read_to_string(place.path().join("s.balanced")).unwrap();
        let line = saved.lines().find(|line| line.starts_with(&format!("{name}."))).unwrap().to_owned();
        let figure = |at: usize| line.split('|').nth(at).unwrap().parse::<f64>().unwrap();
        100.0 * (1.0 - figure(3) / figure(1))
    };
    let narrow = use_of("node1", "--margin=0");
    assert!(narrow <= 80.0 && narrow > 50.0, "{narrow}");
    let wide = use_of("node1", "--margin=30");
    assert!(wide <= 50.0, "{wide}");
    // The empty nodes take a small instance each. That is not enough for the margin, but for the threshold.
    let out_of_reach = use_of("node1", "--margin=65");
    assert!(out_of_reach <= 80.0 && out_of_reach > 15.0, "{out_of_reach}");
}

#[test]
fn instances_rest_after_moves() {
    let place = TempDir::new().unwrap();
    let (hour, now) = (3_600_000, now());
    let lines = moved(now - 2 * hour, 1, "db1", "node2", "done")
        + &moved(now - 30 * hour, 2, "web1", "node5", "done");
    let past = history(&place, &lines);
    let plan = |words: &[&str]| {
        let (status, out, error) =
            run(&place, &[&["hbal", "-t", SAMPLE, "--history", &past][..], words].concat());
        assert!(status == 0 || error.contains("fewer"), "{error}");
        out
    };
    let usual = plan(&[]);
    assert!(instances(&usual).contains(&"db1"), "{usual}");
    for search in [&[][..], &["--deep", "--effort=20000"]] {
        let still = plan(&[&["--cooldown=24h"][..], search].concat());
        assert!(!instances(&still).contains(&"db1") && !instances(&still).is_empty(), "{still}");
        let soon = plan(&[&["--cooldown=1h"][..], search].concat());
        assert!(instances(&soon).contains(&"db1"), "{soon}");
    }
    let explained = plan(&["--cooldown=24h", "--explain=db1"]);
    assert!(explained.contains("it moved a short time ago (--cooldown)"), "{explained}");
    // No instance goes back to the node that it left.
    let lines = ["node6", "node7"].map(|node| moved(now - hour, node.len() as u64, "db1", node, "done"));
    let past = history(&place, &[lines[0].clone(), moved(now - hour, 9, "db1", "node7", "unknown")].concat());
    let words = ["hbal", "-t", SAMPLE, "--history", &past, "--no-return=24h"];
    let (_, out, _) = run(&place, &words);
    let back = out.lines().filter(|line| line.contains(". db1 ")).any(|line| {
        let target = line.split("=> ").nth(1).unwrap();
        target.starts_with("node6") || target.starts_with("node7")
    });
    assert!(!back, "{out}");
}

#[test]
fn a_day_has_so_many_moves() {
    let place = TempDir::new().unwrap();
    let (hour, now) = (3_600_000, now());
    let made: String = (0..3).map(|run| moved(now - hour, run, "db1", "node2", "done")).collect();
    let past = history(&place, &(made + &moved(now - hour, 7, "x", "node2", "not started")));
    let plan =
        |words: &[&str]| run(&place, &[&["hbal", "-t", SAMPLE, "--history", &past][..], words].concat());
    let (status, out, error) = plan(&["--moves-per-day=3"]);
    let wanted = "Nothing is done: 3 moves in the last 24 hours, and --moves-per-day allows 3\n";
    assert_eq!((status, out.as_str(), error.as_str()), (0, "", wanted));
    for search in [&[][..], &["--deep", "--effort=20000"]] {
        let (_, out, _) = plan(&[&["--moves-per-day=5"][..], search].concat());
        assert_eq!(instances(&out).len(), 2, "{out}");
    }
    let words = ["--moves-per-day=4", "--only-if=memory>60", "--until-below"];
    let (status, out, error) = plan(&words);
    assert_eq!((status, instances(&out).len()), (1, 1), "{error}");
    assert_eq!(plan(&["--moves-per-day=4", "--repair-only"]).0, 1);
    let (status, _, error) = run(&place, &["hbal", "-t", SAMPLE, "--moves-per-day=4"]);
    assert!(status == 1 && error.contains("need a history"), "{error}");
    fs::write(&past, "{}\n").unwrap();
    let (status, _, error) = plan(&["--cooldown=1h"]);
    assert!(status == 1 && error.contains("past.jsonl, line 1: not a line of a history"), "{error}");
}

#[test]
fn the_past_is_shown() {
    let place = TempDir::new().unwrap();
    let (status, out, _) = run(&place, &["history"]);
    assert!(status == 0 && out.starts_with("Nothing is recorded in "), "{out}");
    let lines = moved(1_000, 1, "db1", "node2", "done") + &moved(now(), 2, "web1", "node5", "failed");
    let past = history(&place, &lines);
    let shown = |words: &[&str]| run(&place, &[&["history", "--file", &past][..], words].concat()).1;
    let out = shown(&[]);
    let first = "1970-01-01 00:00:01 hbal c       4.500 -> 2.250     1 done";
    assert_eq!(out.lines().nth(1), Some(first), "{out}");
    assert_eq!(shown(&["--since=1h"]).lines().count(), 2);
    let out = shown(&["--instance=db1"]);
    let wanted = "1970-01-01 00:00:01 hbal db1.example.com node2.example.com:node3.example.com node1.example.com:node3.example.com done";
    assert_eq!(out.lines().nth(1), Some(wanted), "{out}");
    assert_eq!(shown(&["--node=node5"]).lines().count(), 2);
    assert!(shown(&["--node=node"]).starts_with("Nothing is recorded"));
    assert!(shown(&["--cluster=other"]).starts_with("Nothing is recorded"));
    let document: Value = serde_json::from_str(&shown(&["--json"])).unwrap();
    let schema: Value =
        serde_json::from_str(&fs::read_to_string("docs/schema/htools.history-1.json").unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    assert_eq!(
        (document["runs"].as_array().unwrap().len(), &document["moves"][1]["outcome"]),
        (2, &json!("failed"))
    );
    assert!(shown(&["--svg"]).starts_with("<svg "));
    assert_eq!(run(&place, &["history", "--file", "/nowhere"]).0, 1);
    assert_eq!(run(&place, &["history", "word"]).0, 1);
}

#[test]
fn a_monitoring_system_learns_how_the_last_runs_ended() {
    let place = TempDir::new().unwrap();
    let hour = 3_600_000;
    let ask = |lines: &str| {
        let past = history(&place, lines);
        let (status, out, error) = run(&place, &["history", "--monitor", "--file", &past]);
        assert_eq!((error.as_str(), out.lines().count()), ("", 1), "{out}");
        (status, out)
    };
    let good = moved(now() - 2 * hour, 1, "db1", "node2", "done");
    let (status, out) = ask(&good);
    assert_eq!(status, 0, "{out}");
    assert_eq!(
        out,
        "HTOOLS OK - 1 run with 1 move in 24 hours; the last was hbal on c 2 h ago | runs=1;;;0 moves=1;;;0\n"
    );
    let (status, out) = ask(&(good.clone() + &moved(now() - hour, 2, "web1", "node5", "failed")));
    assert_eq!(status, 1);
    assert!(out.starts_with("HTOOLS WARNING - hbal on c 1 h ago has 1 move that failed | runs=2;"), "{out}");
    let unfinished = |ago: u64| {
        let lines = moved(now() - ago, 3, "web1", "node5", "done");
        good.clone() + lines.split_inclusive('\n').next().unwrap()
    };
    let (status, out) = ask(&unfinished(5 * hour));
    assert!(status == 2 && out.starts_with("HTOOLS CRITICAL - hbal on c 5 h ago has not ended | "), "{out}");
    assert_eq!(ask(&unfinished(hour / 2)).0, 0, "it is under way");
    let failed =
        moved(now() - hour, 4, "web1", "node5", "done").replace(r#""ending":"done""#, r#""ending":"failed""#);
    let (status, out) = ask(&failed);
    assert!(
        status == 2 && out.starts_with("HTOOLS CRITICAL - hbal on c 1 h ago ended as failed | "),
        "{out}"
    );
    let late = moved(now() - hour, 5, "web1", "node5", "not started")
        .replace(r#""ending":"done""#, r#""ending":"out of time""#);
    assert_eq!(ask(&late).0, 0, "its window has ended");
    let (status, out) = ask("nonsense\n");
    assert!(
        status == 3 && out.starts_with("HTOOLS UNKNOWN - ") && out.contains("not a line of a history"),
        "{out}"
    );
    let (status, out, _) = run(&place, &["history", "--monitor", "--json"]);
    assert!(status == 3 && out.contains("options --monitor and --json exclude each other"), "{out}");
}
