//! Daemons that send nonsense in the middle of a run.

use std::thread;
use std::time::{Duration, Instant, SystemTime};

use htools::execute::job::{JobId, JobStatus, RunInfo, WatchedJob};
use htools::execute::journal::{self, Read};
use htools::execute::{
    Ending, Event, JobClient, LuxiClient, NodeTaskError, RapiClient, Report, RunHost, Runner,
};
use htools::plan::work::WorkStep;
use htools::remote::luxi::Timeouts;
use htools::remote::rapi::{Access, Address, FetchLimits, Session};
use serde_json::Value;

use super::connection::complete;
use super::program::Place;
use super::rapi::{Rapi, response};
use super::recorded::output;
use super::server::{Act, message};
use super::signals::held;

const STRANGE: [&str; 8] = [
    "",
    "{}",
    "\u{1b}[31m",
    r#"{"success":true}"#,
    r#"{"success":true,"result":7}"#,
    r#"{"success":true,"result":[null]}"#,
    r#"{"success":true,"result":[[7],7]}"#,
    r#"{"success":1,"result":[]}"#,
];

#[test]
fn waits_that_make_no_sense_now_and_then() {
    for strange in [STRANGE[2], STRANGE[6]] {
        let place = Place::new();
        place.world.instead("WaitForJobChange", message(strange));
        let (stdout, stderr) = place.execute(&[]).ends(0);
        assert_eq!(stdout, output());
        assert!(!stderr.contains('\u{1b}'), "{stderr:?}");
        complete(&place);
    }
}

#[test]
fn submissions_that_make_no_sense() {
    let one = |strange: &str| {
        let place = Place::new();
        place.world.instead("SubmitManyJobs", message(strange));
        let (_, stderr) = place.execute(&["-l", "1"]).ends(0);
        assert!(!stderr.contains('\u{1b}'), "{stderr:?}");
        assert_eq!(place.world.new_jobs().len(), 1, "{strange}");
    };
    // Each of them waits for the job's status.
    thread::scope(|all| STRANGE.iter().for_each(|strange| drop(all.spawn(|| one(strange)))));
}

/// A client with short time limits.
fn hasty(place: &Place) -> LuxiClient {
    let time = Duration::from_millis(300);
    let manner = Timeouts { connect: time, send: time, silence: time, answer: 3 * time, size: 1 << 16 };
    LuxiClient::new(place.path("luxi.sock"), manner)
}

#[test]
fn states_that_make_no_sense_are_errors() {
    let place = Place::new();
    let mut client = hasty(&place);
    for strange in STRANGE {
        place.world.instead("QueryJobs", message(strange));
        match client.states(&[JobId(24)]) {
            // No such job.
            Ok(states) => assert_eq!((strange, states[0].status), (STRANGE[5], None)),
            Err(error) => assert!(!error.to_string().contains(char::is_control), "{error}"),
        }
        place.world.instead("Query job", message(strange));
        place.world.instead("QueryClusterInfo", message(strange));
        assert!(client.cluster().is_err(), "{strange}");
        // The next call works again.
        assert_eq!(client.states(&[JobId(24)]).unwrap()[0].status, Some(JobStatus::Success));
    }
}

#[test]
fn silence_and_floods_end() {
    let place = Place::new();
    let start = Instant::now();
    for acts in [
        vec![Act::Pause(Duration::from_secs(3600))],
        vec![Act::Endless(b"[".repeat(4096), Duration::ZERO)],
        vec![Act::Endless(b" ".to_vec(), Duration::from_millis(20))],
    ] {
        place.world.instead("QueryJobs", acts);
        assert!(hasty(&place).states(&[JobId(24)]).is_err());
    }
    let watched = WatchedJob { id: JobId(24), status: JobStatus::Running };
    place.world.instead("WaitForJobChange", vec![Act::Endless(b"[".repeat(4096), Duration::ZERO)]);
    assert!(hasty(&place).next_change(&[watched], Duration::from_secs(30)).is_err());
    assert!(start.elapsed() < Duration::from_secs(30));
}

/// A host without users on which no time passes.
struct Nobody;

impl RunHost for Nobody {
    fn event(&mut self, _: &Event) {}

    fn wants_to_stop(&self) -> bool {
        false
    }

    fn perform(&mut self, _: &mut dyn JobClient, _: &RunInfo, _: &WorkStep) -> Result<(), NodeTaskError> {
        unreachable!("jobs do all of it")
    }

    fn pause(&mut self, _: Duration) {}

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Resumes a run whose first job is under way, like the program but without pauses.
fn go_on(place: &Place) -> Report {
    let (Read { header, state, .. }, journal) = journal::open(&place.path("J")).unwrap();
    let mut client = hasty(place);
    let (mut host, client): (Nobody, &mut dyn JobClient) = (Nobody, &mut client);
    let mut runner = Runner::new(client, &mut host, &header, journal, state);
    runner.settle().unwrap_or_else(|| runner.walk())
}

fn under_way() -> Place {
    let place = Place::new();
    held(&place).kill();
    place
}

#[test]
fn daemons_that_never_make_sense_end_the_run() {
    for strange in [STRANGE[1], STRANGE[4], STRANGE[6], r#"{"success":true,"result":[["odd",[]]]}"#] {
        let place = under_way();
        for kind in ["WaitForJobChange", "QueryJobs"] {
            place.world.lock().always.insert(kind, message(strange));
        }
        let Ending::Lost(why) = go_on(&place).ending else { panic!("{strange}") };
        assert!(why.chars().count() < 400 && !why.contains(char::is_control), "{why}");
        assert_eq!(place.world.lock().submissions.len(), 1);
        // The run can be resumed once the answers make sense again.
        place.world.change(|state| (state.held, state.always) = (false, Default::default()));
        assert_eq!(go_on(&place).ending, Ending::Done);
        complete(&place);
    }
}

#[test]
fn without_waits_the_states_are_asked_for() {
    let place = under_way();
    place.world.lock().always.insert("WaitForJobChange", message("{}"));
    place.world.hold(false);
    assert_eq!(go_on(&place).ending, Ending::Done);
    complete(&place);
}

#[test]
fn submissions_without_an_answer_are_not_repeated() {
    let place = under_way();
    let silence = vec![Act::Pause(Duration::from_secs(3600))];
    place.world.lock().always.insert("SubmitManyJobs", silence);
    place.world.hold(false);
    let Ending::Lost(why) = go_on(&place).ending else { panic!() };
    assert_eq!(why, "the master daemon was silent for 0.3 s");
    assert_eq!(place.world.lock().submissions.len(), 2);
    place.world.lock().always.clear();
    assert_eq!(go_on(&place).ending, Ending::Done);
    complete(&place);
}

/// Number of calls in two seconds by a client that waits for an unchanged job.
fn asked(place: &Place, client: &mut dyn JobClient, kind: &str) -> usize {
    let watched = WatchedJob { id: JobId(24), status: JobStatus::Running };
    place.world.lock().calls.clear();
    assert_eq!(client.next_change(&[watched], Duration::from_secs(2)), Ok(vec![]));
    place.world.lock().calls.get(kind).copied().unwrap_or_default()
}

#[test]
fn a_daemon_that_does_not_wait_is_asked_seldom() {
    let place = Place::new();
    place.world.lock().always.insert("WaitForJobChange", message(r#"{"success":true,"result":"nochange"}"#));
    let count = asked(&place, &mut hasty(&place), "WaitForJobChange");
    assert!((3..=20).contains(&count), "{count}");
    place.world.lock().always.insert("wait", response("200 OK", &Value::Null));
    let rapi = Rapi::new(&place.world);
    let address = Address::new(rapi.url().as_ref());
    let manner = FetchLimits { proxies: false, ..FetchLimits::default() };
    let session = Session::new(&address, &Access::default(), manner).unwrap();
    let count = asked(&place, &mut RapiClient::new(session), "wait");
    assert!((3..=20).contains(&count), "{count}");
}

/// The highest job number, and the one after it.
#[test]
fn the_last_numbers_of_jobs() {
    let place = Place::new();
    let mut client = hasty(&place);
    place.world.instead("QueryJobs", message(r#"{"success":true,"result":[[7],[18446744073709551615]]}"#));
    assert_eq!(client.newest(), Ok(JobId(u64::MAX)));
    for beyond in ["18446744073709551616", "\"18446744073709551616\"", "-1", "1.5", "null"] {
        place.world.instead("QueryJobs", message(format!(r#"{{"success":true,"result":[[7],[{beyond}]]}}"#)));
        let error = client.newest().unwrap_err().to_string();
        assert!(error.starts_with("number of a job: unexpected answer "), "{error}");
    }
    let rapi = Rapi::new(&place.world);
    let address = Address::new(rapi.url().as_ref());
    let manner = FetchLimits { proxies: false, ..FetchLimits::default() };
    let mut client = RapiClient::new(Session::new(&address, &Access::default(), manner).unwrap());
    let id = u64::MAX;
    place.world.instead("jobs", response("200 OK", &serde_json::json!([{"id": id}, {"id": "3"}])));
    assert_eq!(client.newest(), Ok(JobId(id)));
    let run = RunInfo { tool: "t".into(), began: 1, comment: "c".into(), reason: "r".into(), priority: 0 };
    place.world.instead("jobs", response("200 OK", &serde_json::json!([{"id": id, "ops": []}])));
    // There is no number after the highest.
    assert_eq!(client.jobs_of(&run, JobId(id)), Ok(vec![]));
}
