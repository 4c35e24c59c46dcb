//! The check of the cluster after the maintenance of a node.

use std::collections::HashMap;

use super::not_redundant;
use htools_ganeti::execute::maintenance::BegunBatch;
use htools_model::Cluster;
use htools_model::shown::shown_name;

/// First problem of the cluster after the maintenance of a node: an instance that should run does not, or a node is no
/// longer N+1 redundant. Redundancy is only checked once all nodes of the batch are in use again. Instances that no
/// longer exist are no problem.
pub fn problem_after(cluster: &Cluster, batch: &BegunBatch, running: &[String]) -> Option<String> {
    let instances: HashMap<&str, bool> =
        cluster.instances.iter().map(|i| (i.name.as_str(), i.status.is_running())).collect();
    if let Some(name) = running.iter().find(|name| instances.get(name.as_str()) == Some(&false)) {
        return Some(format!("instance '{}' does not run", shown_name(name)));
    }
    let is_out = |node: &&htools_model::Node| node.spec.offline && batch.nodes.contains(&node.spec.name);
    if cluster.nodes.iter().any(|node| is_out(&node)) {
        return None;
    }
    let failing = not_redundant(cluster);
    let new = failing.difference(&batch.not_redundant).next()?;
    Some(format!("node '{}' is no longer N+1 redundant", shown_name(new)))
}
