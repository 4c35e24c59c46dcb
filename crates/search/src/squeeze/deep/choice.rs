//! Choice of the nodes that stay: those that offer most of what is scarce.

use super::super::trial::GroupScope;
use super::cost::RESOURCES;
use crate::limits::resource::Resource;
use htools_model::NodeIdx;

/// Power of the share in use that makes a resource's weight. Only the scarcest resources count.
const SHARPNESS: i32 = 8;

/// The nodes that stay online and those that are freed.
pub(super) struct StayingNodes {
    /// The freed nodes.
    pub freed: Vec<NodeIdx>,
    /// Scarcity of each of [`RESOURCES`] on the others: 1 for the scarcest, and 0 if it has no limit.
    pub scarcity: [f64; RESOURCES.len()],
}

impl StayingNodes {
    /// Chooses `count` of the online nodes. Those that cannot be freed are among them. Of equal nodes, those stay that have
    /// most memory in use, so that few instances move.
    pub(super) fn of(scope: &GroupScope<'_>, online: &[NodeIdx], count: usize) -> StayingNodes {
        let scarcity = scarcity(scope, online, count);
        let offer = |resource: Resource, node: &NodeIdx| scope.offer(resource, *node).max(0) as f64;
        let total = RESOURCES.map(|r| online.iter().map(|n| offer(r, n)).sum::<f64>().max(1.0));
        let worth = |node: &NodeIdx| -> f64 {
            (0..RESOURCES.len()).map(|at| scarcity[at] * offer(RESOURCES[at], node) / total[at]).sum()
        };
        let used = |node: NodeIdx| {
            let state = &scope.cluster.node(node).state;
            (state.ledger.mem_instances, state.primaries.len() + state.secondaries.len())
        };
        let stays = scope.must_stay(online);
        let mut order: Vec<(bool, f64, NodeIdx)> =
            online.iter().zip(stays).map(|(node, stays)| (stays, worth(node), *node)).collect();
        order.sort_by(|a, b| {
            let worth = b.0.cmp(&a.0).then(b.1.total_cmp(&a.1));
            worth.then_with(|| used(b.2).cmp(&used(a.2))).then(a.2.cmp(&b.2))
        });
        StayingNodes { freed: order.iter().skip(count).map(|entry| entry.2).collect(), scarcity }
    }
}

/// Scarcity of each resource on the `count` nodes that offer most of it.
fn scarcity(scope: &GroupScope<'_>, online: &[NodeIdx], count: usize) -> [f64; RESOURCES.len()] {
    let limited = scope.limited_resources(online);
    let share = RESOURCES.map(|resource| {
        if resource != Resource::Memory && !limited.contains(&resource) {
            return 0.0;
        }
        let mut offers: Vec<i128> = online.iter().map(|n| scope.offer(resource, *n).max(0)).collect();
        offers.sort_unstable_by(|a, b| b.cmp(a));
        let offered: i128 = offers.iter().take(count).sum();
        scope.needed(resource, online).max(0) as f64 / offered.max(1) as f64
    });
    let most = share.iter().copied().fold(1e-9, f64::max);
    share.map(|share| if share > 0.0 { (share / most).powi(SHARPNESS).max(1e-6) } else { 0.0 })
}
