//! Metrics of `harep`: the number of instances in each state.

use super::text::{RepairEntry, RepairStatus};
use crate::report::form::metrics::{Family, Sheet};

/// The label of a state.
fn word(status: RepairStatus) -> &'static str {
    match status {
        RepairStatus::Failure => "failure",
        RepairStatus::Healthy => "healthy",
        RepairStatus::NeedsRepair => "needs_repair",
        RepairStatus::PendingRepair => "pending_repair",
    }
}

/// Adds the states of instances.
pub(crate) fn tell(sheet: &mut Sheet, entries: &[RepairEntry]) {
    for status in RepairStatus::ALL {
        let count = entries.iter().filter(|entry| entry.status() == *status).count();
        sheet.count(Family::RepairInstances, &[word(*status)], count);
    }
}
