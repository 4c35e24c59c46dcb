//! Runs that were killed, and faulty journals.

use std::fs::Permissions;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::connection::complete;
use super::program::{Place, Running, htools};
use super::server::Act;
use super::signals::{held, resumed};

const FOREVER: Act = Act::Pause(Duration::from_secs(3600));

#[test]
fn killed_while_a_job_runs() {
    let place = Place::new();
    held(&place).kill();
    place.world.hold(false);
    resumed(&place, 26);
}

#[test]
fn killed_after_a_submission_was_entered() {
    let place = Place::new();
    place.world.after("SubmitManyJobs", vec![FOREVER]);
    let running = place.start(&["-X", "--journal", "J"]);
    place.world.await_that("a job", |state| state.jobs.contains_key(&25));
    running.kill();
    // The job number was not known.
    resumed(&place, 25);
}

#[test]
fn killed_before_a_submission_was_entered() {
    let place = Place::new();
    place.world.instead("SubmitManyJobs", vec![FOREVER]);
    let running = place.start(&["-X", "--journal", "J"]);
    place.world.await_that("a submission", |state| state.submissions.len() == 1);
    running.kill();
    resumed(&place, 25);
    assert_eq!(place.world.lock().submissions.len(), 13);
}

#[test]
fn killed_again_and_again() {
    let place = Place::new();
    place.world.change(|state| state.pace = Duration::from_millis(10));
    let mut running = place.start(&["-X", "--journal", "J"]);
    for number in [1, 4, 8, 12] {
        place.world.await_that("a submission", |state| state.submissions.len() >= number);
        running.kill();
        running = place.start(&["--resume", "J"]);
    }
    running.wait().ends(0);
    complete(&place);
}

#[test]
fn one_run_at_a_time() {
    let place = Place::new();
    let running = held(&place);
    let (stdout, stderr) = place.resume().ends(1);
    assert_eq!((stdout.as_str(), stderr.as_str()), ("", "Error: J: another program is executing this run\n"));
    running.kill();
    let first = place.start(&["--resume", "J"]);
    place
        .world
        .await_that("a resumed run", |state| state.calls.get("Query job").is_some_and(|count| *count > 0));
    let (_, stderr) = place.resume().ends(1);
    assert!(stderr.contains("another program is executing this run"), "{stderr}");
    place.world.hold(false);
    first.wait().ends(0);
    complete(&place);
}

/// An interrupted run with its journal.
fn interrupted() -> (Place, String) {
    let place = Place::new();
    held(&place).kill();
    place.world.hold(false);
    place.world.await_that("the job", |state| state.jobs[&25].status == "success");
    let journal = place.read("J");
    (place, journal)
}

fn mode(place: &Place, name: &str, mode: u32) {
    fs::set_permissions(place.path(name), Permissions::from_mode(mode)).unwrap();
}

#[track_caller]
fn refused(place: &Place, options: &[&str], wanted: &str) {
    let before = place.world.new_jobs().len();
    let (stdout, stderr) = place.start(options).wait().ends(1);
    let lines = stderr.lines().filter(|line| !line.starts_with("Hint: ")).count();
    assert_eq!((stdout.as_str(), lines), ("", 1), "{stderr}");
    assert!(stderr.starts_with("Error: ") && stderr.contains(wanted), "{stderr}");
    assert_eq!(place.world.new_jobs().len(), before);
}

#[test]
fn another_cluster_or_tool() {
    let (place, journal) = interrupted();
    place.world.lock().cluster.set_uuid("another");
    refused(&place, &["--resume", "J"], "J: the journal is of a run on cluster cluster.vc.test (4b4f7ff0-");
    assert_eq!(place.read("J"), journal);
    // The check sum is correct.
    let header = journal.lines().next().unwrap().rsplit_once(' ').unwrap().0;
    let header = header.replacen(r#""tool":"hbal""#, r#""tool":"hsqueeze""#, 1);
    let digest = Sha256::digest(&header);
    let sum: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    fs::write(place.path("K"), format!("{header} {sum}\n")).unwrap();
    mode(&place, "K", 0o600);
    refused(&place, &["--resume", "K"], "K: the journal is of a run of hsqueeze, not of hbal");
    place.world.lock().cluster.set_uuid("4b4f7ff0-5f3e-4271-a688-ce19c5338164");
    resumed(&place, 26);
}

/// Files that others can write to are not trusted.
#[test]
fn journals_that_are_not_trusted() {
    let (place, _) = interrupted();
    for other in [0o666, 0o620, 0o602] {
        mode(&place, "J", other);
        let wanted = format!(
            "J: other users can write to it (mode {other:04o})\nHint: chmod go-w takes the right from other users"
        );
        refused(&place, &["--resume", "J"], &wanted);
        let undone = htools(&place, &["undo", "J"]);
        assert!(undone.ends(1).1.contains(&wanted));
    }
    mode(&place, "J", 0o644);
    // Only root can change the owner of a file.
    if chown(place.path("J"), Some(12345), None).is_ok() {
        refused(&place, &["--resume", "J"], "J: it belongs to another user (12345)");
        chown(place.path("J"), Some(0), None).unwrap();
    }
    resumed(&place, 26);
}

#[test]
fn damaged_journals() {
    let (place, journal) = interrupted();
    let lines: Vec<&str> = journal.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 3);
    let write = |content: &[u8]| fs::write(place.path("J"), content).unwrap();
    write(&journal.as_bytes()[..100]);
    refused(&place, &["--resume", "J"], "J, line 1: the line is cut off");
    let mut changed = journal.clone().into_bytes();
    changed[lines[0].len() + 20] ^= 1;
    write(&changed);
    refused(&place, &["--resume", "J"], "J, line 2: the check sum is wrong");
    write(journal.replacen("hbal", "hbaL", 1).as_bytes());
    refused(&place, &["--resume", "J"], "J, line 1: the check sum is wrong");
    changed[lines[0].len() + 20] = 0xff;
    write(&changed);
    refused(&place, &["--resume", "J"], "J, line 2: it is not valid UTF-8");
    write(b"");
    refused(&place, &["--resume", "J"], "J, line 1: it is empty");
    write(&[0; 10_000]);
    refused(&place, &["--resume", "J"], "J, line 1: ");
    fs::remove_file(place.path("J")).unwrap();
    refused(&place, &["--resume", "J"], "J: cannot be read: ");
    fs::create_dir(place.path("J")).unwrap();
    refused(&place, &["--resume", "J"], "J: cannot be read: ");
}

/// A crash may cut the last line off anywhere. The cluster is asked for the missing information.
#[test]
fn a_last_line_that_is_cut_off() {
    for part in [1, 5, 40] {
        let (place, journal) = interrupted();
        let lines: Vec<&str> = journal.split_inclusive('\n').collect();
        let inside = lines[0].len() + lines[1].len() + part;
        fs::write(place.path("J"), &journal.as_bytes()[..inside]).unwrap();
        let stderr = resumed(&place, 25);
        assert!(
            stderr.starts_with(
                "Warning: J: the last line is cut off; the cluster is asked for the missing state\n"
            ),
            "{stderr}"
        );
    }
}

/// A full disk, simulated by a limit on the size of files. Either there is a journal with a plan, or no journal and
/// no job. Once there is room, the run can be resumed.
#[test]
fn a_full_disk() {
    let blocks = |count: usize| {
        let place = Place::new();
        let script = format!("ulimit -f {count}; exec \"$0\" \"$@\"");
        let mut limited = Command::new("/bin/sh");
        let hbal = place.command(&["-X", "--journal", "J", "--json-events", "E"]);
        limited.args(["-c", &script]).arg(hbal.get_program()).args(hbal.get_args());
        limited.current_dir(place.directory.path()).env("HTOOLS", "hbal");
        limited.env("XDG_STATE_HOME", place.path("state"));
        let ran = Running::start(limited).wait();
        let done = ran.status == Some(0);
        let events = fs::read_to_string(place.path("E")).unwrap();
        assert!(events.is_empty() || events.ends_with('\n'), "{events}");
        match fs::read_to_string(place.path("J")) {
            Err(_) => {
                let (_, stderr) = ran.ends(1);
                assert!(
                    stderr.contains(
                        "the journal 'J' cannot be written, so nothing was submitted: File too large"
                    ),
                    "{stderr}"
                );
                assert_eq!(place.world.lock().submissions.len(), 0);
            }
            Ok(journal) => {
                assert!(journal.ends_with('\n'), "{journal}");
                if !done {
                    let (_, stderr) = ran.ends(1);
                    let wanted = "the run stopped because the journal 'J' cannot be written: File too large (os error 27); \
                                  jobs may still be running\nHint: make room; then hbal --resume J continues the run\n";
                    assert!(stderr.ends_with(wanted), "{stderr}");
                }
                place.resume().ends(0);
                complete(&place);
            }
        }
        done
    };
    let first = (1..200).find(|count| blocks(*count)).expect("enough");
    assert!(first > 10, "{first}");
}

#[test]
fn a_journal_without_its_end_contradicts_the_queue() {
    let (place, journal) = interrupted();
    let header = journal.lines().next().unwrap();
    fs::write(place.path("J"), format!("{header}\n")).unwrap();
    let ran = place.resume();
    let (stdout, stderr) = ran.ends(1);
    assert_eq!(stdout, "");
    assert!(
        stderr.contains("job 25 in Ganeti's queue is job 1.1 of this run, but the journal does not have it"),
        "{stderr}"
    );
    assert_eq!(place.world.lock().submissions.len(), 1);
}

#[test]
fn a_journal_that_lacks_the_number_only() {
    let (place, journal) = interrupted();
    let lines: Vec<&str> = journal.lines().collect();
    let mut file = File::create(place.path("J")).unwrap();
    writeln!(file, "{}\n{}", lines[0], lines[1]).unwrap();
    drop(file);
    resumed(&place, 25);
}

#[test]
fn a_plan_that_does_not_fit_any_more() {
    let (place, _) = interrupted();
    place.world.change(|state| state.cluster.place("inst07.vc.test", "node3.vc.test", "node4.vc.test"));
    let (stdout, stderr) = place.resume().ends(1);
    assert_eq!(stdout, "");
    let error = stderr.lines().rev().nth(1).unwrap();
    assert!(error.starts_with("Error: hbal: the remaining steps no longer fit the cluster"), "{stderr}");
    assert!(error.contains("inst07.vc.test"), "{stderr}");
    assert_eq!(place.world.lock().submissions.len(), 1);
}
