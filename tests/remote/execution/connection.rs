//! Connections that break, and daemons that are temporarily unavailable.

use std::collections::HashSet;
use std::fs;
use std::thread;
use std::time::Duration;

use super::program::Place;
use super::queue::FIRST;
use super::recorded::{end, output};
use super::server::Act;

/// Checks that all jobs of the plan exist exactly once.
pub fn complete(place: &Place) {
    let jobs = place.world.new_jobs();
    let comments: HashSet<String> = jobs.iter().map(|(_, job)| job.ops[0]["comment"].to_string()).collect();
    assert_eq!((jobs.len(), comments.len()), (13, 13));
    assert!(jobs.iter().all(|(_, job)| job.status == "success"));
    assert_eq!(place.world.lock().cluster.places(), end());
}

#[test]
fn closed_before_a_submission_is_entered() {
    let place = Place::new();
    place.world.instead("SubmitManyJobs", vec![Act::Close]);
    let (stdout, stderr) = place.execute(&[]).ends(0);
    assert_eq!(stdout, output());
    assert!(
        stderr.contains("closed the connection without an answer; looking for the jobs in Ganeti's queue"),
        "{stderr}"
    );
    assert_eq!(place.world.lock().submissions.len(), 13);
    complete(&place);
}

#[test]
fn closed_after_a_submission_was_entered() {
    let place = Place::new();
    place.world.after("SubmitManyJobs", vec![Act::Close]);
    let (stdout, _) = place.execute(&[]).ends(0);
    assert_eq!(stdout, output());
    assert_eq!(place.world.lock().submissions.len(), 12);
    complete(&place);
}

#[test]
fn closed_while_waiting_and_while_asking() {
    let place = Place::new();
    for acts in [vec![Act::Close], vec![Act::Send(b"{\"succ".to_vec()), Act::Close]] {
        place.world.instead("WaitForJobChange", acts.clone());
        place.world.instead("QueryJobs", acts);
    }
    // The first query for jobs is the one before the run begins.
    place.world.lock().calls.clear();
    let ran = place.execute(&[]);
    assert_eq!(ran.status, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("hbal: the master daemon closed the connection"), "{}", ran.stderr);
    assert_eq!(place.world.lock().submissions.len(), 0);
    // In the second run, there is work left only for the waits.
    fs::remove_file(place.path("J")).ok();
    let ran = place.execute(&[]);
    assert_eq!(ran.status, Some(1), "{}", ran.stderr);
    let (stdout, stderr) = place.execute(&[]).ends(0);
    assert!(stderr.contains("; next attempt in 1 s"), "{stderr}");
    assert_eq!(stdout, output());
    complete(&place);
}

#[test]
fn the_daemon_is_away_for_a_moment() {
    let place = Place::new();
    place.world.hold(true);
    let running = place.start(&["-X", "--journal", "J"]);
    running.until("Got job IDs 25");
    place.world.await_that("a wait", |state| state.calls.contains_key("WaitForJobChange"));
    place.world.change(|state| state.gone = true);
    fs::rename(place.path("luxi.sock"), place.path("away")).unwrap();
    thread::sleep(Duration::from_millis(1500));
    place.world.change(|state| (state.gone, state.held) = (false, false));
    fs::rename(place.path("away"), place.path("luxi.sock")).unwrap();
    let (stdout, stderr) = running.wait().ends(0);
    assert_eq!(stdout, output());
    assert!(stderr.contains("Ganeti answers again"), "{stderr}");
    complete(&place);
    assert_eq!(place.world.new_jobs()[0].0, FIRST);
}
