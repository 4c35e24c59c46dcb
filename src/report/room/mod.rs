//! Room for further instances (`--keep-room`, `hspace --make-room`), in words.

pub(crate) mod json;

use crate::model::number::counted;
use crate::model::{Cluster, ClusterRoom, PolicyBreach, WantedRoom};
use crate::report::balance::components::score;
use crate::report::form::amount::amount;
use crate::report::why::words::breach_text;
use crate::search::make_room::{MadeRoom, RoomCap, RoomResource};

/// The wanted instances: `2 instances with 64 GiB memory, 16 vCPUs and 100 GiB disk (drbd)`.
pub(crate) fn wanted_text(wanted: WantedRoom) -> String {
    let size = wanted.size;
    let count = counted(usize::try_from(wanted.count).unwrap_or(usize::MAX), "instance");
    let (memory, disk) = (amount(size.memory), amount(size.disk));
    let vcpus = counted(usize::try_from(size.vcpus).unwrap_or(usize::MAX), "vCPU");
    format!("{count} with {memory} memory, {vcpus} and {disk} disk ({})", size.template)
}

/// The wanted instances and the number of them that fit, with the first word for the case that all do.
pub(crate) fn fitting_text(room: &ClusterRoom) -> String {
    let (wanted, count) = (room.wanted(), room.count());
    if count >= wanted.count {
        format!("There is room for {}", wanted_text(wanted))
    } else {
        format!("There is room for only {count} of {}", wanted_text(wanted))
    }
}

/// The outcome of making room, after the moves: lines for people.
pub(crate) fn made_text(made: &MadeRoom, before: &ClusterRoom, cluster: &Cluster) -> Vec<String> {
    let (bound, wanted) = (&made.bound, before.wanted());
    let moves = counted(made.steps.len(), "move");
    if made.is_complete() {
        let proof = match bound.fewest_moves {
            _ if made.steps.is_empty() => return Vec::new(),
            fewest if fewest >= made.steps.len() => "no fewer moves are enough".to_owned(),
            fewest => format!("at least {} needed", are_needed(fewest)),
        };
        return vec![format!("After {moves} there is room for {}; {proof}", wanted_text(wanted))];
    }
    let mut lines = Vec::new();
    if bound.is_impossible() {
        let most = bound.most();
        lines.push(format!("No moves make this room: at most {most} of {} fit", wanted.count));
    } else if !made.steps.is_empty() {
        let count = made.after.room().map_or(0, |room| room.count());
        lines.push(format!(
            "After {moves} there is room for {count} of {}; no plan for more was found",
            wanted.count
        ));
    } else {
        lines.push("No plan that makes this room was found".to_owned());
        lines.push(format!("At least {} needed", are_needed(bound.fewest_moves)));
    }
    lines.extend(bound.groups.iter().filter(|_| bound.is_impossible()).map(|cap| cap_text(cap, cluster)));
    lines
}

fn are_needed(moves: usize) -> String {
    format!("{} {}", counted(moves, "move"), if moves == 1 { "is" } else { "are" })
}

/// The bound of a group.
fn cap_text(cap: &RoomCap, cluster: &Cluster) -> String {
    let limit = match cap.resource {
        RoomResource::Memory => "the free memory of all its nodes together",
        RoomResource::Vcpus => "the free virtual CPUs of all its nodes together",
        RoomResource::Disk => "the free disk of all its nodes together",
        RoomResource::Nodes => "its nodes without all instances that can move",
    };
    format!("Group {}: at most {}, by {limit}", cluster.group(cap.group).name, cap.most)
}

/// The scores of a plan that keeps the room, and of one that does not.
pub(crate) fn price_text(with: f64, without: f64) -> String {
    let cost = with - without;
    if cost <= 0.0 {
        return "Keeping the room costs nothing in score".to_owned();
    }
    format!("Keeping the room costs {} in score: it would be {} without", score(cost), score(without))
}

/// The reason that the policies of all groups refuse a size.
pub(crate) fn refused_text(wanted: WantedRoom, breach: PolicyBreach) -> String {
    let one = WantedRoom { count: 1, ..wanted };
    format!("no node group's policy accepts {}: {}", wanted_text(one), breach_text(breach))
}
