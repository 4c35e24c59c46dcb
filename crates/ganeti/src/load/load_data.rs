//! Applies the reports of monitoring daemons to a merged cluster.

use super::monitoring::{Collector, CollectorReport, MonitoringData};
use htools_model::{Cluster, Node};

/// Reason that reports cannot be used; nothing has been changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MissingLoad {
    /// Some node has no usable report.
    #[error("Didn't receive an answer by all MonDs, {0}'s data will be ignored.")]
    Nodes(&'static str),
    /// No node reports these instances.
    #[error("No CPU information available for [{}]", .0.iter().map(|n| format!("{n:?}")).collect::<Vec<_>>().join(","))]
    Instances(Vec<String>),
}

/// Replaces the processor load of nodes and instances by the reports of `collector`. All nodes must have reported,
/// offline ones included. With reports by instance, every instance must occur.
///
/// # Errors
/// See [`MissingLoad`].
pub fn apply(cluster: &mut Cluster, data: &MonitoringData, collector: Collector) -> Result<(), MissingLoad> {
    let reports: Option<Vec<CollectorReport>> =
        cluster.nodes.iter().map(|node| data.report(&node.spec.name, collector).cloned()).collect();
    let reports = reports.ok_or(MissingLoad::Nodes(collector.as_str()))?;
    match collector {
        Collector::CpuAvgLoad => share_out(cluster, &reports),
        Collector::XenCpuAvgLoad => sum_up(cluster, &reports)?,
    }
    Ok(())
}

/// Distributes the load of each node among its primaries (forthcoming ones too) by virtual CPUs. The node's own CPUs
/// count in the total.
fn share_out(cluster: &mut Cluster, reports: &[CollectorReport]) {
    let total = |at: usize| if let CollectorReport::Node(total) = reports[at] { total } else { 0.0 };
    for (at, node) in cluster.nodes.iter_mut().enumerate() {
        node.state.ledger.load.cpu = total(at);
    }
    let Cluster { nodes, instances, .. } = cluster;
    for instance in instances {
        let at = instance.primary.get();
        instance.details_mut().util.cpu =
            total(at) / nodes[at].state.ledger.vcpus as f64 * instance.vcpus as f64;
    }
}

/// Takes the load of each instance from the first node that reports it. A node's load is the sum over its primaries.
fn sum_up(cluster: &mut Cluster, reports: &[CollectorReport]) -> Result<(), MissingLoad> {
    let maps = || {
        reports.iter().filter_map(|r| if let CollectorReport::Instances(map) = r { Some(map) } else { None })
    };
    let found: Vec<Option<f64>> = cluster
        .instances
        .iter()
        .map(|instance| maps().find_map(|map| map.get(&instance.name).copied()))
        .collect();
    let missing = cluster.instances.iter().zip(&found).filter(|(_, f)| f.is_none());
    let missing: Vec<String> = missing.map(|(i, _)| i.name.clone()).collect();
    if !missing.is_empty() {
        return Err(MissingLoad::Instances(missing));
    }
    for (instance, cpu) in cluster.instances.iter_mut().zip(found) {
        instance.details_mut().util.cpu = cpu.unwrap_or_default();
    }
    let Cluster { nodes, instances, .. } = cluster;
    for Node { state, .. } in nodes {
        let newest_first = state.primaries.iter().rev();
        state.ledger.load.cpu = newest_first.fold(0.0, |sum, i| sum + instances[i.get()].util.cpu);
    }
    Ok(())
}
