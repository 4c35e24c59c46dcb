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

/// Result of a run on a terminal: status, and everything that the terminal showed.
pub fn answered(mut command: Command, answer: &str) -> (i32, String) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let open = || Stdio::from(OpenOptions::new().read(true).write(true).open(&name).unwrap());
    command.stdin(open()).stdout(open()).stderr(open());
    let mut child = command.spawn().unwrap();
    // The program has the only other end.
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

/// On a terminal, hspace reports the disk template that it chose. Scripts get the standard error that they know.
#[test]
fn the_template_that_was_taken() {
    let note = "Note: disk template 'diskless', the first of the cluster's policy, is used\r\n";
    for (more, told) in [(&[][..], true), (&["-q"], false), (&["--disk-template=diskless"], false)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.args(["hspace", "-t", "data/groups.data"]).args(more).env_remove("HTOOLS");
        let (status, shown) = answered(command, "");
        assert_eq!((status, shown.contains(note)), (0, told), "{more:?}: {shown}");
    }
}

/// Names from a connection may contain anything. They must never control a terminal, with or without colours.
#[test]
fn names_do_not_reach_a_terminal_raw() {
    let sample = |name: &str| format!("{}/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let place = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(sample("allocate.json")).unwrap();
    let name = "a\\n\\u001b[2J\\r\\u009b31m\\u007f\\u202e";
    let (instance, node, group) = ("cache2.example.com", "node7.example.com", "\"name\": \"default\"");
    assert!(text.contains(instance) && text.contains(node) && text.contains(group));
    let text = text.replace(instance, &format!("i{name}")).replace(node, &format!("n{name}"));
    let text = text.replace(group, &format!("\"name\": \"g{name}\""));
    std::fs::write(place.path().join("request"), text).unwrap();
    let runs: [&[&str]; 11] = [
        &["hbal", "-I", "request", "-p", "--print-instances", "-v", "-v", "-v"],
        &["hbal", "-I", "request", "-C"],
        &["hbal", "-I", "request", "--all-groups"],
        &["hbal", "-I", "request", "--json"],
        &["hbal", "-I", "request", "--explain=web1"],
        &["hinfo", "-I", "request", "-p", "--print-instances", "-v", "-v", "-v"],
        &["hinfo", "-I", "request", "--json"],
        &["hgroup", "status", "-I", "request", "-v"],
        &["hroller", "-f", "-I", "request", "--one-step-only", "--print-moves"],
        &["hsqueeze", "-I", "request", "-v", "-v"],
        &["hail", "request", "-v", "-v", "-p"],
    ];
    let shown_raw = |text: &str| {
        let raw = |c: char| c.is_control() && c != '\n' && c != '\r' || c == '\u{202e}';
        text.contains(raw) || text.replace("\r\n", "").contains('\r')
    };
    // The colours are the program's own.
    let without_colours = |text: String| {
        let sequences = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m"];
        sequences.iter().fold(text, |text, sequence| text.replace(sequence, ""))
    };
    for (words, term) in runs.iter().flat_map(|words| [(words, "dumb"), (words, "xterm")]) {
        let command = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
            command.args(*words).env_remove("HTOOLS").env_remove("NO_COLOR").current_dir(place.path());
            command.env("TERM", term);
            command
        };
        let (_, shown) = answered(command(), "");
        let shown = if term == "dumb" { shown } else { without_colours(shown) };
        assert!(!shown_raw(&shown), "{words:?}: {shown:?}");
        // The line break in the name does not break a line.
        assert!(
            !shown.contains("ia\r\n") && !shown.contains("na\r\n") && !shown.contains("ga\r\n"),
            "{words:?}: {shown}"
        );
        let output = command().stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!shown_raw(&said), "{words:?}: {said:?}");
    }
    // Programs get the names unchanged.
    let output = Command::new(env!("CARGO_BIN_EXE_htools"))
        .args(["hroller", "-f", "-I", "request"])
        .env_remove("HTOOLS")
        .current_dir(place.path())
        .output()
        .unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("na\n\u{1b}[2J\r\u{9b}31m\u{7f}\u{202e}"));
}
