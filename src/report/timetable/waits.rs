//! Reasons that steps wait for each other.

use crate::model::shown::shown_name;
use crate::plan::graph::{Edge, EdgeReason};
use crate::plan::work::{Task, Work};

/// The reason that a step waits for another one, in words.
pub(in crate::report) fn why(work: &Work, edge: &Edge<EdgeReason<String>>) -> String {
    match &edge.why {
        EdgeReason::Instance => "the same instance".to_owned(),
        EdgeReason::Room(node) => format!("room on {}", shown_name(node)),
        EdgeReason::Mirror(node) => format!("N+1 on {}", shown_name(node)),
        EdgeReason::Tag(node) => format!("an exclusion tag on {}", shown_name(node)),
        EdgeReason::Power => "nodes are switched one after another".to_owned(),
        EdgeReason::Order => condition(&work.step(edge.before).task, &work.step(edge.after).task).to_owned(),
    }
}

/// The condition that one operation brings about for a later one on the same node.
fn condition(before: &Task, after: &Task) -> &'static str {
    match (before, after) {
        (Task::Drain, _) => "the node must be drained first",
        (Task::Reboot, _) => "the node must be rebooted first",
        (Task::Await | Task::RebootByHand, _) => "the node must be up again first",
        (Task::PowerOn, _) => "the node must be on first",
        (Task::SetOnline, _) => "the node must be online first",
        (Task::SetOffline, _) => "the node must be offline first",
        (Task::PowerOff, _) => "the node must be off first",
        (Task::ConfirmEmpty, _) => "the node must be known to be empty",
        (Task::Resync, _) => "disks must be in sync first",
        (
            Task::Move(_) | Task::Cross(_) | Task::Stop,
            Task::Reboot | Task::RebootByHand | Task::PowerOff | Task::ConfirmEmpty | Task::SetOffline,
        ) => "nothing may run on the node",
        _ => "the stage before must be finished",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_a_reboot() {
        assert_eq!(condition(&Task::Stop, &Task::Reboot), "nothing may run on the node");
        assert_eq!(condition(&Task::Reboot, &Task::Await), "the node must be rebooted first");
        assert_eq!(condition(&Task::Await, &Task::Resync), "the node must be up again first");
        assert_eq!(condition(&Task::Start, &Task::Stop), "the stage before must be finished");
    }
}
