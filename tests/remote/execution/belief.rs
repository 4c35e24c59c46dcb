//! Jobs that succeed without the intended effect.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use super::cluster::Cluster;
use super::groups;
use super::program::{Place, Running, hbal};
use super::queue::{FIRST, Fate};
use super::rapi::Rapi;
use super::recorded::{end, output};
use super::regroup::{lose_node3, two_groups};
use super::server::Act;
use super::several;
use super::signals::held;
use super::squeeze::{self, MORNING, NIGHT, has};

const HEADING: &str = "The cluster differs from the plan:\n";
const ERROR: &str = "all jobs succeeded, but the cluster differs from the plan: see ";
const INST01: &str = "  instance 'inst01.vc.test' is on node1.vc.test and node2.vc.test, and should be on ";

/// A daemon that ignores opcodes with this text but reports success.
fn lying(part: &'static str) -> Place {
    let place = Place::new();
    place.world.lock().lies.push(part);
    place
}

/// Nodes of an instance after the recorded plan.
fn planned(instance: &str) -> (String, String) {
    let (_, primary, secondary) = end().into_iter().find(|(name, ..)| name == instance).unwrap();
    (format!("{primary}.vc.test"), format!("{secondary}.vc.test"))
}

#[test]
fn a_job_that_did_nothing() {
    let place = lying("inst01.vc.test");
    let (stdout, stderr) = place.execute(&[]).ends(1);
    assert_eq!(stdout, output());
    has(&stderr, &format!("{HEADING}{INST01}"));
    assert!(stderr.ends_with(&format!("Error: hbal: {ERROR}inst01.vc.test above\n")), "{stderr}");
    assert_eq!(stderr.matches(", and should be ").count(), 1, "{stderr}");
    // The run is over, but the cluster is not as planned; a later resumption notices this, too.
    let (_, stderr) = place.resume().ends(1);
    assert!(stderr.starts_with(&format!("All 13 steps were done before\n{HEADING}{INST01}")), "{stderr}");
    let (primary, secondary) = planned("inst01");
    place.world.lock().cluster.place("inst01.vc.test", &primary, &secondary);
    place.resume().ends(0);
    assert_eq!(place.world.new_jobs().len(), 13);
}

#[test]
fn no_job_did_anything() {
    let place = lying("OP_INSTANCE");
    let (_, stderr) = place.execute(&["--json"]).ends(1);
    // All instances that move.
    assert_eq!(stderr.matches(", and should be on ").count(), 10, "{stderr}");
}

#[test]
fn a_job_that_moved_to_another_node() {
    let place = Place::new();
    // This affects the first reading after the run, and all later ones.
    place.world.on_read(|number, cluster: &mut Cluster| {
        if number >= 2 {
            cluster.place("inst01.vc.test", "node3.vc.test", "node6.vc.test");
        }
    });
    let (_, stderr) = place.execute(&[]).ends(1);
    let (primary, secondary) = planned("inst01");
    has(
        &stderr,
        &format!(
            "  instance 'inst01.vc.test' is on node3.vc.test and node6.vc.test, and should be on {primary} and {secondary}\n"
        ),
    );
}

#[test]
fn a_daemon_that_learns_of_it_a_little_later() {
    let place = Place::new();
    let (primary, secondary) = planned("inst01");
    place.world.on_read(move |number, cluster: &mut Cluster| match number {
        2 => cluster.place("inst01.vc.test", "node1.vc.test", "node2.vc.test"),
        3 => cluster.place("inst01.vc.test", &primary, &secondary),
        _ => {}
    });
    let (_, stderr) = place.execute(&[]).ends(0);
    assert!(!stderr.contains("planned"), "{stderr}");
}

#[test]
fn what_others_did_meanwhile() {
    let place = Place::new();
    let moved: Vec<String> =
        output().lines().filter(|line| line.contains(" => ")).map(str::to_owned).collect();
    let places = place.world.lock().cluster.places();
    let other = places.into_iter().find(|(name, ..)| !moved.iter().any(|line| line.contains(name.as_str())));
    let (other, primary, _) = other.expect("an instance that stays");
    let to = if primary == "node3" { "node5.vc.test" } else { "node3.vc.test" };
    place.world.on_read(move |number, cluster: &mut Cluster| {
        if number == 2 {
            cluster.put(&format!("{other}.vc.test"), to);
            cluster.set_drained("node6.vc.test");
        }
    });
    place.execute(&[]).ends(0);
}

#[test]
fn a_cluster_that_cannot_be_read_then() {
    let place = Place::new();
    let running = held(&place);
    place.world.change(|state| state.always.insert("Query", vec![Act::Close]));
    place.world.hold(false);
    let (_, stderr) = running.wait().ends(1);
    has(&stderr, "Error: hbal: all jobs succeeded, but the cluster could not be compared with the plan: ");
    place.world.change(|state| state.always.clear());
    place.resume().ends(0);
}

#[test]
fn a_run_that_ends_otherwise_is_not_compared() {
    let place = lying("OP_INSTANCE");
    let running = held(&place);
    running.signal(Signal::INT);
    running.until("Cancel request registered");
    place.world.hold(false);
    let (_, stderr) = running.wait().ends(0);
    assert!(!stderr.contains("planned"), "{stderr}");
    let place = lying("OP_INSTANCE");
    place.world.lock().fates.insert(FIRST + 1, Fate::Fails("no way"));
    let (_, stderr) = place.execute(&[]).ends(1);
    assert!(!stderr.contains("planned"), "{stderr}");
}

#[test]
fn a_resumed_run() {
    let place = lying("inst01.vc.test");
    held(&place).kill();
    place.world.hold(false);
    let (_, stderr) = place.resume().ends(1);
    has(&stderr, &format!("{HEADING}{INST01}"));
}

#[test]
fn over_the_remote_api() {
    let place = lying("inst01.vc.test");
    let rapi = Rapi::new(&place.world);
    let mut command = hbal(place.directory.path());
    command.env("GANETI_RAPI_USER", "user").env("GANETI_RAPI_PASSWORD", "x");
    command.args(["-m", &rapi.url(), "-X"]);
    let (stdout, stderr) = Running::start(command).wait().ends(1);
    has(&stdout, "Cluster score improved from ");
    has(&stderr, &format!("{HEADING}{INST01}"));
}

#[test]
fn all_groups_at_once() {
    let place = several::place();
    place.world.lock().lies.push("OP_INSTANCE");
    let (stdout, stderr) = place.execute(&["--all-groups", "--json"]).ends(1);
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let steps = document["steps"].as_array().unwrap();
    assert!(!steps.is_empty());
    for step in steps {
        has(&stderr, &format!("  instance '{}' is on ", step["instance"].as_str().unwrap()));
    }
}

#[test]
fn between_groups() {
    let place = two_groups(lose_node3);
    place.world.lock().lies.push("inst09.vc.test");
    let run = |options: &[&str]| Running::start(groups::command(&place, options)).wait();
    let (_, stderr) = run(&["redistribute", "-X", "--journal", "J"]).ends(1);
    has(&stderr, &format!("{HEADING}  instance 'inst09.vc.test' is on "));
    has(&stderr, &format!("Error: hgroup: {ERROR}inst09.vc.test above\n"));
    let (_, stderr) = run(&["redistribute", "--resume", "J"]).ends(1);
    has(&stderr, HEADING);
}

#[test]
fn nodes_that_are_not_switched() {
    // Each with the expected message about node6.
    for (lie, options, wrong) in [
        ("OP_TAGS_SET", &[][..], "has not the tag 'htools:standby-size:"),
        ("\"offline\":true", &["--power-command=true"], "is not offline"),
        ("power-off", &[], "is still powered"),
    ] {
        let place = squeeze::place();
        place.world.lock().lies.push(lie);
        let ran = squeeze::execute(&place, NIGHT, &[&["-q"], options].concat());
        let (stdout, stderr) = ran.ends(1);
        has(&stderr, &format!("{HEADING}  node 'node4.vc.test' "));
        has(&stderr, &format!("  node 'node6.vc.test' {wrong}"));
        has(&stderr, &format!("Error: hsqueeze: {ERROR}node4.vc.test, node6.vc.test above\n"));
        // They are not counted, either.
        assert_eq!(stdout, "hsqueeze: powered down no node, with 12 moves\n");
    }
}

#[test]
fn nodes_that_do_not_come_into_use() {
    let place = squeeze::place();
    squeeze::execute(&place, NIGHT, &["-q"]).ends(0);
    place.world.lock().lies.push("\"offline\":false");
    let (stdout, stderr) = squeeze::execute(&place, MORNING, &["-q"]).ends(1);
    has(&stderr, "  node 'node4.vc.test' is still offline\n");
    has(&stderr, &format!("Error: hsqueeze: {ERROR}node4.vc.test"));
    assert!(!stdout.contains("powered up"), "{stdout}");
}

#[test]
fn a_journal_tells_its_end() {
    let place = Place::new();
    place.execute(&[]).ends(0);
    // The plan in the first line is all that is known.
    let journal = place.journal();
    let steps = journal[0]["work"]["steps"].as_array().unwrap();
    assert!(steps.iter().all(|step| step["task"]["move"]["to"]["primary"].is_string()), "{steps:?}");
    fs::remove_file(place.path("J")).unwrap();
}
