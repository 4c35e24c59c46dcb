use super::*;
use crate::search::groups::load::LoadSource;
use crate::tools::cli::testing::*;

#[test]
fn one_command_and_its_options() {
    let options = parse(&words(&["balance", "-g1", "--move-cost=2", "-l5", "-Ux"])).unwrap();
    assert_eq!(options.command, GroupCommand::Balance);
    let balance = options.group_balance();
    assert_eq!((balance.min_gain, balance.move_cost, balance.regroup.max_moves), (1.0, 2.0, Some(5)));
    assert_eq!((balance.loads, balance.min_score), (LoadSource::Measured, 1e-9));
    let options = parse(&words(&["-l", "-1", "redistribute"])).unwrap();
    assert_eq!(options.regroup().max_moves, None);
    for line in [&[][..], &["status", "status"], &["heal"], &["Status"]] {
        let Err(Stop::WrongWords(complaint)) = parse(&words(line)) else { panic!("{line:?}") };
        assert!(complaint.lines().ends_with(&format!("\nHint: {WHICH}\n")), "{complaint}");
    }
    let Err(Stop::WrongWords(complaint)) = parse(&words(&["blance"])) else { panic!() };
    assert_eq!(complaint.problem(), "'blance' is not a command, did you mean 'balance'?");
    assert!(parse(&words(&["balance", "--move-cost=-1"])).is_err());
}

#[test]
fn options_of_other_commands_are_told() {
    for (line, long) in [
        (["status", "-C"], "print-commands"),
        (["redistribute", "--svg"], "svg"),
        (["compress", "-g1"], "min-gain"),
        (["balance", "--evacuate"], "empty-one"),
    ] {
        let Err(Stop::Misplaced { option, command, .. }) = parse(&words(&line)) else { panic!("{line:?}") };
        assert_eq!((option, command), (long, format!("`hgroup {}'", line[0])));
    }
    assert!(parse(&words(&["status", "--svg", "-v"])).is_ok());
}
