//! Runs over the remote API.

use std::collections::HashSet;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tempfile::TempDir;

use super::program::{Ran, Running, hbal};
use super::queue::{Fate, World};
use super::rapi::{Rapi, response};
use super::recorded::{end, output};
use super::server::Act;

const PASSWORD: &str = "s3cr3t-pa55";

pub struct Remote {
    pub world: Arc<World>,
    rapi: Rapi,
    directory: TempDir,
}

impl Remote {
    pub fn new() -> Remote {
        let world = World::new();
        let rapi = Rapi::new(&world);
        Remote { world, rapi, directory: tempfile::tempdir().unwrap() }
    }

    fn command(&self, options: &[&str]) -> Command {
        let mut command = hbal(self.directory.path());
        command.env("GANETI_RAPI_USER", "user").env("GANETI_RAPI_PASSWORD", PASSWORD);
        command.args(["-m", &self.rapi.url()]).args(options);
        command
    }

    pub fn start(&self, options: &[&str]) -> Running {
        Running::start(self.command(options))
    }

    pub fn execute(&self, options: &[&str]) -> Ran {
        self.start(&[&["-X", "--journal", "J"], options].concat()).wait()
    }

    pub fn resume(&self) -> Ran {
        self.start(&["--resume", "J"]).wait()
    }

    fn complete(&self) {
        let jobs = self.world.new_jobs();
        let comments: HashSet<String> =
            jobs.iter().map(|(_, job)| job.ops[0]["comment"].to_string()).collect();
        // One job for each opcode of the plan.
        assert_eq!((jobs.len(), comments.len()), (25, 25));
        assert!(jobs.iter().all(|(_, job)| job.status == "success"));
        assert_eq!(self.world.lock().cluster.places(), end());
    }
}

#[test]
fn the_recorded_plan() {
    let remote = Remote::new();
    let (stdout, stderr) = remote.execute(&["--json-events", "E", "--priority=low", "--reason=a b"]).ends(0);
    let (plan, numbers) = stdout.split_once("Got job IDs ").unwrap();
    assert_eq!(plan, output().split_once("Got job IDs ").unwrap().0, "{stderr}");
    // One line per jobset, regardless of the number of requests.
    assert!(numbers.starts_with("25,26,27\nGot job IDs 28,29\n"), "{numbers}");
    assert_eq!(numbers.lines().count(), 12, "{numbers}");
    remote.complete();
    let requests = remote.rapi.submissions.lock().unwrap().clone();
    let first: Vec<(&str, &str)> =
        requests[..3].iter().map(|r| (r.method.as_str(), r.path.as_str())).collect();
    assert_eq!(
        first,
        [
            ("PUT", "/2/instances/inst01.vc.test/migrate?reason=a%20b"),
            ("POST", "/2/instances/inst01.vc.test/replace-disks?reason=a%20b"),
            ("PUT", "/2/instances/inst01.vc.test/migrate?reason=a%20b"),
        ]
    );
    let mut body = requests[1].body.clone();
    assert!(body["comment"].take().as_str().unwrap().ends_with(", step 1.2"));
    let wanted = json!({
        "early_release": false, "ignore_ipolicy": false, "mode": "replace_new_secondary", "disks": [],
        "remote_node": "node4.vc.test", "priority": 10, "comment": null, "depends": [[25, ["success"]]],
    });
    assert_eq!(body, wanted);
    assert_eq!(requests[2].body["depends"], json!([[26, ["success"]]]));
    assert_eq!(requests[0].body.get("depends"), None);
    assert_eq!(requests[3].body.get("depends"), None);
    // The password is sent, but appears nowhere.
    assert!(requests.iter().all(|request| request.head.to_lowercase().contains("authorization: basic ")));
    for name in ["J", "E"] {
        assert!(!fs::read_to_string(remote.directory.path().join(name)).unwrap().contains(PASSWORD));
    }
    assert!(!stdout.contains(PASSWORD) && !stderr.contains(PASSWORD));
}

#[test]
fn refused_submissions() {
    for (status, words) in [("403 Forbidden", "403"), ("503 Service Unavailable", "503")] {
        let remote = Remote::new();
        let explain = "Job queue is drained, refusing job";
        let body = json!({"code": 0, "message": "no", "explain": explain});
        remote.world.instead("submit", response(status, &body));
        let (_, stderr) = remote.execute(&[]).ends(1);
        let errors: Vec<&str> = stderr.lines().filter(|line| line.starts_with("Error: ")).collect();
        assert_eq!(errors.len(), 1, "{stderr}");
        assert!(errors[0].contains("step 1, instance 'inst01.vc.test': not submitted: "), "{stderr}");
        assert!(errors[0].contains(words) || errors[0].contains(explain), "{stderr}");
        assert!(!stderr.contains(PASSWORD));
        assert_eq!(remote.world.lock().submissions.len(), 1);
    }
}

#[test]
fn a_job_of_a_chain_fails() {
    let remote = Remote::new();
    remote.world.lock().fates.insert(26, Fate::Fails("no room"));
    let (stdout, stderr) = remote.execute(&[]).ends(1);
    assert!(stdout.ends_with("Got job IDs 25,26,27\n"), "{stdout}");
    assert!(stderr.contains("step 1, instance 'inst01.vc.test': job 26 failed: no room"), "{stderr}");
    assert_eq!(remote.world.lock().submissions.len(), 3);
}

#[test]
fn connections_that_are_cut() {
    let remote = Remote::new();
    remote.world.after("submit", vec![Act::Close]);
    remote.world.instead("wait", vec![Act::Close]);
    remote.world.instead("wait", response("200 OK", &json!(7)));
    remote.execute(&[]).ends(0);
    assert_eq!(remote.world.lock().submissions.len(), 25);
    remote.complete();
}

#[test]
fn killed_and_resumed() {
    // While a job runs.
    let remote = Remote::new();
    remote.world.hold(true);
    let running = remote.start(&["-X", "--journal", "J"]);
    running.until("Got job IDs 25,26,27\n");
    let words = fs::read(format!("/proc/{}/cmdline", running.id())).unwrap();
    assert!(!String::from_utf8_lossy(&words).contains(PASSWORD));
    running.kill();
    remote.world.hold(false);
    remote.resume().ends(0);
    remote.complete();
    // Between a request and its answer, in the middle of a chain.
    let remote = Remote::new();
    remote.world.change(|state| state.pace = Duration::from_millis(20));
    let running = remote.start(&["-X", "--journal", "J"]);
    remote.world.await_that("two requests", |state| state.submissions.len() >= 2);
    running.kill();
    remote.resume().ends(0);
    remote.complete();
}

#[test]
fn killed_while_the_answer_is_awaited() {
    let remote = Remote::new();
    remote.world.after("submit", vec![Act::Pause(Duration::from_secs(3600))]);
    let running = remote.start(&["-X", "--journal", "J"]);
    remote.world.await_that("a job", |state| state.jobs.contains_key(&25));
    running.kill();
    remote.resume().ends(0);
    remote.complete();
}

#[test]
fn interrupted_and_resumed() {
    let remote = Remote::new();
    remote.world.hold(true);
    let running = remote.start(&["-X", "--journal", "J"]);
    running.until("Got job IDs 25,26,27\n");
    running.signal(Signal::INT);
    running.until("Cancel request registered");
    remote.world.hold(false);
    let (stdout, _) = running.wait().ends(0);
    assert!(
        stdout.contains("\n  Executing jobset for instances inst01.vc.test: jobs 25,26,27\n"),
        "{stdout}"
    );
    assert_eq!(remote.world.new_jobs().len(), 3);
    remote.resume().ends(0);
    remote.complete();
}

#[test]
fn a_run_over_luxi_cannot_go_on_over_rapi() {
    let place = super::program::Place::new();
    super::signals::held(&place).kill();
    place.world.hold(false);
    let rapi = Rapi::new(&place.world);
    let mut command = hbal(place.directory.path());
    command.args(["-m", &rapi.url(), "--resume", "J"]);
    let (_, stderr) = Running::start(command).wait().ends(1);
    assert_eq!(
        stderr,
        "Error: J: a run that was begun over LUXI cannot be resumed over RAPI\nHint: use --luxi\n"
    );
}
