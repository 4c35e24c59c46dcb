//! Failing jobs, and queues that accept none.

use std::thread;

use serde_json::json;

use super::program::Place;
use super::queue::{FIRST, Fate};
use super::server::message;

/// The lines with errors.
fn errors(stderr: &str) -> Vec<&str> {
    stderr.lines().filter(|line| line.starts_with("Error: ")).collect()
}

/// A run in which the second job of the tenth jobset (34, 35) has this fate.
fn with_fate(fate: Fate, message: &str) {
    let place = Place::new();
    place.world.lock().fates.insert(35, fate);
    let (stdout, stderr) = place.execute(&[]).ends(1);
    assert!(stdout.ends_with("Got job IDs 33\nGot job IDs 34,35\n"), "{stdout}");
    assert_eq!(
        errors(&stderr),
        [format!(
            "Error: hbal: Not all jobs completed successfully: step 11, instance 'inst03.vc.test': {message}"
        )],
    );
    assert!(stderr.ends_with("\nAborting.\n\n"), "{stderr}");
    let state = if message.ends_with("Ganeti's queue") { "unknown" } else { "failed" };
    for line in [
        format!("Step 11, inst03.vc.test: {state}: {message}"),
        "Steps:".to_owned(),
        "    1. inst01.vc.test done".to_owned(),
        "   10. inst06.vc.test done".to_owned(),
        format!("   11. inst03.vc.test {state}: {message}"),
        "   12. inst10.vc.test not started".to_owned(),
        "   13. inst09.vc.test not started".to_owned(),
    ] {
        assert!(stderr.lines().any(|found| found.trim_end() == line.trim_end()), "{line}\n{stderr}");
    }
    let world = place.world.lock();
    assert_eq!(world.submissions.len(), 10);
    // hbal waited for the other job of the set.
    assert_eq!(world.jobs[&34].status, "success");
    drop(world);
    assert_eq!(place.journal().last().unwrap()["ending"], "failed");
    let (stdout, stderr) = place.resume().ends(1);
    assert_eq!((stdout.as_str(), stderr.lines().count()), ("", 2), "{stderr}");
    assert!(stderr.contains("J: step 11, instance 'inst03.vc.test', failed in this run"), "{stderr}");
    assert_eq!(place.world.lock().submissions.len(), 10);
}

#[test]
fn a_job_fails() {
    with_fate(Fate::Fails("no\nroom"), r"job 35 failed: no\nroom");
}

#[test]
fn a_job_is_cancelled() {
    with_fate(Fate::Cancelled, "job 35 was cancelled");
}

#[test]
fn a_job_vanishes() {
    with_fate(Fate::Vanishes, "job 35 is no longer in Ganeti's queue");
}

#[test]
fn one_of_two_jobs_is_refused() {
    let place = Place::new();
    place.world.lock().fates.insert(35, Fate::Refused("queue is bad"));
    let (stdout, stderr) = place.execute(&[]).ends(1);
    assert!(stdout.ends_with("Got job IDs 33\nGot job IDs 34\n"), "{stdout}");
    let wanted = "Error: hbal: Not all jobs completed successfully: \
                  step 11, instance 'inst03.vc.test': not submitted: queue is bad";
    assert_eq!(errors(&stderr), [wanted]);
    assert_eq!(place.world.lock().jobs[&34].status, "success");
    assert_eq!(place.world.lock().submissions.len(), 10);
}

#[test]
fn a_drained_queue() {
    for (answer, words) in [
        (json!(["JobQueueDrainError", ["Job queue is drained, refusing job"]]), "marked for drain"),
        (json!(["GenericError", ["Queue drained"]]), "Queue drained"),
        (json!("Queue drained"), "Queue drained"),
    ] {
        let place = Place::new();
        place.world.lock().drained = Some(answer);
        let (stdout, stderr) = place.execute(&[]).ends(1);
        assert!(stdout.ends_with("Solution length=13\n"), "{stdout}");
        let found = errors(&stderr);
        assert_eq!(found.len(), 1, "{stderr}");
        assert!(found[0].contains(words), "{stderr}");
        assert!(found[0].contains("step 1, instance 'inst01.vc.test': not submitted: "), "{stderr}");
        assert_eq!(place.world.lock().submissions.len(), 1);
        assert_eq!(place.world.new_jobs().len(), 0);
    }
}

#[test]
fn answers_to_submissions_that_make_no_sense() {
    // The job was entered, regardless of the answer.
    let one = |answer: &str| {
        let place = Place::new();
        place.world.after("SubmitManyJobs", message(format!(r#"{{"success":true,"result":{answer}}}"#)));
        let (stdout, stderr) = place.execute(&["-l", "1"]).ends(0);
        assert!(stdout.ends_with(&format!("Got job IDs {FIRST}\n")), "{stdout}");
        assert!(stderr.contains("looking for the jobs in Ganeti's queue"), "{stderr}");
        assert_eq!(place.world.new_jobs().len(), 1);
    };
    let answers =
        ["null", "7", "[]", "[7]", "[[true,1.5]]", "[[true,-1]]", r#"[[true,"x"]]"#, "[[true,1],[true,2]]"];
    thread::scope(|all| answers.iter().for_each(|answer| drop(all.spawn(|| one(answer)))));
}
