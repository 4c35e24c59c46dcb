//! Metrics of `hinfo`: scores, capacity and use of nodes and groups, and N+1 failures.

use super::info::text::{GroupInfo, Information};
use super::nodes::NodeMemory;
use crate::model::standby::is_standby;
use crate::model::{Cluster, NodeIdx, Outage, RunStatus};
use crate::report::form::metrics::{Family, GroupLabels, Sheet, distinct_names};
use crate::search::groups::status::Capacity;
use htools_model::words;

words!(
    /// Use of a node.
    NodeUse, "use of a node" {
        Online = "online",
        Drained = "drained",
        /// Powered off, and may be powered up.
        Standby = "standby",
        Offline = "offline",
        Silent = "silent",
    }
);

impl NodeUse {
    fn of(cluster: &Cluster, node: NodeIdx) -> NodeUse {
        let spec = &cluster.node(node).spec;
        match spec.outage {
            _ if !spec.offline => NodeUse::Online,
            Outage::Drained => NodeUse::Drained,
            Outage::Silent => NodeUse::Silent,
            Outage::Marked if is_standby(cluster, node) => NodeUse::Standby,
            Outage::Marked => NodeUse::Offline,
        }
    }
}

/// Adds the figures of a cluster.
pub(crate) fn tell(sheet: &mut Sheet, info: &Information, cluster: &Cluster) {
    let groups = GroupLabels::of(cluster);
    sheet.put(Family::ClusterScore, &[], info.components.score());
    sheet.count(Family::SplitInstances, &[], info.split.len());
    for group in &info.groups {
        tell_group(sheet, group, cluster, groups.get(group.group));
    }
    let names = distinct_names(cluster.nodes.iter().map(|node| node.spec.name.as_str()));
    for (node, name) in cluster.nodes.iter().zip(&names) {
        tell_node(sheet, cluster, node.spec.idx, &[groups.get(node.spec.group), name]);
    }
}

fn tell_group(sheet: &mut Sheet, info: &GroupInfo, cluster: &Cluster, group: &str) {
    let nodes = cluster.nodes_of(info.group);
    sheet.put(Family::GroupScore, &[group], info.components.score());
    for (metric, value, weight) in info.components.parts() {
        sheet.put(Family::GroupScorePart, &[group, metric.name], weight * value);
    }
    for state in NodeUse::ALL {
        let count = nodes.iter().filter(|node| NodeUse::of(cluster, **node) == *state).count();
        sheet.count(Family::GroupNodes, &[group, state.as_str()], count);
    }
    let instances = cluster.instances_of(info.group);
    for status in RunStatus::ALL {
        let count = instances.iter().filter(|i| cluster.instance(**i).status == *status).count();
        sheet.count(Family::GroupInstances, &[group, status.as_str()], count);
    }
    sheet.count(Family::GroupFailingNodes, &[group], info.failures.nodes.len());
    sheet.count(Family::GroupFailingInstances, &[group], info.failures.instances);
    let Capacity { memory, disk, vcpus, .. } = Capacity::of(cluster, nodes);
    sheet.bytes(Family::GroupMemorySize, &[group], memory.total as f64);
    sheet.bytes(Family::GroupMemoryUsed, &[group], memory.used as f64);
    sheet.bytes(Family::GroupDiskSize, &[group], disk.total as f64);
    sheet.bytes(Family::GroupDiskUsed, &[group], disk.used as f64);
    sheet.put(Family::GroupCpusLimit, &[group], vcpus.total as f64);
    sheet.put(Family::GroupCpusUsed, &[group], vcpus.used as f64);
}

/// Adds the figures of a node. `labels` are its group and name.
fn tell_node(sheet: &mut Sheet, cluster: &Cluster, idx: NodeIdx, labels: &[&str; 2]) {
    let node = cluster.node(idx);
    sheet.flag(Family::NodeOnline, labels, !node.spec.offline);
    if node.spec.offline {
        return;
    }
    let [group, name] = *labels;
    let ledger = &node.state.ledger;
    let Capacity { memory, disk, vcpus, .. } = Capacity::of(cluster, &[idx]);
    sheet.flag(Family::NodeFailing, labels, ledger.n1_fail);
    sheet.count(Family::NodeInstances, &[group, name, "primary"], node.state.primaries.len());
    sheet.count(Family::NodeInstances, &[group, name, "secondary"], node.state.secondaries.len());
    sheet.bytes(Family::NodeMemorySize, labels, memory.total as f64);
    sheet.bytes(Family::NodeMemoryUsed, labels, memory.used as f64);
    sheet.bytes(Family::NodeMemoryReserved, labels, NodeMemory::of(node).reserved.as_f64());
    sheet.bytes(Family::NodeDiskSize, labels, disk.total as f64);
    sheet.bytes(Family::NodeDiskUsed, labels, disk.used as f64);
    sheet.put(Family::NodeCpusLimit, labels, vcpus.total as f64);
    sheet.put(Family::NodeCpusUsed, labels, vcpus.used as f64);
}
