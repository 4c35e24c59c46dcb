//! Room for further instances (`--keep-room`, `hspace --make-room`), in words.

use crate::model::number::counted;
use crate::model::{ClusterRoom, PolicyBreach, WantedRoom};
use crate::report::balance::components::score;
use crate::report::form::amount::amount;
use crate::report::why::words::breach_text;

/// The wanted instances: `2 instances with 64 GiB memory, 16 vCPUs and 100 GiB disk (drbd)`.
pub(crate) fn wanted_text(wanted: WantedRoom) -> String {
    let size = wanted.size;
    let count = counted(usize::try_from(wanted.count).unwrap_or(usize::MAX), "instance");
    let (memory, disk) = (amount(size.memory), amount(size.disk));
    format!("{count} with {memory} memory, {} vCPUs and {disk} disk ({})", size.vcpus, size.template)
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
