//! `hbal --pay-back`: moves that gain too little for their cost are left out.

use assert_cmd::Command;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/unbalanced-drbd.data");

/// Status, standard output and standard error.
fn hbal(words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env("HTOOLS", "hbal").env("HTOOLS_CONFIG", "").args(["-t", SAMPLE]).args(words);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Instances of the steps of a plan.
fn moved(out: &str) -> Vec<String> {
    let steps = out.lines().filter(|line| line.contains(" => "));
    steps.map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect()
}

#[test]
fn with_much_time_all_moves_pay_back() {
    for options in [&[][..], &["--deep", "--effort=20000"], &["--merge"]] {
        let plain = hbal(options);
        let patient = hbal(&[options, &["--pay-back=1000d"]].concat());
        assert_eq!((plain.0, plain.1), (patient.0, patient.1));
        assert!(!patient.2.contains("it stays"), "{}", patient.2);
    }
}

#[test]
fn what_does_not_pay_back_stays() {
    let (status, out, error) = hbal(&["--pay-back=1h"]);
    assert_eq!(status, 0, "{error}");
    let stays = |line: &&str| line.ends_with("; it stays");
    let left: Vec<&str> = error.lines().filter(stays).collect();
    assert!(
        left[0].starts_with(
            "db1: gains 1.1534 an hour, costs 7.8772 (216.1 GiB in 1 h, score 7.8678 worse meanwhile), pays back after 6 h 49 min"
        ),
        "{error}"
    );
    let names = |lines: &[&str]| -> Vec<String> {
        lines.iter().map(|line| line.split(':').next().unwrap().to_owned()).collect()
    };
    let (left, told) = (names(&left), moved(&out));
    assert!(!told.is_empty() && told.iter().all(|name| !left.contains(name)), "{out}{error}");
    // Each move that is made is told with its cost.
    let paid: Vec<&str> =
        error.lines().filter(|line| line.contains(" pays back after ") && !stays(line)).collect();
    let mut made = told.clone();
    made.sort_unstable();
    made.dedup();
    let mut paid = names(&paid);
    paid.sort_unstable();
    assert_eq!(paid, made, "{error}");
    let (_, quiet, error) = hbal(&["--pay-back=1h", "-q"]);
    assert_eq!(moved(&quiet), told);
    assert!(!error.contains("gains"), "{error}");
    let fewer = moved(&hbal(&["--pay-back=2m"]).1).len();
    assert!(fewer < told.len(), "{fewer}");
}

#[test]
fn slow_copies_cost_more() {
    let stays = |rates: &[&str]| {
        let (_, _, error) = hbal(&[&["--pay-back=1h"], rates].concat());
        error.lines().any(|line| line.starts_with("db1: ") && line.ends_with("; it stays"))
    };
    assert!(stays(&[]) && !stays(&["--sync-rate=1000", "--bandwidth=1000"]));
}

#[test]
fn needed_moves_are_not_judged() {
    for other in ["--repair-only", "--evacuate=node1", "--all-groups", "--worst-group", "--evac-mode"] {
        let (status, out, error) = hbal(&["--pay-back=1h", other]);
        let long = other.split('=').next().unwrap();
        assert_eq!((status, out.as_str()), (1, ""));
        assert_eq!(error, format!("Error: options --pay-back and {long} exclude each other\n"));
    }
    // What is on an offline node leaves it.
    let (_, out, error) = hbal(&["--pay-back=1s", "-O", "node1"]);
    assert!(moved(&out).contains(&"db1".to_owned()) && !error.contains("db1:"), "{out}{error}");
}
