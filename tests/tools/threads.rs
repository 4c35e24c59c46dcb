//! `--threads`: every tool that searches prints the same bytes with any number of threads.

use std::time::{SystemTime, UNIX_EPOCH};

use assert_cmd::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");

/// Commands of all tools with `--threads`.
const COMMANDS: [&[&str]; 11] = [
    &["hail", "data/allocate.json"],
    &["hbal", "-t", "data/unbalanced-drbd.data"],
    &["hbal", "-t", "data/unbalanced-drbd.data", "--deep", "--effort", "20000"],
    &["hcheck", "-t", "data/groups.data"],
    &["hgroup", "balance", "-t", "data/groups.data"],
    &["hinfo", "-t", "data/groups.data"],
    &["hplace", "optimal", "-x", "data/pacemaker-vms.xml"],
    &["hplace", "survive", "-x", "data/pacemaker-vms.xml"],
    &["hroller", "-t", "data/balanced.data"],
    &["hspace", "-t", "data/balanced.data"],
    &["hsqueeze", "-t", "data/balanced.data"],
];

/// The answers of a command with 1, 2 and 8 threads.
fn answers(words: &[&str]) -> [(String, Option<i32>); 3] {
    ["1", "2", "8"].map(|threads| {
        let output = Command::new(PROGRAM)
            .env_remove("HTOOLS")
            .env_remove("RAYON_NUM_THREADS")
            .args(words)
            .args(["--threads", threads])
            .output()
            .unwrap();
        assert!(!output.stdout.is_empty(), "{words:?}");
        (String::from_utf8(output.stdout).unwrap(), output.status.code())
    })
}

#[test]
fn answers_do_not_depend_on_the_number_of_threads() {
    for words in COMMANDS {
        let [alone, two, eight] = answers(words);
        assert_eq!(two, alone, "{words:?}");
        assert_eq!(eight, alone, "{words:?}");
    }
}

/// harep writes the time into tags, in seconds. Its answers are compared if all were given within the same second.
#[test]
fn repairs_do_not_depend_on_the_number_of_threads() {
    let second = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let are_the_same = |_| {
        let begin = second();
        let [alone, two, eight] = answers(&["harep", "-t", "data/repairs.data", "--dry-run", "--json"]);
        let are_equal = two == alone && eight == alone;
        assert!(are_equal || second() != begin, "{alone:?}\n{two:?}\n{eight:?}");
        are_equal
    };
    assert!((0..30).any(are_the_same));
}

#[test]
fn the_number_is_limited() {
    for number in ["0", "-1", "1001", "many"] {
        let command = &mut Command::new(PROGRAM);
        let run = command.env_remove("HTOOLS").args(["hbal", "-t", "data/balanced.data"]);
        run.arg(format!("--threads={number}")).assert().code(1);
    }
}
