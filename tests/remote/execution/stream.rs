//! Streamed runs, in which a step begins as soon as its predecessors have ended; windows, pauses, failures, saved
//! plans, and undoing.

use htools::execute::saved::SavedPlan;
use rustix::process::Signal;

use super::connection::complete;
use super::program::{Place, htools};
use super::queue::Fate;
use super::recorded::{end, output};
use super::signals::held;
use super::squeeze;

/// The highest number of jobs that were in the queue at the same time, according to the run's events.
fn widest(place: &Place) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for line in place.read("E").lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        match event["event"].as_str().unwrap() {
            "submitted" => now += event["jobs"].as_array().unwrap().len(),
            "status" if super::queue::is_final(event["status"].as_str().unwrap()) => now -= 1,
            _ => {}
        }
        most = most.max(now);
    }
    most
}

#[test]
fn steps_begin_as_soon_as_they_may() {
    let place = Place::new();
    let (stdout, stderr) = place.execute(&["--stream", "--json-events", "E"]).ends(0);
    assert!(stderr.ends_with(" s\n") && stderr.contains("All 13 steps are done"), "{stderr}");
    complete(&place);
    // The plan is the same, and more jobs run at the same time than in any jobset.
    let plan = |text: &str| text.split("Got job IDs").next().unwrap().to_owned();
    assert_eq!(plan(&stdout), plan(&output()));
    assert!(widest(&place) > 3, "{}", widest(&place));
    let (stdout, stderr) = place.resume().ends(0);
    assert_eq!((stdout.as_str(), stderr.as_str()), ("", "All 13 steps were done before\n"));
}

#[test]
fn limits_hold() {
    let place = Place::new();
    place.execute(&["--stream", "--max-parallel=2", "--json-events", "E"]).ends(0);
    complete(&place);
    assert_eq!(widest(&place), 2);
}

#[test]
fn killed_streams_go_on_as_streams() {
    let place = Place::new();
    place.world.hold(true);
    let running = place.start(&["-X", "--journal", "J", "--stream", "--max-parallel=3"]);
    place.world.await_that("two jobs", |state| state.jobs.contains_key(&26));
    running.kill();
    place.world.hold(false);
    place.resume().ends(0);
    complete(&place);
}

#[test]
fn what_need_not_follow_a_failure_goes_on() {
    let place = Place::new();
    place.world.lock().fates.insert(25, Fate::Fails("no room"));
    let (_, stderr) = place.execute(&["--stream", "--on-failure=continue"]).ends(1);
    assert!(stderr.contains("failed: job 25 failed: no room"), "{stderr}");
    assert!(stderr.contains("Not all jobs completed successfully: step "), "{stderr}");
    let table: Vec<&str> = stderr.lines().filter(|line| line.starts_with("  ")).collect();
    let dropped = table.iter().filter(|line| line.ends_with(": step 1 was not done")).count();
    let done = table.iter().filter(|line| line.ends_with(" done")).count() - dropped;
    assert!(done > 0 && dropped > 2 && done + dropped + 1 == 13, "{stderr}");
    assert_eq!(place.world.new_jobs().len(), done + 1);
}

#[test]
fn another_plan_is_made_without_what_failed() {
    let place = Place::new();
    place.world.lock().fates.insert(25, Fate::Fails("no room"));
    let (stdout, stderr) = place.execute(&["--stream", "--on-failure=replan", "--max-parallel=1"]).ends(1);
    assert!(stderr.contains("; making another plan for the rest\n"), "{stderr}");
    assert!(stderr.contains("the rest was planned again"), "{stderr}");
    assert_eq!(stdout.matches("Initial score: ").count(), 2, "{stdout}");
    // The instance of the first job does not move again.
    let jobs = place.world.new_jobs();
    let name = jobs[0].1.ops[0]["instance_name"].clone();
    assert!(jobs.len() > 5 && jobs[1..].iter().all(|(_, job)| job.ops[0]["instance_name"] != name));
    assert!(jobs[1..].iter().all(|(_, job)| job.status == "success"));
    assert!(place.path("J.2").exists());
}

#[test]
fn nothing_begins_that_would_end_too_late() {
    let place = Place::new();
    let (stdout, stderr) = place.execute(&["--max-duration=1s", "--stream"]).ends(0);
    assert!(!stdout.contains("Got job"), "{stdout}");
    let wanted = "The time is up: 0 of 13 steps are done, 13 are left; hbal --resume J continues the run\n";
    assert!(stderr.ends_with(wanted), "{stderr}");
    assert_eq!(place.journal().last().unwrap()["ending"], "out of time");
    // By jobsets the result is the same; the next night there is enough time.
    let (_, stderr) = place.start(&["--resume", "J", "--max-duration=1s"]).wait().ends(0);
    assert!(stderr.ends_with(wanted), "{stderr}");
    place.start(&["--resume", "J", "--max-duration=12h"]).wait().ends(0);
    complete(&place);
}

#[test]
fn jobsets_have_windows_and_pauses_too() {
    let place = Place::new();
    let running = held(&place);
    running.signal(Signal::USR1);
    place.world.hold(false);
    place.world.await_that("the job", |state| state.jobs[&25].status == "success");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(place.world.new_jobs().len(), 1);
    running.signal(Signal::USR1);
    let (_, stderr) = running.wait().ends(0);
    assert!(stderr.contains("Paused: no new steps are begun until the next SIGUSR1\n"), "{stderr}");
    assert!(stderr.contains("Continued\n"), "{stderr}");
    complete(&place);
}

#[test]
fn a_saved_plan_is_applied_and_taken_back() {
    let place = Place::new();
    let before = place.world.lock().cluster.places();
    place.start(&["--save-plan=P"]).wait().ends(0);
    assert_eq!(place.world.new_jobs().len(), 0);
    let (stdout, _) = htools(&place, &["apply", "P"]).ends(0);
    assert_eq!(stdout, "The plan fits the cluster: 13 steps can be carried out\n");
    htools(&place, &["apply", "P", "-X", "--journal=J", "--stream"]).ends(0);
    complete(&place);
    // A plan can be applied only once.
    let (_, stderr) = htools(&place, &["apply", "P", "-X"]).ends(1);
    assert!(stderr.contains("The plan no longer fits the cluster:\n  step 1, instance 'inst01"), "{stderr}");
    // Every step is reversed, in the opposite order. The initial state was not N+1 happy, so the way back breaks soft
    // rules.
    let (_, stderr) = htools(&place, &["undo", "J", "-X"]).ends(1);
    assert!(stderr.contains("the moves cannot be undone on the present cluster: step "), "{stderr}");
    let (stdout, _) = htools(&place, &["undo", "J", "-X", "--ignore-soft-errors", "--journal=K"]).ends(0);
    assert!(stdout.starts_with("13 moves taken back:\n"), "{stdout}");
    assert_eq!(place.world.lock().cluster.places(), before);
    assert_ne!(before, end());
    let (_, stderr) = htools(&place, &["undo", "J", "--ignore-soft-errors"]).ends(1);
    assert!(stderr.contains("but the step moved it to "), "{stderr}");
}

#[test]
fn a_plan_for_another_cluster_is_refused() {
    let place = Place::new();
    place.start(&["--save-plan=P"]).wait().ends(0);
    place.world.lock().cluster.set_uuid("another");
    let (stdout, stderr) = htools(&place, &["apply", "P", "-X"]).ends(1);
    assert_eq!((stdout.as_str(), stderr.lines().count()), ("", 1), "{stderr}");
    assert!(stderr.contains("P: the plan is for cluster cluster.vc.test (4b4f7ff0-"), "{stderr}");
}

#[test]
fn nodes_go_down_and_come_up_as_a_stream() {
    let place = squeeze::place();
    squeeze::execute(&place, squeeze::NIGHT, &["--stream", "--max-parallel=2", "--journal=J"]).ends(0);
    let idle = place.world.lock().cluster.idle_nodes();
    assert_eq!((idle[0].len(), idle[2].len()), (2, 2), "{idle:?}");
    // Each action on a node comes after its predecessors.
    let jobs = place.world.new_jobs();
    let position = |text: &str, node: &str| {
        jobs.iter().position(|(_, job)| {
            let ops = serde_json::to_string(&job.ops).unwrap();
            ops.contains(text) && ops.contains(node)
        })
    };
    for node in &idle[0] {
        let [drain, offline, off] =
            [r#""drained":true"#, r#""offline":true"#, "power-off"].map(|op| position(op, node));
        assert!(drain < offline && offline < off && drain.is_some(), "{node}");
    }
    // Powering up again.
    squeeze::execute(&place, squeeze::MORNING, &["--drbd", "--stream", "--journal=K"]).ends(0);
    assert_eq!(place.world.lock().cluster.idle_nodes(), [[""; 0]; 3]);
    let (_, stderr) = squeeze::execute(&place, squeeze::NIGHT, &["--stream", "--on-failure=replan"]).ends(1);
    assert!(stderr.contains("option --on-failure=replan does not apply to hsqueeze"), "{stderr}");
}

#[test]
fn a_forged_plan_does_what_its_moves_mean() {
    let place = Place::new();
    place.start(&["--save-plan=P"]).wait().ends(0);
    let mut plan = SavedPlan::read(&place.path("P")).unwrap();
    // One instance's opcodes for another one, no edges, and a correct check sum.
    let (first, others) = plan.work.steps.split_first_mut().unwrap();
    std::mem::swap(&mut first.opcodes, &mut others[0].opcodes);
    plan.work.edges.clear();
    std::fs::write(place.path("P"), plan.sealed().text()).unwrap();
    htools(&place, &["apply", "P", "-X", "--journal=J", "--stream"]).ends(0);
    complete(&place);
}
