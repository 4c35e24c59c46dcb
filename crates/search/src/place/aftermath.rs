//! Conditions on the cluster that a place must meet, beyond the rules of its own nodes.

use super::kept_room::RoomGuard;
use super::{Conditions, InstanceToPlace};
use htools_model::redundancy::global::RedundancyCheck;
use htools_model::{Cluster, Instance, NodeIdx, Place, ReserveForInstance};

/// Conditions that must hold after an instance is placed.
pub(crate) struct PlacementChecks<'c> {
    guard: Option<RedundancyCheck<'c>>,
    redundancy_as: &'c Instance,
    reserves: Reserves<'c>,
    room: RoomGuard,
}

/// Reserves of groups for the loss of several nodes at once; caches the groups examined so far.
pub(crate) struct Reserves<'c> {
    cluster: &'c Cluster,
    instance: &'c Instance,
    /// True if soft limits are ignored.
    soft: bool,
    /// Results by group, and by the pools that the instance needs there.
    known: Vec<ReserveForInstance>,
}

impl<'c> PlacementChecks<'c> {
    /// The conditions for `newcomer` on some of `nodes` (ascending); `None` if there are none.
    pub(crate) fn of(
        cluster: &'c Cluster,
        nodes: &[NodeIdx],
        newcomer: InstanceToPlace<'c>,
        conditions: &Conditions,
    ) -> Option<PlacementChecks<'c>> {
        let guard = conditions.redundancy.as_ref().map(|scope| RedundancyCheck::new(cluster, nodes, scope));
        let reserves = Reserves::of(cluster, newcomer.redundancy_as, conditions);
        let room = RoomGuard::of(cluster, conditions.ignore_soft_errors);
        let counts = guard.is_some() || reserves.count(nodes) || room.counts();
        counts.then_some(PlacementChecks { guard, redundancy_as: newcomer.redundancy_as, reserves, room })
    }

    /// Returns true if the conditions hold with the instance at a place.
    pub(crate) fn holds(&mut self, place: &Place) -> bool {
        self.reserves.hold(place.placement.primary)
            && self.room.holds_at(self.reserves.cluster, place)
            && self.guard.as_mut().is_none_or(|guard| guard.holds_with(self.redundancy_as, place))
    }
}

impl<'c> Reserves<'c> {
    pub(crate) fn of(cluster: &'c Cluster, instance: &'c Instance, conditions: &Conditions) -> Reserves<'c> {
        Reserves { cluster, instance, soft: conditions.ignore_soft_errors, known: Vec::new() }
    }

    /// Returns true if the reserves matter on any of the nodes.
    fn count(&self, nodes: &[NodeIdx]) -> bool {
        !self.soft && nodes.iter().any(|node| self.cluster.node(*node).spec.joint_losses > 1)
    }

    /// Returns true if the reserve of the node's group is sufficient or no worse with the instance on the node.
    /// It must have a place for all instances on shared storage if several nodes are lost at once.
    pub(crate) fn hold(&mut self, primary: NodeIdx) -> bool {
        if !self.count(&[primary]) {
            return true;
        }
        let spec = &self.cluster.node(primary).spec;
        let pools = spec.needs_of(self.instance);
        let is_meant = |known: &ReserveForInstance| known.is_for(spec.group, &pools);
        let at = self.known.iter().position(is_meant).unwrap_or(self.known.len());
        if at == self.known.len() {
            let Some(reserve) = self.cluster.reserve_for_newcomer(self.instance, spec) else { return true };
            self.known.push(reserve);
        }
        self.known[at].change(primary).is_allowed()
    }
}
