//! Daemons that make no sense in the middle of a run.

use std::time::{Duration, Instant};

use htools::execute::job::{JobId, Status, Watched};
use htools::execute::{JobClient, LuxiClient};
use htools::load::luxi::Manner;

use super::connection::complete;
use super::program::Place;
use super::recorded::output;
use super::server::{Act, message};

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
    for strange in STRANGE {
        let place = Place::new();
        place.world.instead("SubmitManyJobs", message(strange));
        let (_, stderr) = place.execute(&["-l", "1"]).ends(0);
        assert!(!stderr.contains('\u{1b}'), "{stderr:?}");
        assert_eq!(place.world.new_jobs().len(), 1, "{strange}");
    }
}

/// A client that does not wait for long.
fn hasty(place: &Place) -> LuxiClient {
    let time = Duration::from_millis(300);
    let manner = Manner { connect: time, send: time, silence: time, answer: 3 * time, size: 1 << 16 };
    LuxiClient::new(place.path("luxi.sock"), manner)
}

#[test]
fn states_that_make_no_sense_are_errors() {
    let place = Place::new();
    let mut client = hasty(&place);
    for strange in STRANGE {
        place.world.instead("QueryJobs", message(strange));
        match client.states(&[JobId(24)]) {
            // no such job
            Ok(states) => assert_eq!((strange, states[0].status), (STRANGE[5], None)),
            Err(error) => assert!(!error.to_string().contains(char::is_control), "{error}"),
        }
        place.world.instead("Query job", message(strange));
        place.world.instead("QueryClusterInfo", message(strange));
        assert!(client.cluster().is_err(), "{strange}");
        // and the next call works again
        assert_eq!(client.states(&[JobId(24)]).unwrap()[0].status, Some(Status::Success));
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
    let watched = Watched { id: JobId(24), status: Status::Running };
    place.world.instead("WaitForJobChange", vec![Act::Endless(b"[".repeat(4096), Duration::ZERO)]);
    assert!(hasty(&place).next_change(&[watched], Duration::from_secs(30)).is_err());
    assert!(start.elapsed() < Duration::from_secs(30));
}
