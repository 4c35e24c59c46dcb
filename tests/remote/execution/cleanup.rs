//! Live migrations that fail half-way: the instance is reported with its cleanup command.

use super::program::{Place, htools};
use super::queue::Fate;
use super::remote::Remote;

const FIRST: &str = "An instance may be half migrated. On the master node, run this before it moves again:";
const LAST: &str = "After that, make a new plan with hbal.";

fn command(instance: &str) -> String {
    format!("  gnt-instance migrate --cleanup -f {instance}.vc.test")
}

/// The place after a run in which the second job failed. This job copies the disks of inst07 and migrates it.
fn after(fate: Fate, options: &[&str]) -> (Place, String) {
    let place = Place::new();
    place.world.lock().fates.insert(26, fate);
    let (_, stderr) = place.execute(options).ends(1);
    (place, stderr)
}

/// The lines after the table of steps.
fn behind_the_table(stderr: &str) -> Vec<&str> {
    let table = stderr.lines().skip_while(|line| *line != "Steps:").skip(1);
    table.skip_while(|line| line.starts_with("   ")).take_while(|line| !line.starts_with("Error: ")).collect()
}

#[test]
fn a_migration_fails_while_it_is_carried_out() {
    let fate = Fate::FailsIn(1, "OpExecError", "Could not migrate instance");
    let (place, stderr) = after(fate, &["--json-events", "E"]);
    assert_eq!(behind_the_table(&stderr), [FIRST, &command("inst07"), LAST]);
    // The events for programs.
    let events = place.read("E");
    let ended = events.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let ended = ended.filter(|event| event["event"] == "step_ended").collect::<Vec<_>>();
    assert_eq!(ended[0].get("cleanup"), None);
    assert_eq!(ended[1]["cleanup"], serde_json::json!([command("inst07").trim()]));
    let record = place.journal().into_iter().rev().find(|record| record["event"] == "ended").unwrap();
    assert_eq!(record["failed_opcode"], 1);
    // The journal records it, and a resumption reports it first.
    let (_, stderr) = place.resume().ends(1);
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines[..3], [FIRST, &command("inst07"), LAST]);
    assert!(lines[3].contains("step 2, instance 'inst07.vc.test', failed in this run"), "{stderr}");
    let (_, stderr) = htools(&place, &["undo", "J", "--ignore-soft-errors"]).ends(0);
    assert!(stderr.starts_with(&format!("{FIRST}\n{}\n{LAST}\n", command("inst07"))), "{stderr}");
}

#[test]
fn a_job_vanishes_while_it_runs() {
    let place = Place::new();
    place.world.change(|state| {
        state.fates.insert(26, Fate::Vanishes);
        state.held_from = 26;
    });
    let running = place.start(&["-X", "--journal", "J", "--json-events", "E"]);
    let seen = r#""job":26,"status":"running""#;
    place
        .world
        .await_that("its state is seen", |_| place.path("E").exists() && place.read("E").contains(seen));
    place.world.change(|state| state.held_from = u64::MAX);
    let (_, stderr) = running.wait().ends(1);
    assert_eq!(behind_the_table(&stderr), [FIRST, &command("inst07"), LAST]);
}

#[test]
fn migrations_that_never_began_are_not_told() {
    for fate in [
        // The disks are copied first.
        Fate::FailsIn(0, "OpExecError", "Can't create block device"),
        Fate::FailsIn(1, "OpPrereqError", "Instance is locked"),
        Fate::Cancelled,
    ] {
        let (place, stderr) = after(fate, &[]);
        assert_eq!(behind_the_table(&stderr), [""; 0], "{fate:?}\n{stderr}");
        let (_, stderr) = place.resume().ends(1);
        assert!(stderr.starts_with("Error: ") && stderr.lines().count() == 2, "{stderr}");
    }
}

#[test]
fn a_run_that_goes_on_past_failures_says_so_before_it_goes_on() {
    let place = Place::new();
    place.world.lock().fates.insert(25, Fate::FailsIn(0, "OpExecError", "Could not migrate instance"));
    let stream = ["-X", "--journal", "J", "--stream", "--on-failure=continue", "--max-parallel=1"];
    place.world.change(|state| state.held_from = 26);
    let running = place.start(&stream);
    running.until("Got job IDs 26\n");
    let name = place.world.lock().jobs[&25].ops[0]["instance_name"].as_str().unwrap().to_owned();
    running.kill();
    place.world.change(|state| state.held_from = u64::MAX);
    let (_, stderr) = place.resume().ends(1);
    let command = format!("  gnt-instance migrate --cleanup -f {name}");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines[..3], [FIRST, &command, "After that, hbal --resume J continues the run."], "{stderr}");
    // It is also reported at the end, when nothing is left to do.
    assert_eq!(behind_the_table(&stderr), [FIRST, &command, LAST]);
    let moved = place.world.new_jobs().iter().filter(|(_, job)| job.ops[0]["instance_name"] == *name).count();
    assert_eq!(moved, 1);
}

#[test]
fn over_rapi_only_the_job_that_failed_counts() {
    let failed = |job: u64| {
        let remote = Remote::new();
        remote.world.lock().fates.insert(job, Fate::FailsIn(0, "OpExecError", "no"));
        let (_, stderr) = remote.execute(&[]).ends(1);
        let (_, resumed) = remote.resume().ends(1);
        (stderr, resumed)
    };
    // A chain of migration, copy and migration: jobs 25, 26 and 27.
    for job in [25, 27] {
        let (stderr, resumed) = failed(job);
        assert_eq!(behind_the_table(&stderr), [FIRST, &command("inst01"), LAST]);
        assert!(resumed.starts_with(&format!("{FIRST}\n{}\n{LAST}\n", command("inst01"))), "{resumed}");
    }
    let (stderr, resumed) = failed(26);
    assert_eq!(behind_the_table(&stderr), [""; 0]);
    assert!(resumed.starts_with("Error: ") && resumed.lines().count() == 2, "{resumed}");
}
