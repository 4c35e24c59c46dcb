//! The nodes of other groups that may take an instance.

use super::EmptyingGround;
use crate::groups::reach;
use crate::limits::alone;
use htools_model::{
    Cluster, DiskCheck, GroupIdx, Instance, InstanceIdx, Mib, Node, NodeIdx, Strictness, TagArrival,
};

/// Larger amounts are implausible, and their sums could overflow.
const PLAUSIBLE: i64 = 1 << 50;

/// An instance that must leave, and the nodes that accept it while nothing else has moved. Others never accept it.
pub(super) struct Guest<'c> {
    pub instance: &'c Instance,
    /// Nodes that accept it as a primary, in order.
    pub primaries: Vec<NodeIdx>,
    /// Nodes that accept it in any role, in order.
    pub hosts: Vec<NodeIdx>,
}

impl Guest<'_> {
    pub(super) fn has_no_place(&self) -> bool {
        self.primaries.is_empty()
    }

    pub(super) fn is_mirrored(&self) -> bool {
        self.instance.template.has_secondary()
    }
}

/// The instances with their hosts. `None` if an amount is negative or implausible, so that an arrival could make room, or
/// if the deadline is reached.
pub(super) fn guests<'c>(
    ground: &EmptyingGround<'c>,
    source: GroupIdx,
    residents: &[InstanceIdx],
) -> Option<Vec<Guest<'c>>> {
    let instances = || residents.iter().map(|i| ground.cluster.instance(*i));
    if !instances().all(is_plausible) {
        return None;
    }
    let others: Vec<GroupIdx> =
        ground.cluster.groups.iter().map(|g| g.idx).filter(|g| *g != source).collect();
    let guest = |instance: &'c Instance| {
        let mut guest = Guest { instance, primaries: Vec::new(), hosts: Vec::new() };
        others.iter().for_each(|group| enter_hosts(ground, &mut guest, *group));
        guest.primaries.sort_unstable();
        guest.hosts.sort_unstable();
        ground.deadline.reached().is_none().then_some(guest)
    };
    instances().map(guest).collect()
}

fn is_plausible(instance: &Instance) -> bool {
    let amounts = [instance.mem.0, instance.disk.0, instance.vcpus, instance.spindle_use];
    let all = amounts.into_iter().chain(instance.spindles);
    all.into_iter().all(|amount| (0..PLAUSIBLE).contains(&amount))
}

/// Adds the nodes of a group that accept an instance.
fn enter_hosts(ground: &EmptyingGround<'_>, guest: &mut Guest<'_>, group: GroupIdx) {
    let EmptyingGround { cluster, setting, placing, .. } = ground;
    let (members, health) = (cluster.nodes_of(group), placing.health(group));
    let Ok(nodes) = reach::targets(cluster, setting, guest.instance, group, members, health) else { return };
    let accepting = |test: fn(&Cluster, &Node, &Instance) -> bool| -> Vec<NodeIdx> {
        nodes.iter().copied().filter(|n| test(cluster, cluster.node(*n), guest.instance)).collect()
    };
    let primaries = accepting(accepts_primary);
    if !guest.is_mirrored() {
        guest.hosts.extend(&primaries);
        guest.primaries.extend(primaries);
        return;
    }
    let secondaries = accepting(accepts_secondary);
    // The other role needs another node.
    let beside = |role: &[NodeIdx], n: &NodeIdx| role.iter().any(|other| other != n);
    let primary_hosts = primaries.iter().copied().filter(|n| beside(&secondaries, n));
    let secondary_hosts = secondaries.iter().copied().filter(|n| beside(&primaries, n));
    let (primary_hosts, secondary_hosts): (Vec<_>, Vec<_>) =
        (primary_hosts.collect(), secondary_hosts.collect());
    guest.hosts.extend(primary_hosts.iter().chain(&secondary_hosts));
    guest.hosts.sort_unstable();
    guest.hosts.dedup();
    guest.primaries.extend(primary_hosts);
}

fn accepts_primary(cluster: &Cluster, node: &Node, instance: &Instance) -> bool {
    let policy = &cluster.group(node.spec.group).policy;
    if policy.accepts(instance, node.spec.exclusive_storage).is_err() {
        return false;
    }
    if node.spec.cpu_total < 0.0 {
        // Here a larger number of virtual CPUs has a smaller ratio, so that the node may accept the instance later.
        return true;
    }
    let (spec, tags) = (&alone(&node.spec), TagArrival::of(&node.state, instance));
    node.state.ledger.add_primary(spec, instance, 0, tags, Strictness::Strict).is_ok()
}

/// Tells if a node accepts a secondary whose primary is on a node for which it keeps nothing so far.
fn accepts_secondary(_: &Cluster, node: &Node, instance: &Instance) -> bool {
    let spec = &alone(&node.spec);
    let ledger = &node.state.ledger;
    ledger.add_secondary(spec, instance, Mib::ZERO, Strictness::Strict, DiskCheck::Needed).is_ok()
}
