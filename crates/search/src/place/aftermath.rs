//! What else must hold once an instance is in its place, whatever its nodes say.

use super::{Conditions, Newcomer};
use htools_model::redundancy::global::Guard;
use htools_model::{Cluster, Instance, NodeIdx, Place, ReserveForNewcomer};

/// The conditions on the cluster with an instance at a place.
pub(crate) struct Aftermath<'c> {
    guard: Option<Guard<'c>>,
    judged_as: &'c Instance,
    reserves: Reserves<'c>,
}

/// What groups have for the loss of several nodes at once, those that an instance was already looked at in.
pub(crate) struct Reserves<'c> {
    cluster: &'c Cluster,
    instance: &'c Instance,
    /// Soft limits do not count.
    soft: bool,
    /// By group, and by the pools that the instance needs there.
    known: Vec<ReserveForNewcomer>,
}

impl<'c> Aftermath<'c> {
    /// What must hold with `newcomer` on some of `nodes` (ascending); nothing if nothing must.
    pub(crate) fn of(
        cluster: &'c Cluster,
        nodes: &[NodeIdx],
        newcomer: Newcomer<'c>,
        conditions: &Conditions,
    ) -> Option<Aftermath<'c>> {
        let guard = conditions.redundancy.as_ref().map(|scope| Guard::new(cluster, nodes, scope));
        let reserves = Reserves::of(cluster, newcomer.judged_as, conditions);
        let counts = guard.is_some() || reserves.count(nodes);
        counts.then_some(Aftermath { guard, judged_as: newcomer.judged_as, reserves })
    }

    /// Whether it holds with the instance at a place.
    pub(crate) fn holds(&mut self, place: &Place) -> bool {
        self.reserves.hold(place.placement.primary)
            && self.guard.as_mut().is_none_or(|guard| guard.holds_with(self.judged_as, place))
    }
}

impl<'c> Reserves<'c> {
    pub(crate) fn of(cluster: &'c Cluster, instance: &'c Instance, conditions: &Conditions) -> Reserves<'c> {
        Reserves { cluster, instance, soft: conditions.ignore_soft_errors, known: Vec::new() }
    }

    /// Whether they count on any of some nodes.
    fn count(&self, nodes: &[NodeIdx]) -> bool {
        !self.soft && nodes.iter().any(|node| self.cluster.node(*node).spec.joint_losses > 1)
    }

    /// Whether the group of a node has a place for all of its instances on shared storage when several nodes are lost at
    /// once, or no less for them, with the instance on that node.
    pub(crate) fn hold(&mut self, primary: NodeIdx) -> bool {
        if !self.count(&[primary]) {
            return true;
        }
        let spec = &self.cluster.node(primary).spec;
        let pools = spec.needs_of(self.instance);
        let is_meant = |known: &ReserveForNewcomer| known.is_for(spec.group, &pools);
        let at = self.known.iter().position(is_meant).unwrap_or(self.known.len());
        if at == self.known.len() {
            let Some(reserve) = self.cluster.reserve_for_newcomer(self.instance, spec) else { return true };
            self.known.push(reserve);
        }
        self.known[at].change(primary).is_allowed()
    }
}
