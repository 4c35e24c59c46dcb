//! Sizes of standby nodes. A node that is off reports no resources, so its size comes from a tag set when it
//! was powered down, or from an earlier file. Otherwise it is assumed to be like the smallest node of its
//! group.

use std::collections::HashMap;

use super::{Decision, GroupPlan, Standby};
use htools_ganeti::load::raw::RawNode;
use htools_model::known_tags::STANDBY_AUTO;
use htools_model::standby::{NodeSize, is_standby};
use htools_model::units::trunc_to_i64;
use htools_model::{Cluster, Draft, Mib, Node, NodeIdx};

/// Source of the size of a standby node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeSource {
    /// The source of the cluster reports it.
    Reported,
    /// A tag of the node.
    Tag,
    /// The file of `--standby-data`.
    File,
    /// Assumed to be like this node, the smallest online one of its group.
    Like(NodeIdx),
    /// The size is unknown.
    Unknown,
}

/// Sizes of nodes by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes(HashMap<String, NodeSize>);

impl Sizes {
    /// The sizes of the nodes in a file, except those that were off then.
    pub fn of(nodes: &[RawNode]) -> Sizes {
        let size = |node: &RawNode| NodeSize {
            memory: trunc_to_i64(node.mem_total),
            node_memory: node.mem_node.0,
            disk: trunc_to_i64(node.disk_total),
            free_disk: 0,
            cpus: trunc_to_i64(node.cpu_total),
            node_cpus: node.cpu_node,
            spindles: node.spindle_total,
            free_spindles: 0,
        };
        let known = nodes.iter().map(|node| (node.name.clone(), size(node).emptied()));
        Sizes(known.filter(|(_, size)| size.is_known()).collect())
    }
}

/// Determines the size of a node that is off.
pub(super) fn sized(cluster: &Cluster, node: NodeIdx, known: &Sizes) -> Standby {
    let there = cluster.node(node);
    let standby = |size: Option<NodeSize>, source| Standby { node, size, source };
    if NodeSize::of(there).is_known() {
        return standby(None, SizeSource::Reported);
    }
    if let Some(size) = there.spec.tags.iter().find_map(|tag| NodeSize::from_tag(tag)) {
        return standby(Some(size), SizeSource::Tag);
    }
    if let Some(size) = known.0.get(&there.spec.name) {
        return standby(Some(*size), SizeSource::File);
    }
    let online = cluster.nodes.iter().filter(|n| n.spec.group == there.spec.group && !n.spec.offline);
    let sizes = online.map(|n| (NodeSize::of(n).emptied(), n.spec.idx)).filter(|(size, _)| size.is_known());
    match sizes
        .min_by_key(|(size, idx)| (size.memory.wrapping_sub(size.node_memory), size.cpus, size.disk, *idx))
    {
        Some((size, model)) => standby(Some(size), SizeSource::Like(model)),
        None => standby(None, SizeSource::Unknown),
    }
}

/// Marks a standby node as online, with its assumed size.
pub(super) fn bring_online(cluster: &mut Draft, standby: &Standby) {
    let ratio = {
        let group = cluster.node(standby.node).spec.group;
        cluster.group(group).policy.spindle_ratio
    };
    cluster.edit_node(standby.node, |node| {
        node.spec.offline = false;
        standby.size.iter().for_each(|size| resize(node, size, ratio));
    });
}

/// Updates the standby tags of the nodes that a plan switches.
pub(super) fn retag(after: &mut Cluster, plan: &GroupPlan) {
    for node in &plan.nodes {
        let has_tag = is_standby(after, *node);
        let tags = &mut after.nodes[node.get()].spec.tags;
        match plan.decision {
            Decision::Condense if !has_tag => tags.push(STANDBY_AUTO.to_owned()),
            Decision::Expand => tags.retain(|tag| tag != STANDBY_AUTO),
            Decision::Condense | Decision::Nothing => {}
        }
    }
}

/// Sets the resources of a node to a size.
fn resize(node: &mut Node, size: &NodeSize, ratio: f64) {
    let Node { spec, state } = node;
    let ledger = &mut state.ledger;
    spec.mem_total = size.memory as f64;
    spec.mem_node = Mib(size.node_memory);
    spec.mem_unaccounted = Mib::ZERO;
    let free = Mib(size.memory) - spec.mem_node - ledger.mem_instances;
    ledger.mem_free_planned += free - spec.mem_free;
    spec.mem_free = free;
    spec.disk_total = size.disk as f64;
    ledger.disk_free_planned += Mib(size.free_disk) - ledger.disk_free;
    ledger.disk_free = Mib(size.free_disk);
    spec.cpu_total = size.cpus as f64;
    let cpus = size.node_cpus.wrapping_sub(spec.cpu_node);
    spec.cpu_node = size.node_cpus;
    ledger.vcpus = ledger.vcpus.wrapping_add(cpus);
    ledger.vcpus_planned = ledger.vcpus_planned.wrapping_add(cpus);
    // The number of spindles is a parameter of the node and known while it is off, unless it is measured.
    if spec.spindle_total == 0 {
        spec.spindle_total = size.spindles;
        spec.spindle_limit = ratio * size.spindles as f64;
    }
    if spec.exclusive_storage {
        let more = size.free_spindles.wrapping_sub(ledger.spindles_free);
        ledger.spindles_free_planned = ledger.spindles_free_planned.wrapping_add(more);
        ledger.spindles_free = size.free_spindles;
    }
    ledger.update_n1(spec);
}
