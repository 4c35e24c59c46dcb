//! `--threads`: every tool that searches prints the same bytes with any number of threads.

use assert_cmd::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_htools");

/// Commands of all tools with `--threads`.
const COMMANDS: [&[&str]; 12] = [
    &["hail", "data/allocate.json"],
    &["harep", "-t", "data/repairs.data", "--dry-run", "--json"],
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

#[test]
fn answers_do_not_depend_on_the_number_of_threads() {
    for words in COMMANDS {
        let run = |threads: &str| {
            let output = Command::new(PROGRAM)
                .env_remove("HTOOLS")
                .env_remove("RAYON_NUM_THREADS")
                .args(words)
                .args(["--threads", threads])
                .output()
                .unwrap();
            (String::from_utf8(output.stdout).unwrap(), output.status.code())
        };
        let alone = run("1");
        assert!(!alone.0.is_empty(), "{words:?}");
        assert_eq!(run("2"), alone, "{words:?}");
        assert_eq!(run("8"), alone, "{words:?}");
    }
}

#[test]
fn the_number_is_limited() {
    for number in ["0", "-1", "1001", "many"] {
        let command = &mut Command::new(PROGRAM);
        let run = command.env_remove("HTOOLS").args(["hbal", "-t", "data/balanced.data"]);
        run.arg(format!("--threads={number}")).assert().code(1);
    }
}
