//! `hgroup redistribute -X` and `hgroup compress -X`: groups are repaired, and emptied.

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use super::cluster::Cluster;
use super::groups::{arrived, command};
use super::program::{Place, Ran, Running, tool};
use super::queue::FIRST;
use super::rapi::Rapi;
use super::terminal::answered;

/// Two groups: node1 to node3 are in `default`, the others in `second`.
pub fn two_groups(change: impl FnOnce(&mut Cluster)) -> Place {
    let place = Place::new();
    let mut world = place.world.lock();
    world.cluster.split(&["node4.vc.test", "node5.vc.test", "node6.vc.test"]);
    change(&mut world.cluster);
    drop(world);
    place
}

/// `node3` is lost. It has inst09 (secondary on node1), the second copies of inst04 and inst08, and inst13, whose
/// disks are elsewhere.
pub fn lose_node3(cluster: &mut Cluster) {
    cluster.put("inst13.vc.test", "node3.vc.test");
    cluster.set_offline("node3.vc.test");
}

/// In addition, `node5` is lost. It is alone in a group, with an instance that cannot move.
fn lose_node5(cluster: &mut Cluster) {
    cluster.put("inst11.vc.test", "node5.vc.test");
    cluster.split_as("third", &["node5.vc.test"]);
    cluster.set_offline("node5.vc.test");
}

/// Puts inst09 and inst13 into `second`; no node of `default` lacks memory.
fn two_in_second(cluster: &mut Cluster) {
    for name in ["inst06", "inst07", "inst10"] {
        cluster.place(&format!("{name}.vc.test"), "node2.vc.test", "node3.vc.test");
    }
    cluster.place("inst09.vc.test", "node4.vc.test", "node5.vc.test");
    cluster.put("inst13.vc.test", "node6.vc.test");
}

fn run(place: &Place, options: &[&str]) -> Ran {
    Running::start(command(place, options)).wait()
}

fn remote(place: &Place, rapi: &Rapi, options: &[&str]) -> Command {
    let mut command = tool("hgroup", place.directory.path());
    command.env("GANETI_RAPI_USER", "user").env("GANETI_RAPI_PASSWORD", "x");
    command.args(["-m", &rapi.url()]).args(options);
    command
}

/// Actions of each job, by the short name of its instance: `m` migrates, `m:NODE` migrates to a node, `r:NODE`
/// replaces the secondary.
fn done(place: &Place) -> Vec<(String, Vec<String>)> {
    let short = |value: &Value| value.as_str().unwrap().split('.').next().unwrap().to_owned();
    let word = |op: &Value| match (&op["target_node"], &op["remote_node"]) {
        (Value::Null, Value::Null) => "m".to_owned(),
        (target, Value::Null) => format!("m:{}", short(target)),
        (_, remote) => format!("r:{}", short(remote)),
    };
    let jobs = place.world.new_jobs();
    jobs.iter().map(|(_, j)| (short(&j.ops[0]["instance_name"]), j.ops.iter().map(word).collect())).collect()
}

/// Checks that nothing is left on a node.
#[track_caller]
fn is_empty(place: &Place, node: &str) {
    let held = place.world.lock().cluster.instances_on(&format!("{node}.vc.test"));
    assert_eq!(held, [const { Vec::<String>::new() }; 2], "{node}");
}

fn nothing_was_submitted(place: &Place) {
    assert_eq!(place.world.lock().submissions.len(), 0);
    assert!(!place.path("J").exists());
}

const HEAL: &[&str] = &["redistribute", "-X", "--journal", "J"];

fn with<'a>(options: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [options, more].concat()
}

#[track_caller]
fn healed(place: &Place) {
    is_empty(place, "node3");
    let (stdout, _) = run(place, &["redistribute"]).ends(0);
    assert_eq!(stdout, "All groups are healthy, nothing to do.\n");
}

#[test]
fn a_group_is_healed() {
    let place = two_groups(lose_node3);
    let (stdout, _) = run(&place, &with(HEAL, &["--json", "--detailed-status"])).ends(4);
    let document: Value = serde_json::from_str(&stdout).unwrap();
    arrived(&place, &document);
    healed(&place);
    let jobs = done(&place);
    let job = |name: &str| {
        let words = &jobs.iter().find(|(there, _)| there == name).unwrap_or_else(|| panic!("{jobs:?}")).1;
        // The nodes are those of the plan.
        words.iter().map(|word| word.split(':').next().unwrap()).collect::<String>()
    };
    // Its primary node is lost, so it fails over first.
    assert_eq!(job("inst09"), "mrmr");
    // The last of them moves so that each of the two other nodes can be emptied onto the other.
    assert_eq!([job("inst04"), job("inst08"), job("inst05")], ["rmr", "rmr", "rmr"]);
    assert_eq!(job("inst13"), "m");
    let repair = &document["repairs"][0];
    assert_eq!((&repair["group"], &repair["health"]), (&"default".into(), &"unhealthy".into()));
    assert!(jobs.len() == 5 && jobs.len() == document["moves"].as_array().unwrap().len(), "{jobs:?}");
    let comment = place.world.lock().jobs[&FIRST].ops[0]["comment"].as_str().unwrap().to_owned();
    assert!(comment.starts_with("redistribute by hgroup (htools) version "), "{comment}");
}

#[test]
fn the_same_over_the_remote_api() {
    let place = two_groups(lose_node3);
    let rapi = Rapi::new(&place.world);
    let (stdout, _) = Running::start(remote(&place, &rapi, &with(HEAL, &["--json"]))).wait().ends(0);
    arrived(&place, &serde_json::from_str(&stdout).unwrap());
    healed(&place);
    // Four jobs, one after another.
    let jobs = place.world.new_jobs();
    let of = |name: &str| -> Vec<bool> {
        let there = jobs.iter().filter(|(_, job)| job.ops[0]["instance_name"] == name);
        there.map(|(_, job)| job.ops[0]["depends"][0][0].is_u64()).collect()
    };
    assert_eq!(of("inst09.vc.test"), [false, true, true, true]);
    assert_eq!(of("inst13.vc.test"), [false]);
}

#[test]
fn what_cannot_be_healed_is_a_failure_although_the_rest_is_done() {
    for (options, status) in [(&[][..], 1), (&["--detailed-status"], 1)] {
        let place = two_groups(|cluster| {
            lose_node3(cluster);
            lose_node5(cluster);
        });
        let (stdout, stderr) = run(&place, &with(HEAL, options)).ends(status);
        assert!(stdout.contains("\n1 of 2 groups can be repaired, with "), "{stdout}");
        assert!(stderr.contains(" steps are done, in "), "{stderr}");
        is_empty(&place, "node3");
        let count = place.world.new_jobs().len();
        assert_eq!(count, 4);
        // The second time, there is nothing to execute.
        fs::remove_file(place.path("J")).unwrap();
        let (stdout, _) = run(&place, &with(HEAL, options)).ends(status);
        assert!(stdout.ends_with("The group cannot be repaired.\n"), "{stdout}");
        assert_eq!(place.world.new_jobs().len(), count);
    }
}

#[test]
fn a_group_is_emptied() {
    let emptied = |place: &Place, stdout: &str| {
        let document: Value = serde_json::from_str(stdout).unwrap();
        assert_eq!(document["emptied"], "second");
        arrived(place, &document);
        ["node4", "node5", "node6"].into_iter().for_each(|node| is_empty(place, node));
        let (stdout, _) = run(place, &["redistribute"]).ends(0);
        assert_eq!(stdout, "All groups are healthy, nothing to do.\n");
    };
    let place = two_groups(two_in_second);
    let (stdout, _) = run(&place, &["compress", "-G", "second", "-X", "--json"]).ends(0);
    emptied(&place, &stdout);
    let words: Vec<String> =
        done(&place).into_iter().map(|(name, words)| format!("{name} {}", words.len())).collect();
    assert_eq!(words, ["inst09 3", "inst13 1"], "a DRBD instance, and one on storage outside");
    // The group is empty already.
    let (stdout, _) = run(&place, &["compress", "-G", "second", "-X"]).ends(1);
    assert!(stdout.contains("it is empty"), "{stdout}");
    assert_eq!(place.world.new_jobs().len(), 2);

    let place = two_groups(two_in_second);
    let rapi = Rapi::new(&place.world);
    let command = remote(&place, &rapi, &["compress", "--evacuate", "-X", "--json", "--detailed-status"]);
    let (stdout, _) = Running::start(command).wait().ends(4);
    emptied(&place, &stdout);
    assert_eq!(place.world.new_jobs().len(), 4);
}

#[test]
fn nothing_to_do() {
    let execute = &["-X", "--journal", "J"][..];
    let place = two_groups(two_in_second);
    for (options, status, says) in [
        (&["redistribute"][..], 0, "All groups are healthy, nothing to do.\n"),
        (&["redistribute", "--detailed-status"], 0, "All groups are healthy, nothing to do.\n"),
        (&["compress"], 0, "Group second can be emptied.\n"),
        (&["compress", "-G", "default"], 1, "No group can be emptied.\n"),
        (&["balance", "-e", "1000"], 0, "No move gains enough"),
        (&["balance", "-l", "0", "--json", "--detailed-status"], 0, "\"moves\": []"),
    ] {
        let (stdout, stderr) = run(&place, &with(options, execute)).ends(status);
        assert!(stdout.contains(says), "{options:?}: {stdout}");
        assert_eq!(stderr, "", "{options:?}");
    }
    nothing_was_submitted(&place);
}

#[test]
fn a_no_executes_nothing() {
    for (options, asks) in [
        (HEAL, "Execute these "),
        (&["compress", "-G", "second", "-X", "-l", "2", "--journal", "J"], "Execute these 2 moves? [y/N] "),
        (&["balance", "-l", "1", "-X", "--journal", "J"], "Execute this move? [y/N] "),
    ] {
        let place = two_groups(if options == HEAL { lose_node3 } else { two_in_second });
        let (status, shown) = answered(command(&place, options), "n\n");
        assert_eq!(status, 1, "{shown}");
        assert_eq!(shown.matches(asks).count(), 1, "{shown}");
        assert!(shown.contains("Nothing was executed."), "{shown}");
        nothing_was_submitted(&place);
        let (status, shown) = answered(command(&place, options), "y\n");
        assert_eq!(status, 0, "{shown}");
        assert!(!place.world.new_jobs().is_empty());
    }
}

#[test]
fn a_cluster_that_changes_before_it_is_healed() {
    let place = two_groups(lose_node3);
    place.world.on_read(|number, cluster: &mut Cluster| {
        if number == 1 {
            cluster.set_offline("node4.vc.test");
            cluster.place("inst08.vc.test", "node2.vc.test", "node1.vc.test");
        }
    });
    let (stdout, stderr) = run(&place, HEAL).ends(0);
    assert!(stderr.contains("so the plan is made anew:\n"), "{stderr}");
    for change in [
        "node 'node4.vc.test' is offline, and was in use",
        "instance 'inst08.vc.test' is on node2.vc.test and node1.vc.test",
    ] {
        assert!(stderr.contains(change), "{stderr}");
    }
    assert_eq!(stdout.matches("Group default is unhealthy").count(), 2, "{stdout}");
    healed(&place);
    is_empty(&place, "node4");
    assert!(place.world.lock().submissions.iter().all(|text| !text.contains("node4")));
}

#[test]
fn a_run_that_is_killed_goes_on() {
    let place = two_groups(lose_node3);
    place.world.hold(true);
    let running = Running::start(command(&place, HEAL));
    running.until("Got job IDs 25");
    running.kill();
    place.world.hold(false);
    run(&place, &["redistribute", "--resume", "J"]).ends(0);
    healed(&place);
    let jobs = place.world.new_jobs();
    assert!(jobs.iter().all(|(_, job)| job.status == "success"));
    // No instance appears twice.
    let mut names: Vec<String> = done(&place).into_iter().map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), jobs.len());
    let (stdout, stderr) = run(&place, &["redistribute", "--resume", "J"]).ends(0);
    assert_eq!(stdout, "");
    assert!(stderr.contains(" steps were done before\n"), "{stderr}");
}

#[test]
fn a_run_that_is_interrupted_goes_on() {
    let place = two_groups(two_in_second);
    place.world.hold(true);
    let running =
        Running::start(command(&place, &["compress", "--evacuate", "-X", "--journal", "J", "-l", "2"]));
    running.until("Got job IDs 25");
    running.signal(Signal::INT);
    running.until("Cancel request registered");
    place.world.hold(false);
    let (_, stderr) = running.wait().ends(0);
    let jobs = place.world.new_jobs().len();
    if jobs == 1 {
        assert!(stderr.contains("hgroup --resume J continues the run"), "{stderr}");
    }
    run(&place, &["compress", "--resume", "J"]).ends(0);
    ["node4", "node5", "node6"].into_iter().for_each(|node| is_empty(&place, node));
    assert_eq!(place.world.new_jobs().len(), 2);
}

/// Over the remote API, each leg is a job. If the run is killed between two legs, an instance has nodes in two
/// groups.
#[test]
fn a_run_that_is_killed_between_legs_goes_on() {
    let place = two_groups(lose_node3);
    let rapi = Rapi::new(&place.world);
    place.world.change(|state| state.held_from = FIRST + 3);
    let running = Running::start(remote(&place, &rapi, HEAL));
    running.until("Got job IDs 25");
    place
        .world
        .await_that("two legs", |state| state.jobs.get(&(FIRST + 2)).is_some_and(|j| j.status == "success"));
    running.kill();
    place.world.change(|state| state.held_from = u64::MAX);
    Running::start(remote(&place, &rapi, &["redistribute", "--resume", "J"])).wait().ends(0);
    healed(&place);
}
