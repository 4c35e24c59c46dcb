//! hbal by a timer, and the history that all runs leave.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::program::{Place, Ran, Running, tool};
use super::queue::{World, is_final};
use super::remote::Remote;

fn run(place: &Place, options: &[&str]) -> Ran {
    Running::start(place.command(&[&["-X"], options].concat())).wait()
}

fn history(place: &Place) -> Vec<Value> {
    let text = fs::read_to_string(place.path("state/htools/history.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The instances that a line of the history names.
fn instances(line: &Value) -> Vec<String> {
    let moves = line["moves"].as_array().unwrap();
    moves.iter().map(|moved| moved["instance"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn runs_are_recorded_with_scores_and_outcomes() {
    let place = Place::new();
    place.execute(&["-l3"]).ends(0);
    let lines = history(&place);
    assert_eq!(
        lines.iter().map(|line| line["event"].as_str().unwrap()).collect::<Vec<_>>(),
        ["begun", "ended"]
    );
    let (begun, ended) = (&lines[0], &lines[1]);
    assert_eq!((begun["tool"].as_str(), &begun["run"]), (Some("hbal"), &ended["run"]));
    assert_eq!(ended["outcomes"], serde_json::json!(["done", "done", "done"]));
    assert!(begun["score"].as_f64().unwrap() > ended["score"].as_f64().unwrap(), "{lines:?}");
    assert_eq!(begun["journal"], "J");
    // htools history shows the run.
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env("XDG_STATE_HOME", place.path("state")).env_remove("HTOOLS");
    let (shown, _) = Running::start({
        command.args(["history", "--instance", &instances(begun)[0]]);
        command
    })
    .wait()
    .ends(0);
    assert!(shown.lines().count() == 2 && shown.trim_end().ends_with("done"), "{shown}");
    // Nothing is recorded if nothing is carried out.
    Running::start(place.command(&[])).wait().ends(0);
    assert_eq!(history(&place).len(), 2);
}

#[test]
fn instances_that_moved_rest_in_the_next_run() {
    let place = Place::new();
    run(&place, &["-l2"]).ends(0);
    let first = instances(&history(&place)[0]);
    let (out, _) = run(&place, &["-l2", "--cooldown=1h"]).ends(0);
    let second = instances(&history(&place)[2]);
    assert!(!second.is_empty() && second.iter().all(|name| !first.contains(name)), "{out}");
    let (_, error) = run(&place, &["--moves-per-day=4"]).ends(0);
    assert!(error.contains("Nothing is done: 4 moves in the last 24 hours"), "{error}");
}

#[test]
fn moves_of_a_run_that_was_killed_count() {
    let place = Place::new();
    place.world.hold(true);
    let running = place.start(&["-X", "-l2"]);
    running.until("Got job IDs");
    running.kill();
    place.world.hold(false);
    // A job that is still under way would be the reason to do nothing.
    place
        .world
        .await_that("the ends of all jobs", |state| state.jobs.values().all(|job| is_final(job.status)));
    let lines = history(&place);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let (_, error) = run(&place, &["--moves-per-day=2"]).ends(0);
    assert!(error.contains("Nothing is done: 2 moves in the last 24 hours"), "{error}");
}

#[test]
fn a_condition_must_hold_in_a_row() {
    let place = Place::new();
    let steady = ["--only-if=memory>10 or score>1", "--rounds=3"];
    for round in ["1 of 3", "2 of 3"] {
        let (out, error) = run(&place, &steady).ends(0);
        assert!(out.is_empty() && error.contains(&format!("this is round {round}")), "{error}");
        // A plan without --exec is no round.
        Running::start(place.command(&steady)).wait().ends(0);
    }
    let (_, error) = run(&place, &["--only-if=score>2", "--rounds=3"]).ends(0);
    assert!(error.contains("this is round 1 of 3"), "another condition counts by itself: {error}");
    let (out, _) = run(&place, &steady).ends(0);
    assert!(out.contains("Solution length="), "{out}");
    let looks = history(&place).into_iter().filter(|line| line["event"] == "look").count();
    assert_eq!(looks, 4);
    let (_, error) = run(&place, &steady).ends(0);
    assert!(error.contains("round 1 of 3") || error.contains("Nothing to do"), "{error}");
}

#[test]
fn runs_that_meet_do_nothing() {
    let place = Place::new();
    place.world.hold(true);
    let first = place.start(&["-X", "-l1", "--cooldown=1h"]);
    first.until("Got job IDs");
    let (out, error) = run(&place, &["--cooldown=1h"]).ends(0);
    assert!(
        out.is_empty() && error.contains("Nothing is done: another hbal is running on cluster"),
        "{error}"
    );
    first.kill();
}

#[test]
fn jobs_of_others_are_left_alone() {
    fn check(world: &World, start: impl Fn(&[&str]) -> Running) {
        world.hold(true);
        // Without these options hbal takes no lock.
        let other = start(&["-X", "-l1"]);
        other.until("Got job IDs");
        let (out, error) = start(&["-X", "--cooldown=1h"]).wait().ends(0);
        assert!(out.is_empty() && error.starts_with("Nothing is done: job "), "{error}");
        assert!(error.contains(" is under way (OP_INSTANCE_"), "{error}");
        other.kill();
    }
    let place = Place::new();
    check(&place.world, |options| place.start(options));
    let remote = Remote::new();
    check(&remote.world, |options| remote.start(options));
}

#[test]
fn a_runway_by_what_earlier_runs_noted() {
    const DAY: u64 = 86_400_000;
    let place = Place::new();
    let runway = || {
        let mut command = tool("hspace", place.directory.path());
        command.args(["--luxi=luxi.sock", "--runway", "--json"]);
        let (document, _) = Running::start(command).wait().ends(0);
        let document: Value = serde_json::from_str(&document).unwrap();
        document["capacities"].as_array().unwrap().clone()
    };
    assert!(runway().iter().all(|row| row["state"] == "unknown"), "nothing is known on the first day");
    let noted = history(&place).pop().unwrap();
    assert_eq!((&noted["event"], &noted["tool"]), (&"use".into(), &"hspace".into()));
    let memory = &noted["groups"][0]["memory"];
    let (used, limit) = (memory["used"].as_i64().unwrap(), memory["limit"].as_i64().unwrap());
    // As if it had run on twenty days before, with 512 MiB more each day.
    let earlier = (1..=20).rev().map(|ago| {
        let mut line = noted.clone();
        line["at"] = (noted["at"].as_u64().unwrap() - ago * DAY).into();
        line["groups"][0]["memory"]["used"] = (used - 512 * i64::try_from(ago).unwrap()).into();
        format!("{line}\n")
    });
    let lines: String = earlier.chain([format!("{noted}\n")]).collect();
    fs::write(place.path("state/htools/history.jsonl"), lines).unwrap();
    let rows = runway();
    let row = |capacity: &str| rows.iter().find(|row| row["capacity"] == capacity).unwrap();
    let days = row("memory")["days"]["expected"].as_f64().unwrap();
    let exact = (limit - used) as f64 / 512.0;
    assert!((days - exact).abs() < 1e-6, "{days} days instead of {exact}");
    assert_eq!((&row("cpu")["state"], row("tiered")["known_days"].as_u64()), (&"lasts".into(), Some(21)));
}
