//! Moves as commands.

use htools_model::{Concession, InstanceIdx, Move, NodeIdx, Placement, Step};
use htools_plan::command::commands;
use htools_plan::shell::Command;
use htools_testkit::cluster;

const NODES: [&str; 3] = [
    "n1.x|9000|0|8000|90000|80000|9|N|u",
    "n2.x|9000|0|9000|90000|80000|9|N|u",
    "n3.x|9000|0|9000|90000|90000|9|N|u",
];

/// The commands of a move of an instance in the given state.
fn commands_of(mv: Move, status: &str) -> Vec<String> {
    let instance = format!("web.x|1000|10000|1|{status}|Y|n1.x|n2.x|drbd|");
    let cluster = cluster(&NODES, &[&instance], &[]);
    let here = Placement { primary: NodeIdx::new(0), secondary: Some(NodeIdx::new(1)) };
    let step = Step {
        instance: InstanceIdx::new(0),
        mv,
        from: here,
        to: here,
        score: 0.0,
        concession: Concession::None,
    };
    commands(&cluster, &step).unwrap().iter().map(Command::to_string).collect()
}

#[test]
fn moves_become_commands_with_full_names() {
    let t = NodeIdx::new(2);
    let (go, copy) = ("gnt-instance migrate -f web.x", "gnt-instance replace-disks -n n3.x web.x");
    for (mv, expected) in [
        (Move::Failover, vec![go]),
        (Move::FailoverTo(t), vec!["gnt-instance migrate -f -n n3.x web.x"]),
        (Move::ReplaceSecondary(t), vec![copy]),
        (Move::ReplaceAndFailover(t), vec![copy, go]),
        (Move::ReplacePrimary(t), vec![go, copy, go]),
        (Move::FailoverAndReplace(t), vec![go, copy]),
    ] {
        assert_eq!(commands_of(mv, "running"), expected, "{mv:?}");
    }
}

#[test]
fn what_does_not_run_fails_over() {
    assert_eq!(commands_of(Move::Failover, "ADMIN_down"), ["gnt-instance failover -f web.x"]);
    assert_eq!(commands_of(Move::Failover, "ERROR_up"), ["gnt-instance migrate -f web.x"]);
}
