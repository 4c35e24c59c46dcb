//! Searches that end early, by the time limit or by an interrupt, and their messages. Everything found counts, as if
//! -l had ended them there.
//!
//! None of this depends on the speed of the search. A time limit that is over at once leaves one step. A search whose
//! lines do not fit into a pipe waits for its reader.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use htools::generate::{ClusterSpec, TemplateMix};
use htools::tools::generate::GeneratedText;
use serde_json::Value;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");
const SIGINT: i32 = 2;

/// A directory with a generated cluster in `c.data`.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new(nodes: usize, instances: usize) -> Place {
        let made = GeneratedText::new(&ClusterSpec::new(nodes, instances, TemplateMix::Drbd, 1)).unwrap();
        Place::with(&made.text)
    }

    fn with(text: &str) -> Place {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("c.data"), text).unwrap();
        Place { directory }
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join(name)).unwrap()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.env_remove("HTOOLS").current_dir(self.directory.path()).stdin(Stdio::null());
        command.args(["hbal", "-t", "c.data"]).args(words);
        command
    }

    /// Output of a successful run.
    fn run(&self, words: &[&str]) -> Output {
        let output = self.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        output
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn steps(stdout: &str) -> usize {
    stdout.lines().filter(|line| line.contains(" a=")).count()
}

// --- time

#[test]
fn a_time_limit_ends_the_search_as_l_does() {
    let place = Place::new(200, 2000);
    let limited = place.run(&["--time-limit", "0.000001", "-C", "-S", "limited"]);
    let short = place.run(&["-l", "1", "-C", "-S", "short"]);
    assert_eq!(text(&limited.stdout), text(&short.stdout));
    assert_eq!(steps(&text(&limited.stdout)), 1);
    for state in ["original", "balanced"] {
        assert_eq!(place.file(&format!("limited.{state}")), place.file(&format!("short.{state}")));
    }
    let notes = text(&limited.stderr);
    let notes: Vec<&str> = notes.lines().filter(|line| !line.starts_with("The cluster state ")).collect();
    assert_eq!(notes, ["The time limit ended the search after 1 step"]);
}

#[test]
fn a_time_limit_that_is_not_reached_changes_nothing() {
    let place = Place::new(10, 60);
    let whole = place.run(&[]);
    assert!(steps(&text(&whole.stdout)) > 1);
    for limit in ["1e9", "1e300"] {
        let limited = place.run(&["--time-limit", limit]);
        assert_eq!((limited.stdout, text(&limited.stderr)), (whole.stdout.clone(), String::new()));
    }
}

/// A search that happens to end by itself at that point is not reported as ended early.
#[test]
fn the_last_step_is_no_early_end() {
    let place = Place::new(10, 60);
    let output = place.run(&["--time-limit=1e-12", "-l1"]);
    assert_eq!((steps(&text(&output.stdout)), text(&output.stderr).as_str()), (1, ""));
    let reached = place.run(&["--time-limit=1e-12", "-e1000"]);
    assert_eq!((steps(&text(&reached.stdout)), text(&reached.stderr).as_str()), (0, ""));
}

#[test]
fn documents_say_that_the_search_ended_early() {
    let place = Place::new(10, 60);
    let document = |words: &[&str]| -> Value {
        serde_json::from_slice(&place.run(&[words, &["--json"]].concat()).stdout).unwrap()
    };
    let mut limited = document(&["--time-limit=1e-12"]);
    assert_eq!(limited["stopped"], "time-limit");
    assert_eq!(limited["ending"], "improved");
    let short = document(&["-l1"]);
    assert_eq!(short["stopped"], Value::Null);
    limited["stopped"] = Value::Null;
    assert_eq!(limited, short);
}

/// Output of another tool for a cluster: its document, and standard error.
fn told(place: &Place, words: &[&str]) -> (Value, String) {
    let mut command = Command::new(PROGRAM);
    command.env_remove("HTOOLS").current_dir(place.directory.path()).stdin(Stdio::null());
    let output = command.args(words).args(["-t", "c.data", "--json"]).output().unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), text(&output.stderr))
}

#[test]
fn other_tools_end_early_with_what_they_have() {
    let spec = ClusterSpec { groups: 3, ..ClusterSpec::new(12, 60, TemplateMix::Drbd, 1) };
    let place = Place::with(&GeneratedText::new(&spec).unwrap().text);
    let (whole, notes) = told(&place, &["hgroup", "balance"]);
    assert!(whole["moves"].as_array().unwrap().len() > 1);
    assert_eq!((&whole["stopped"], notes.as_str()), (&Value::Null, ""));
    let (limited, notes) = told(&place, &["hgroup", "balance", "--time-limit=1e-12"]);
    assert_eq!(limited["stopped"], "time-limit");
    assert_eq!(limited["moves"].as_array().unwrap()[..], whole["moves"].as_array().unwrap()[..1]);
    assert_eq!(notes, "The time limit ended the search; the plan has 1 move\n");
    let (limited, notes) = told(&place, &["hgroup", "compress", "--time-limit=1e-12"]);
    assert_eq!(limited["stopped"], "time-limit");
    assert_eq!(limited["candidates"][0]["reason"], "unknown: the time limit ended the search");
    assert_eq!(notes, "The time limit ended the search; the plan has 0 moves\n");
    let broken = Place::with(
        "g|u|preferred||\n\na|9000|0|6000|9000|6000|9|M|u\nb|9000|0|9000|9000|6000|9|N|u\n\n\
         one|1000|1000|1|running|Y|a|b|drbd|s:x\ntwo|2000|2000|1|running|Y|a|b|drbd|s:x\n\nhtools:iextags:s\n",
    );
    let (whole, notes) = told(&broken, &["hcheck"]);
    assert_eq!(
        (&whole["check"]["stopped"], &whole["healthy"], notes.as_str()),
        (&Value::Null, &false.into(), "")
    );
    assert_eq!(whole["check"]["rebalanced"]["healthy"], true);
    let (limited, notes) = told(&broken, &["hcheck", "--time-limit=1e-12"]);
    assert_eq!((&limited["check"]["stopped"], &limited["healthy"]), (&"time-limit".into(), &false.into()));
    assert_eq!(notes, "The time limit ended the simulation\n");
}

// --- interrupts

/// A cluster with very long names of nodes. Not even one line about a step fits into a pipe, so the search cannot end
/// before its output is read.
fn wide() -> Place {
    let made = GeneratedText::new(&ClusterSpec::new(10, 60, TemplateMix::Drbd, 1)).unwrap();
    let text = made.text.replace("node-", &format!("{}-", "n".repeat(20_000)));
    assert_ne!(text, made.text);
    Place::with(&text)
}

/// A cluster with a plan whose commands do not fit into a pipe.
fn many_commands() -> Place {
    let made = GeneratedText::new(&ClusterSpec::new(20, 300, TemplateMix::Drbd, 1)).unwrap();
    Place::with(&made.text.replace("node-", &format!("{}-", "n".repeat(220))))
}

/// A run whose output is read piece by piece.
struct Run {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// The text read so far.
    text: String,
}

impl Run {
    fn start(place: &Place, words: &[&str]) -> Run {
        let mut child = place.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // With a small buffer, little is read ahead.
        let stdout = BufReader::with_capacity(64, child.stdout.take().unwrap());
        Run { child, stdout, text: String::new() }
    }

    /// A search that is writing the line of its first step.
    fn searching(place: &Place, words: &[&str]) -> Run {
        let mut run = Run::start(place, words);
        run.read_to_line("Trying to minimize the CV...");
        let mut start = [0; 7];
        run.stdout.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"    1. ");
        run.text += "    1. ";
        run
    }

    /// Reads up to the line that begins with `wanted`.
    fn read_to_line(&mut self, wanted: &str) {
        loop {
            let start = self.text.len();
            assert_ne!(self.stdout.read_line(&mut self.text).unwrap(), 0, "there is no {wanted}");
            if self.text[start..].starts_with(wanted) {
                return;
            }
        }
    }

    fn interrupt(&self) {
        // This is the shell's built-in command, so no other program is needed.
        let line = format!("kill -INT {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
    }

    /// Reads the rest.
    fn end(mut self) -> Output {
        self.stdout.read_to_string(&mut self.text).unwrap();
        let output = self.child.wait_with_output().unwrap();
        Output { stdout: self.text.into_bytes(), ..output }
    }

    /// Sends interrupts until the program has ended. Signals in quick succession count as one.
    fn interrupt_to_death(&mut self) {
        for _ in 0..1000 {
            self.interrupt();
            std::thread::sleep(Duration::from_millis(10));
            if let Some(status) = self.child.try_wait().unwrap() {
                assert_eq!(status.signal(), Some(SIGINT), "{status}");
                return;
            }
        }
        self.child.kill().unwrap();
        panic!("interrupts have no effect");
    }
}

#[test]
fn an_interrupt_ends_the_search_as_l_does() {
    let place = wide();
    let run = Run::searching(&place, &["-q", "-S", "interrupted"]);
    run.interrupt();
    let output = run.end();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    assert!(stdout.lines().last().unwrap().starts_with("Cluster score improved from "));
    let found = steps(&stdout);
    // One step if a pipe holds the usual 64 KiB, a few more if it holds more.
    assert!((1..20).contains(&found), "{found}");
    assert!(stdout == text(&place.run(&["-q", "-S", "short", "-l", &found.to_string()]).stdout));
    assert!(place.file("interrupted.balanced") == place.file("short.balanced"));
    let notes = text(&output.stderr);
    let note = format!("An interrupt ended the search after {found} step");
    assert_eq!(notes.lines().filter(|line| line.starts_with(&note)).count(), 1, "{notes}");
}

#[test]
fn a_second_interrupt_ends_the_program() {
    // The first interrupt has no effect while nobody reads the line of the step.
    Run::searching(&wide(), &[]).interrupt_to_death();
}

/// The commands do not fit into a pipe, either.
#[test]
fn after_the_search_the_first_interrupt_ends_the_program() {
    let place = many_commands();
    for choice in [&[][..], &["--worst-group"], &["--all-groups"]] {
        let mut run = Run::start(&place, &[&["-C"], choice].concat());
        run.read_to_line("Commands to run");
        run.interrupt();
        let output = run.end();
        assert_eq!((output.status.signal(), text(&output.stderr).as_str()), (Some(SIGINT), ""));
    }
}

// --- output of -v

#[test]
fn verbose_searches_say_how_they_went() {
    let place = Place::new(10, 60);
    let notes = |words: &[&str]| -> Vec<String> {
        let stderr = text(&place.run(words).stderr);
        stderr.lines().filter(|line| line.starts_with("Search: ")).map(str::to_owned).collect()
    };
    assert!(notes(&[]).is_empty());
    assert!(notes(&["-v", "-q"]).is_empty());
    for words in [&["-v", "-l2"][..], &["-v", "-v", "-v", "-l2"], &["-v", "--json", "-l2"]] {
        let found = notes(words);
        let [line] = found.as_slice() else { panic!("{words:?}: {found:?}") };
        assert!(line.starts_with("Search: 2 steps in "), "{line}");
        for figure in [" s; ", " moves considered, ", " skipped without a look, ", " a second)"] {
            assert!(line.contains(figure), "{line}");
        }
    }
    // There is no search.
    let balanced = fs::read_to_string(Path::new("data/balanced.data")).unwrap();
    assert!(text(&Place::with(&balanced).run(&["-v"]).stderr).is_empty());
}
