use super::*;
use crate::search::BalanceOptions;
use crate::tools::cli::Stop;
use crate::tools::cli::testing::*;

#[test]
fn defaults_and_values() {
    assert_eq!(SPEC.parse(&words(&[])), Ok(HcheckOptions::default()));
    let line = [
        "-El3",
        "--no-sim",
        "--no-cap",
        "--machine",
        "-e1",
        "-g0.5",
        "--min-gain-limit=2",
        "--no-disk-moves",
    ];
    let options = SPEC.parse(&words(&line)).unwrap();
    assert!(options.no_simulation && options.limits.no_capacity_checks && options.output.machine_readable);
    let BalanceOptions { evacuate, max_length, min_score, min_gain, min_gain_limit, rules, .. } =
        options.balance;
    assert_eq!((evacuate, max_length, min_score, min_gain, min_gain_limit), (true, 3, 1.0, 0.5, 2.0));
    assert!(!rules.disk_moves && rules.instance_moves && !rules.ignore_soft_errors);
    let options =
        SPEC.parse(&words(&["--machine-readable=no", "--without-node", "a", "--without-node=b"])).unwrap();
    assert!(!options.output.machine_readable);
    assert_eq!(options.without, ["a", "b"]);
}

#[test]
fn options_of_other_tools_are_unknown() {
    for word in ["-p", "--print-instances", "-G", "-C"] {
        assert!(matches!(SPEC.parse(&words(&[word])), Err(Stop::Syntax(_))), "{word}");
    }
}
