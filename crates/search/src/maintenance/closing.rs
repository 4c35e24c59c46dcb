//! The end of a batch that an earlier run has left open, or that was stopped, and of a whole maintenance.

use std::collections::BTreeSet;

use super::{ByName, not_redundant};
use htools_ganeti::execute::maintenance::{MaintenanceProgress, MaintenanceTerms, NodeStage, PlannedBatch};
use htools_model::{Cluster, Instance, InstanceIdx, NodeIdx, Placement};
use htools_plan::maintenance::Closing;
use htools_plan::names::Impossible;
use htools_plan::work::Work;

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
    let strays = by_name.strays(cluster, progress, &found);
    let work = strays.work(cluster, &found, closing, &terms.treatment)?;
    Ok(PlannedBatch {
        nodes: nodes.to_vec(),
        kind: closing.into(),
        not_redundant: not_redundant(cluster),
        work,
    })
}

/// The running instances that stay away from home because of an upgrade: they are on an upgraded node, and their primary
/// node at home is not. In ascending order.
pub fn held_on_newer(
    cluster: &Cluster,
    terms: &MaintenanceTerms,
    progress: &MaintenanceProgress,
) -> Vec<InstanceIdx> {
    if terms.treatment.upgrade.is_none() {
        return Vec::new();
    }
    let is_new: BTreeSet<&str> = progress.renewed().collect();
    let is_held = |instance: &&Instance| {
        let home = progress.away.homes.get(&instance.name);
        let here = cluster.node(instance.primary).spec.name.as_str();
        let goes_back = |home: &Placement<String>| is_new.contains(here) && !is_new.contains(&*home.primary);
        instance.status.is_running() && home.is_some_and(goes_back)
    };
    cluster.instances.iter().filter(is_held).map(|instance| instance.idx).collect()
}

/// The steps that take a maintenance back: nodes that are still marked take instances again, and all instances come
/// home, except those that are [held on newer nodes](held_on_newer). Nodes and instances that the cluster no longer has are left out.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub fn taking_back(
    cluster: &Cluster,
    terms: &MaintenanceTerms,
    progress: &MaintenanceProgress,
) -> Result<Work, Impossible> {
    let by_name = ByName::of(cluster);
    let marked = [NodeStage::Marked, NodeStage::Begun, NodeStage::Maintained];
    let marked: Vec<NodeIdx> =
        marked.iter().flat_map(|stage| progress.at(stage)).filter_map(|node| by_name.node(node)).collect();
    let out = marked.into_iter().filter(|node| cluster.node(*node).spec.offline);
    let strays = by_name.strays(cluster, progress, &cluster.all_nodes());
    strays.taking_back(cluster, &out.collect::<Vec<_>>(), &terms.treatment)
}
