//! Destinations of output.

use std::fs::{self, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt;

use super::{PROGRAM, Place, Run, sample};

#[test]
fn files_that_cannot_be_written() {
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    fs::create_dir(place.path("directory")).unwrap();
    fs::create_dir(place.path("state.original")).unwrap();
    let absent = "No such file or directory (os error 2)";
    let run = place.fails(
        &["hbal", "-t", &good, "-S", "absent/state"],
        &format!("cannot write file 'absent/state.original': {absent}"),
    );
    assert_eq!(run.stdout, "", "before the search");
    place.fails(
        &["hbal", "-t", &good, "-S", "state"],
        "cannot write file 'state.original': it is a directory, not a regular file",
    );
    for (target, message) in [
        ("absent/commands", format!("cannot write file 'absent/commands': {absent}")),
        ("directory", "cannot write file 'directory': it is a directory, not a regular file".to_owned()),
        ("/dev/full", "cannot write file '/dev/full': No space left on device (os error 28)".to_owned()),
    ] {
        place.fails(&["hbal", "-t", &good, &format!("-C{target}")], &message);
    }
    place.fails(&["hbal", "-t", &good, "--print-commands="], &format!("cannot write file '': {absent}"));
}

#[test]
fn states_that_cannot_be_written() {
    let place = Place::new();
    let words = ["hspace", "-q", "--simulate", "p,2,1t,32g,16", "-l", "1", "-S", "absent/state"];
    let absent = "cannot write file 'absent/state.tiered': No such file or directory (os error 2)";
    assert_eq!(place.fails(&words, absent).stdout, "", "before the search");
    assert_eq!(place.fails(&[&words[..], &["--json"]].concat(), absent).stdout, "");
}

/// Every file that is written whole, on a disk that is full after some blocks, simulated by a limit on the size of
/// files. The old file stays unchanged, and nothing is left beside it.
#[test]
fn a_full_disk_leaves_the_old_file_alone() {
    let good = sample("unbalanced-drbd.data");
    let writers: [(&[&str], &str); 12] = [
        (&["hbal", "-t", &good, "-S", "state"], "state.original"),
        (&["hbal", "-t", &good, "-Ccommands"], "commands"),
        (&["hbal", "-t", &good, "--report", "page"], "page"),
        (&["hbal", "-t", &good, "--metrics", "x.prom"], "x.prom"),
        (&["hbal", "-t", &good, "--save-plan", "plan"], "plan"),
        (&["hspace", "-q", "--simulate", "p,2,1t,32g,16", "-l", "1", "-S", "state"], "state.tiered"),
        (&["hroller", "-t", &good, "--print-moves", "-Ccommands"], "commands"),
        (&["hsqueeze", "-t", &good, "-Ccommands"], "commands"),
        (&["hcheck", "-t", &good, "--report", "page"], "page"),
        (&["hsqueeze", "-t", &good, "--report", "page"], "page"),
        (&["hgroup", "balance", "-t", &good, "-Ccommands"], "commands"),
        (&["hplace", "simulate", "-t", &good, "--poisson", "2", "--svg", "picture"], "picture"),
    ];
    for (words, file) in writers {
        for blocks in [0, 1] {
            let place = Place::new();
            place.write(file, "old\n");
            let before = place.files();
            let mut command = Command::new("sh");
            let script = format!("ulimit -f {blocks} && exec \"$@\"");
            command.args(["-c", &script, "sh", PROGRAM]).args(words);
            command.env_remove("HTOOLS").current_dir(place.directory.path());
            let run = Run::of(command, words);
            if blocks == 0 || run.status == Some(1) {
                let wanted = format!("Error: cannot write file '{file}': File too large (os error 27)\n");
                assert!(run.stderr.ends_with(&wanted), "{words:?}: {}", run.stderr);
                assert_eq!(run.status, Some(1), "{words:?}");
                assert_eq!(fs::read_to_string(place.path(file)).unwrap(), "old\n");
                assert_eq!(place.files(), before);
            }
        }
    }
}

#[test]
fn a_reader_who_has_seen_enough() {
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    let runs: [&[&str]; 7] = [
        &["hbal", "-t", &good, "-C"],
        &["hbal", "-t", &good, "--json"],
        &["hbal", "-t", &good, "--explain", "web1"],
        &["hinfo", "-t", &good, "-v"],
        &["hspace", "-q", "-t", &good, "-l", "2"],
        &["hcheck", "-t", &good],
        &["hcheck", "-t", &good, "--without-node", "node1"],
    ];
    for words in runs {
        let (reader, writer) = UnixStream::pair().unwrap();
        drop(reader);
        let mut command = place.command(words);
        command.stdout(OwnedFd::from(writer));
        command.assert().code(0).stderr("");
    }
}

#[test]
fn standard_output_on_a_full_disk() {
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else { return };
    let place = Place::new();
    let good = sample("unbalanced-drbd.data");
    let runs: [&[&str]; 5] = [
        &["hbal", "-t", &good],
        &["hbal", "-t", &good, "--json"],
        &["hinfo", "-t", &good],
        &["hspace", "-q", "-t", &good, "-l2"],
        &["hcheck", "-t", &good, "--json"],
    ];
    for words in runs {
        let mut command = place.command(words);
        command.stdout(full.try_clone().unwrap());
        let message = "Error: cannot write to standard output: No space left on device (os error 28)\n";
        command.assert().code(1).stderr(message);
    }
}

/// Threads that cannot start, because there is no memory for their stacks: one thread does all the work.
#[test]
fn without_threads_the_answer_is_the_same() {
    let place = Place::new();
    let words = ["hspace", "-t", &sample("unbalanced-drbd.data"), "-l", "2"];
    let usual = place.run(&words);
    let limited = |stack: &str| {
        let mut command = Command::new("sh");
        let script = "ulimit -v 3000000 && exec \"$@\"";
        command.args(["-c", script, "sh", PROGRAM]).args(words);
        command.env_remove("HTOOLS").env("RUST_MIN_STACK", stack).current_dir(place.directory.path());
        Run::of(command, &words)
    };
    for stack in ["2000000", "4000000000"] {
        let run = limited(stack);
        assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{stack}");
        assert_eq!(run.stdout, usual.stdout);
    }
}

/// Exhausted memory is an error reported by Rust, not a signal.
#[test]
fn without_memory_a_run_fails() {
    let place = Place::new();
    let line = sample("balanced.data");
    let text = fs::read_to_string(line).unwrap();
    let instance = text.lines().find(|line| line.contains("|running|")).unwrap().to_owned() + "\n";
    let (name, rest) = instance.split_once('|').unwrap();
    let many: String = (0..300_000).map(|at| format!("{name}-{at}|{rest}")).collect();
    place.write("many.data", text.replacen(&instance, &many, 1));
    let words = ["hinfo", "-t", "many.data"];
    let mut command = Command::new("sh");
    let script = "ulimit -v 200000 && exec \"$@\"";
    command.args(["-c", script, "sh", PROGRAM]).args(words);
    command.env_remove("HTOOLS").current_dir(place.directory.path());
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("memory allocation of "), "{stderr}");
}
