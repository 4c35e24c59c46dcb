//! Metrics of `hroller -X`: how far a maintenance is.

use crate::execute::maintenance::{MaintenanceProgress, NodeStage};
use crate::report::form::metrics::{Family, Sheet};

/// Adds the stages of the nodes. `began` is the begin of the maintenance, in nanoseconds since 1970.
pub(crate) fn tell(sheet: &mut Sheet, progress: &MaintenanceProgress, began: u64) {
    let count = |stages: &[NodeStage]| stages.iter().map(|stage| progress.at(stage).len()).sum::<usize>();
    for (stage, nodes) in [
        ("done", count(&[NodeStage::Done])),
        ("needless", count(&[NodeStage::Skipped])),
        ("marked", count(&[NodeStage::Marked, NodeStage::Begun, NodeStage::Maintained])),
        ("left", count(&[NodeStage::Left])),
    ] {
        sheet.count(Family::MaintenanceNodes, &[stage], nodes);
    }
    sheet.put(Family::MaintenanceBegan, &[], (began / 1_000_000) as f64 / 1000.0);
}
