//! Signals during a run.

use rustix::process::Signal;

use super::connection::complete;
use super::program::{Place, Running};
use super::recorded::output;

const FIRST_WISH: &str = "Cancel request registered, will exit at the end of the current job set...\n";
const SECOND_WISH: &str = "Double cancel request, exiting now...\n";

/// A run whose first job does not end.
pub fn held(place: &Place) -> Running {
    place.world.hold(true);
    let running = place.start(&["-X", "--journal", "J"]);
    running.until("Got job IDs 25\n");
    running
}

/// The output up to the first job's number.
pub fn beginning() -> String {
    let whole = output();
    let at = whole.find("Got job IDs 26").unwrap();
    whole[..at].to_owned()
}

#[test]
fn the_first_interrupt_lets_the_set_end() {
    let place = Place::new();
    let running = held(&place);
    running.signal(Signal::INT);
    running.until(FIRST_WISH);
    place.world.hold(false);
    let (stdout, stderr) = running.wait().ends(0);
    let rest = stdout.strip_prefix(&(beginning() + FIRST_WISH)).unwrap_or_else(|| panic!("{stdout}"));
    let lines: Vec<&str> = rest.lines().collect();
    assert_eq!(
        lines[..5],
        [
            "Exiting early due to user request, ",
            "1jobset(s) submitted: ",
            "  Executing jobset for instances inst01.vc.test: jobs 25",
            "11 jobset(s) not submitted:",
            "  Executing jobset for instances inst07.vc.test",
        ]
    );
    assert_eq!(lines[12], "  Executing jobset for instances inst06.vc.test,inst03.vc.test");
    assert_eq!(lines.len(), 15);
    assert!(
        stderr.ends_with("With the same --luxi or --master, hbal --resume J continues the run\n"),
        "{stderr}"
    );
    assert_eq!(place.world.lock().submissions.len(), 1);
    assert_eq!(place.journal().last().unwrap()["ending"], "interrupted");
    resumed(&place, 26);
}

/// Resumes the run; its first new job has this number. Returns standard error.
pub fn resumed(place: &Place, next: u64) -> String {
    let (stdout, said) = place.resume().ends(0);
    let whole = output();
    let at = whole.find(&format!("Got job IDs {next}")).unwrap();
    assert_eq!(stdout, whole[at..], "{said}");
    complete(place);
    let (stdout, stderr) = place.resume().ends(0);
    assert_eq!((stdout.as_str(), stderr.as_str()), ("", "All 13 steps were done before\n"));
    complete(place);
    said
}

/// A run that ends at once.
fn left(signals: &[Signal], words: &str) {
    let place = Place::new();
    let running = held(&place);
    for (at, signal) in signals.iter().enumerate() {
        running.signal(*signal);
        if at + 1 < signals.len() {
            running.until(FIRST_WISH);
        }
    }
    let (stdout, stderr) = running.wait().ends(2);
    assert_eq!(stdout, beginning() + words, "{stderr}");
    place.world.hold(false);
    let journal = place.journal();
    assert_eq!((journal.len(), &journal[2]["event"]), (3, &"submitted".into()));
    resumed(&place, 26);
}

#[test]
fn the_second_interrupt_leaves() {
    left(&[Signal::INT, Signal::INT], &format!("{FIRST_WISH}{SECOND_WISH}"));
}

#[test]
fn termination_leaves() {
    left(&[Signal::TERM], SECOND_WISH);
    left(&[Signal::INT, Signal::TERM], &format!("{FIRST_WISH}{SECOND_WISH}"));
}

#[test]
fn an_interrupt_in_the_last_set_changes_nothing() {
    let place = Place::new();
    place.world.hold(true);
    let running = place.start(&["-X", "--journal", "J", "-l", "1"]);
    running.until("Got job IDs 25\n");
    running.signal(Signal::INT);
    running.until(FIRST_WISH);
    place.world.hold(false);
    let (stdout, _) = running.wait().ends(0);
    assert!(stdout.ends_with(&format!("Got job IDs 25\n{FIRST_WISH}")), "{stdout}");
}
