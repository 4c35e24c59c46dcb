//! The question on a terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::program::Place;

fn run(place: &Place, options: &[&str], answer: &str) -> (i32, String) {
    answered(place.command(options), answer)
}

/// What a run on a terminal gave: status and all that the terminal showed.
pub fn answered(mut command: Command, answer: &str) -> (i32, String) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let open = || Stdio::from(OpenOptions::new().read(true).write(true).open(&name).unwrap());
    command.stdin(open()).stdout(open()).stderr(open());
    let mut child = command.spawn().unwrap();
    // the program has the only other end
    drop(command);
    let mut terminal = File::from(terminal);
    terminal.write_all(answer.as_bytes()).unwrap();
    let reader = thread::spawn(move || {
        let (mut shown, mut chunk) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = terminal.read(&mut chunk) {
            shown.extend_from_slice(&chunk[..count]);
        }
        String::from_utf8_lossy(&shown).into_owned()
    });
    let end = Instant::now() + Duration::from_secs(60);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(5));
    };
    (status.code().unwrap_or(-1), reader.join().unwrap())
}

const QUESTION: &str = "Execute these 13 steps? [y/N] ";

#[test]
fn a_no_executes_nothing() {
    for answer in ["n\n", "\n", "yesterday\n"] {
        let place = Place::new();
        let (status, shown) = run(&place, &["-X", "--journal", "J"], answer);
        assert_eq!(status, 1, "{shown}");
        assert_eq!(shown.matches(QUESTION).count(), 1, "{shown}");
        assert!(shown.contains("Nothing was executed."), "{shown}");
        assert_eq!(place.world.lock().submissions.len(), 0);
        assert!(!place.path("J").exists());
    }
}

#[test]
fn a_yes_executes_the_plan() {
    let place = Place::new();
    let (status, shown) = run(&place, &["-X", "--journal", "J"], "y\n");
    assert_eq!(status, 0, "{shown}");
    assert_eq!(shown.matches(QUESTION).count(), 1, "{shown}");
    assert_eq!(place.world.new_jobs().len(), 13);
}

#[test]
fn nobody_is_asked_with_yes() {
    let place = Place::new();
    let (status, shown) = run(&place, &["-X", "--journal", "J", "--yes"], "n\n");
    assert_eq!(status, 0, "{shown}");
    assert!(!shown.contains("[y/N]"), "{shown}");
    assert_eq!(place.world.new_jobs().len(), 13);
}

#[test]
fn a_plan_that_is_a_document_is_shown_before_the_question() {
    let place = Place::new();
    let (status, shown) = run(&place, &["-X", "--json", "--journal", "J"], "n\n");
    assert_eq!(status, 1, "{shown}");
    let step = "  1. inst01.vc.test node1.vc.test:node2.vc.test => node4.vc.test:node2.vc.test\r\n";
    assert!(shown.find(step).unwrap() < shown.find(QUESTION).unwrap(), "{shown}");
    assert_eq!(shown.matches("\"schema\"").count(), 1, "{shown}");
}
