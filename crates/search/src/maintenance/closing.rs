//! The end of a batch that an earlier run has left open, or that was stopped.

use super::{ByName, not_redundant};
use htools_ganeti::execute::maintenance::{MaintenanceProgress, MaintenanceTerms, PlannedBatch};
use htools_model::{Cluster, NodeIdx};
use htools_plan::maintenance::Closing;
use htools_plan::names::Impossible;

/// The batch that ends an earlier one of these nodes. Nodes that the cluster no longer has are left out.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub fn closing_batch(
    cluster: &Cluster,
    terms: &MaintenanceTerms,
    progress: &MaintenanceProgress,
    nodes: &[String],
    closing: Closing,
) -> Result<PlannedBatch, Impossible> {
    let by_name = ByName::of(cluster);
    let found: Vec<NodeIdx> = nodes.iter().filter_map(|node| by_name.node(node)).collect();
    let strays = by_name.strays(cluster, &progress.away, &found);
    let work = strays.work(cluster, &found, closing, &terms.treatment)?;
    Ok(PlannedBatch {
        nodes: nodes.to_vec(),
        kind: closing.into(),
        not_redundant: not_redundant(cluster),
        work,
    })
}
