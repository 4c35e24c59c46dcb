//! `hgroup -X`: instances move between groups, leg by leg.

use std::process::Command;

use serde_json::Value;

use super::cluster::Cluster;
use super::program::{Place, Ran, Running, tool};
use super::queue::{FIRST, Fate};
use super::rapi::Rapi;

/// The recorded cluster in two groups: three nodes with all instances, and three empty nodes.
fn place() -> Place {
    let place = Place::new();
    let mut world = place.world.lock();
    for (name, primary, secondary) in world.cluster.places() {
        let instance = format!("{name}.vc.test");
        let full = |node: &str| format!("{node}.vc.test");
        // Nothing may be left on the last three.
        let elsewhere = |node: &str| {
            match node {
                "node4" => "node1",
                "node5" => "node2",
                "node6" => "node3",
                other => other,
            }
            .to_owned()
        };
        let (to, mut back) = (elsewhere(&primary), elsewhere(&secondary));
        if to == back {
            back = if to == "node1" { "node2".into() } else { "node1".into() };
        }
        if !secondary.is_empty() && (to, &back) != (primary.clone(), &secondary) {
            world.cluster.place(&instance, &full(&elsewhere(&primary)), &full(&back));
        }
    }
    world.cluster.split(&["node4.vc.test", "node5.vc.test", "node6.vc.test"]);
    drop(world);
    place
}

const BALANCE: &[&str] = &["balance", "-l", "5", "--no-capacity-checks"];

pub fn command(place: &Place, options: &[&str]) -> Command {
    let mut command = tool("hgroup", place.directory.path());
    command.arg("--luxi=luxi.sock").args(options);
    command
}

fn execute(place: &Place, options: &[&str]) -> Ran {
    Running::start(command(place, &[BALANCE, &["-X", "--journal", "J"], options].concat())).wait()
}

/// Checks that each instance is where the document's plan put it.
#[track_caller]
pub fn arrived(place: &Place, document: &Value) {
    let places = place.world.lock().cluster.places();
    let moves = document["moves"].as_array().unwrap();
    assert!(!moves.is_empty(), "{document}");
    for step in moves {
        let short = |value: &Value| value.as_str().unwrap_or_default().split('.').next().unwrap().to_owned();
        let name = short(&step["instance"]);
        let (_, primary, secondary) = places.iter().find(|(there, ..)| *there == name).unwrap();
        let to = &step["to"];
        assert_eq!((primary, secondary), (&short(&to["primary"]), &short(&to["secondary"])), "{step}");
    }
}

#[test]
fn a_plan_is_carried_out() {
    let place = place();
    let (stdout, _) = execute(&place, &["--json", "--detailed-status"]).ends(4);
    let document: Value = serde_json::from_str(&stdout).unwrap();
    arrived(&place, &document);
    let jobs = place.world.new_jobs();
    assert_eq!(jobs.len(), document["moves"].as_array().unwrap().len());
    for (_, job) in &jobs {
        // An instance is one job, so that its legs keep their order.
        let names: Vec<&Value> = job.ops.iter().map(|op| &op["instance_name"]).collect();
        assert!(names.iter().all(|name| *name == names[0]), "{names:?}");
        let comment = job.ops[0]["comment"].as_str().unwrap();
        assert!(comment.starts_with("balance by hgroup (htools) version "), "{comment}");
    }
    assert!(jobs.iter().any(|(_, job)| job.ops.len() == 3), "no DRBD instance");
}

#[test]
fn the_same_over_the_remote_api() {
    let place = place();
    let rapi = Rapi::new(&place.world);
    let mut command = tool("hgroup", place.directory.path());
    command.env("GANETI_RAPI_USER", "user").env("GANETI_RAPI_PASSWORD", "x");
    command.args(["-m", &rapi.url(), "-X", "--json"]).args(BALANCE);
    let (stdout, _) = Running::start(command).wait().ends(0);
    arrived(&place, &serde_json::from_str(&stdout).unwrap());
    // Each leg waits for the one before it.
    let jobs = place.world.new_jobs();
    let legs = jobs.iter().filter(|(_, job)| job.ops[0]["depends"][0][0].is_u64()).count();
    assert!(legs >= 2, "{legs}");
}

#[test]
fn a_failure_ends_the_run() {
    let place = place();
    place.world.lock().fates.insert(FIRST, Fate::Fails("no room"));
    let (stdout, stderr) = execute(&place, &[]).ends(1);
    assert!(stdout.contains("\nGot job IDs 25"), "{stdout}");
    assert!(
        stderr.contains("Error: hgroup: Not all jobs completed successfully: step 1, instance '"),
        "{stderr}"
    );
    let (_, stderr) = Running::start(command(&place, &["balance", "--resume", "J"])).wait().ends(1);
    assert!(stderr.contains("failed in this run\nHint: make a new plan with hgroup"), "{stderr}");
}

#[test]
fn a_killed_run_goes_on() {
    let place = place();
    place.world.hold(true);
    let running = Running::start(command(&place, &[BALANCE, &["-X", "--journal", "J"]].concat()));
    running.until("Got job IDs 25");
    running.kill();
    place.world.hold(false);
    Running::start(command(&place, &["balance", "--resume", "J"])).wait().ends(0);
    let jobs = place.world.new_jobs();
    assert_eq!(jobs.len(), 5);
    assert!(jobs.iter().all(|(_, job)| job.status == "success"));
}

#[test]
fn a_changed_cluster() {
    for json in [false, true] {
        let place = place();
        place.world.on_read(|number, cluster: &mut Cluster| {
            if number == 1 {
                cluster.set_offline("node4.vc.test");
            }
        });
        let (stdout, stderr) = execute(&place, if json { &["--json"] } else { &[] }).ends(0);
        assert!(stderr.contains("so the plan is made anew:\n  node 'node4.vc.test' is offline"), "{stderr}");
        if json {
            arrived(&place, &serde_json::from_str(&stdout).unwrap());
        }
        assert!(place.world.lock().submissions.iter().all(|text| !text.contains("node4")));
    }
}

#[test]
fn options_of_plans_mean_nothing_to_status() {
    let place = place();
    for option in ["-X", "--resume=J"] {
        let (_, stderr) = Running::start(command(&place, &["status", option])).wait().ends(1);
        assert!(
            stderr.contains("does not apply to `hgroup status'\n")
                && stderr.contains("`hgroup compress', `hgroup balance'"),
            "{stderr}"
        );
    }
}

/// Pools of the partitions that `hgroup status` shows over LUXI.
fn pools(place: &Place) -> Vec<(String, u64)> {
    let (stdout, _) = Running::start(command(place, &["status", "--json"])).wait().ends(0);
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let rows = document["partitions"].as_array().unwrap().iter();
    rows.map(|row| (row["pool"].as_str().unwrap().to_owned(), row["instances"].as_u64().unwrap())).collect()
}

#[test]
fn the_pools_that_ganeti_exports() {
    for (exported, moves) in [("rbd", true), ("slow", false)] {
        let place = place();
        let mut world = place.world.lock();
        world.cluster.put_on_ceph();
        world.cluster.export("second", exported);
        drop(world);
        assert_eq!(pools(&place), [("external/rbd".to_owned(), 16)]);
        let (stdout, _) = execute(&place, &["--json"]).ends(0);
        let document: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(document["moves"].as_array().unwrap().is_empty(), !moves, "{document}");
        assert_eq!(place.world.new_jobs().is_empty(), !moves);
    }
}

/// The pools are checked again before the execution.
#[test]
fn a_group_that_exports_another_pool_meanwhile() {
    let place = place();
    place.world.lock().cluster.put_on_ceph();
    place.world.on_read(|number, cluster: &mut Cluster| {
        if number == 1 {
            cluster.export("second", "slow");
        }
    });
    let (_, stderr) = execute(&place, &[]).ends(0);
    assert!(stderr.contains("so the plan is made anew:\n  move 1, instance '"), "{stderr}");
    assert!(stderr.contains("does not reach its storage"), "{stderr}");
    assert!(place.world.new_jobs().is_empty());
}
