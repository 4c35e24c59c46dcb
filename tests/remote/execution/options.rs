//! Options of runs, places of journals, and conditions for asking.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use super::program::Place;
use super::server::message;

fn submissions(place: &Place) -> Vec<Value> {
    let world = place.world.lock();
    world.submissions.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

#[test]
fn priority_and_reason() {
    let place = Place::new();
    place.execute(&["-l", "1", "--priority=high", r#"--reason=my "reason" \x/"#]).ends(0);
    let requests = submissions(&place);
    let opcodes = requests[0]["args"][0][0].as_array().unwrap();
    assert_eq!(opcodes.len(), 3);
    for opcode in opcodes {
        assert_eq!(opcode["priority"], -10);
        assert_eq!(
            (&opcode["reason"][0][0], &opcode["reason"][0][1]),
            (&"hbal".into(), &r#"my "reason" \x/"#.into())
        );
        assert!(opcode["comment"].as_str().unwrap().starts_with("rebalancing via hbal (htools) version "));
        assert!(opcode["comment"].as_str().unwrap().ends_with(", step 1.1"));
    }
}

#[test]
fn parts_of_plans() {
    let place = Place::new();
    let (stdout, _) = place.execute(&["--first-job-group"]).ends(0);
    assert!(stdout.ends_with("Solution length=13\nGot job IDs 25\n"), "{stdout}");
    let place = Place::new();
    let (stdout, _) = place.execute(&["-l", "3"]).ends(0);
    assert!(
        stdout.ends_with("Solution length=3\nGot job IDs 25\nGot job IDs 26\nGot job IDs 27\n"),
        "{stdout}"
    );
    assert_eq!(submissions(&place).len(), 3);
}

#[test]
fn documents_and_events() {
    let place = Place::new();
    let (stdout, stderr) = place.execute(&["--json", "--json-events", "E"]).ends(0);
    let document: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(document["steps"].as_array().unwrap().len(), 13, "{stderr}");
    let events = place.read("E");
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let times: Vec<u64> = events.iter().map(|event| event["at"].as_u64().unwrap()).collect();
    assert!(times.is_sorted());
    let of = |kind: &str| events.iter().filter(|event| event["event"] == kind).count();
    assert_eq!((of("submitted"), of("step_ended"), of("ended")), (12, 13, 1));
    assert_eq!(events.last().unwrap()["done"], 13);
    // The document is the only output, even if the run fails or is interrupted.
    let place = Place::new();
    place.world.instead("SubmitManyJobs", message(r#"{"success":false,"result":"no"}"#));
    let (stdout, _) = place.execute(&["--json", "-q"]).ends(1);
    serde_json::from_str::<Value>(&stdout).unwrap();
}

#[test]
fn quiet_runs() {
    let place = Place::new();
    let (_, stderr) = place.execute(&["-q"]).ends(0);
    assert_eq!(stderr, "");
}

#[test]
fn the_journal_and_its_place() {
    let place = Place::new();
    let (_, stderr) = place.start(&["-X", "-l", "1"]).wait().ends(0);
    let mut files: Vec<_> =
        fs::read_dir(place.path("state/htools")).unwrap().map(|file| file.unwrap()).collect();
    files.retain(|file| file.file_name() != "history.jsonl");
    assert_eq!(files.len(), 1);
    let name = files[0].file_name().into_string().unwrap();
    assert!(name.starts_with("hbal-cluster.vc.test-") && name.ends_with(".journal"), "{name}");
    assert!(stderr.contains(&name), "{stderr}");
    assert_eq!(files[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let directory = fs::metadata(place.path("state/htools")).unwrap();
    assert_eq!(directory.permissions().mode() & 0o777, 0o700);
}

#[test]
fn journals_that_cannot_be_written() {
    let place = Place::new();
    fs::write(place.path("J"), "mine").unwrap();
    fs::create_dir(place.path("D")).unwrap();
    for (journal, why) in [
        ("J", "File exists"),
        ("D", "File exists"),
        ("missing/J", "No such file or directory"),
        ("/proc/J", "No such file or directory"),
    ] {
        let (stdout, stderr) = place.start(&["-X", "--journal", journal]).wait().ends(1);
        assert_eq!(stdout, "", "before the search");
        let wanted =
            format!("Error: the journal '{journal}' cannot be written, so nothing was submitted: {why}");
        assert!(stderr.starts_with(&wanted), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    assert_eq!(place.read("J"), "mine");
    fs::write(place.path("state"), "").unwrap();
    let (_, stderr) = place.start(&["-X"]).wait().ends(1);
    assert!(stderr.starts_with("Error: cannot make the directory '"), "{stderr}");
    fs::remove_file(place.path("state")).unwrap();
    fs::create_dir(place.path("state")).unwrap();
    fs::set_permissions(place.path("state"), Permissions::from_mode(0o500)).unwrap();
    if fs::write(place.path("state/x"), "").is_err() {
        // This does not happen as root.
        let (_, stderr) = place.start(&["-X"]).wait().ends(1);
        assert!(stderr.starts_with("Error: cannot make the directory '"), "{stderr}");
    }
    assert_eq!(place.world.lock().submissions.len(), 0);
}

/// Journals and locks are only in places where nobody else can put anything.
#[test]
fn state_directories_that_are_not_trusted() {
    let place = Place::new();
    fs::create_dir_all(place.path("state/htools")).unwrap();
    let refused = |why: &str| {
        let (stdout, stderr) = place.start(&["-X"]).wait().ends(1);
        assert_eq!(stdout, "", "before the search");
        let directory = place.path("state/htools");
        let wanted = format!(
            "Error: the directory '{}' cannot be used for journals and locks: {why}\n",
            directory.display()
        );
        assert_eq!(stderr, wanted);
    };
    fs::set_permissions(place.path("state/htools"), Permissions::from_mode(0o777)).unwrap();
    refused("other users can write to it (mode 0777)\nHint: chmod go-w takes the right from other users");
    // Another place for the journal avoids the problem.
    place.execute(&["-l", "1"]).ends(0);
    fs::rename(place.path("state/htools"), place.path("elsewhere")).unwrap();
    fs::set_permissions(place.path("elsewhere"), Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(place.path("elsewhere"), place.path("state/htools")).unwrap();
    refused("it is a symbolic link");
    assert_eq!(fs::read_dir(place.path("elsewhere")).unwrap().count(), 0);
}

#[test]
fn sources_that_take_no_jobs() {
    let place = Place::new();
    let data = super::cluster::fixture("luxi/unbalanced.data");
    let mut command = super::program::hbal(place.directory.path());
    command.args(["-X", "-t"]).arg(data);
    let (stdout, stderr) = super::program::Running::start(command).wait().ends(1);
    let wanted = "Error: hbal: Execution of commands possible only on LUXI\n";
    assert_eq!((stdout.as_str(), stderr.as_str()), ("", wanted));
}

#[test]
fn a_run_is_more_than_its_readers() {
    let place = Place::new();
    place.world.hold(true);
    let mut command = place.command(&["-X", "--journal", "J"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Nobody reads messages from the start, or job numbers after the first.
    drop(child.stderr.take());
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line == "Got job IDs 25"));
    place.world.hold(false);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    super::connection::complete(&place);
    assert_eq!(place.journal().last().unwrap()["ending"], "done");
}

#[test]
fn events_that_cannot_be_written() {
    let place = Place::new();
    let (_, stderr) = place.execute(&["-l", "1", "--json-events", "/dev/full"]).ends(0);
    assert!(stderr.ends_with("Warning: not all events could be written to '/dev/full'\n"), "{stderr}");
    let (_, stderr) = place.start(&["-X", "--json-events", "missing/E"]).wait().ends(1);
    assert!(stderr.starts_with("Error: cannot write file 'missing/E': "), "{stderr}");
    assert_eq!(place.world.lock().submissions.len(), 1);
}
