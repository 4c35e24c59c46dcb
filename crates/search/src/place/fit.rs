//! Checks whether an instance fits in a place.

use super::Conditions;
use htools_model::{
    Cluster, DiskCheck, Instance, NodeIdx, Obstacle, Place, Placement, Strictness, TagArrival,
};

/// Tries places for one instance.
#[derive(Clone, Copy)]
pub struct PlaceTester<'a> {
    cluster: &'a Cluster,
    instance: &'a Instance,
    strictness: Strictness,
}

impl<'a> PlaceTester<'a> {
    /// Prepares to place `instance`, which is not on the cluster yet.
    pub fn new(cluster: &'a Cluster, instance: &'a Instance, conditions: &Conditions) -> PlaceTester<'a> {
        PlaceTester { cluster, instance, strictness: conditions.strictness() }
    }

    /// Places the instance on one or two nodes.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn at(&self, place: Placement) -> Result<Place, Obstacle> {
        place.secondary.map_or_else(|| self.single(place.primary), |s| self.pair(place.primary, s))
    }

    /// Places the instance on one node.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn single(&self, node: NodeIdx) -> Result<Place, Obstacle> {
        self.policy(node)?;
        self.primary(node, None, 0)
    }

    /// Places the instance on two nodes.
    ///
    /// # Errors
    /// The first rule that is broken; the primary is checked before the secondary.
    pub fn pair(&self, primary: NodeIdx, secondary: NodeIdx) -> Result<Place, Obstacle> {
        self.policy(primary)?;
        let location_score = self.cluster.common_locations(primary, secondary);
        let place = self.primary(primary, Some(secondary), location_score)?;
        self.with_secondary(place, primary, secondary)
    }

    /// Places the instance on two nodes, ignoring their common locations.
    pub(super) fn unrelated_pair(&self, primary: NodeIdx, secondary: NodeIdx) -> Result<Place, Obstacle> {
        self.policy(primary)?;
        let place = self.primary(primary, Some(secondary), 0)?;
        self.with_secondary(place, primary, secondary)
    }

    /// Checks that the policy of the node's group accepts the instance.
    pub(super) fn policy(&self, node: NodeIdx) -> Result<(), Obstacle> {
        let spec = &self.cluster.node(node).spec;
        let policy = &self.cluster.group(spec.group).policy;
        policy.accepts(self.instance, spec.exclusive_storage).map_err(Obstacle::Policy)
    }

    /// Places the instance on its primary node.
    pub(super) fn primary(
        &self,
        node: NodeIdx,
        secondary: Option<NodeIdx>,
        location_score: i64,
    ) -> Result<Place, Obstacle> {
        let target = self.cluster.node(node);
        let tags = TagArrival::of(&target.state, self.instance);
        let ledger = &target.state.ledger;
        let primary = ledger
            .add_primary(&target.spec, self.instance, location_score, tags, self.strictness)
            .map_err(Obstacle::Primary)?;
        let placement = Placement { primary: node, secondary };
        Ok(Place { placement, location_score, primary, secondary: None })
    }

    /// Adds the secondary node to a place. Soft limits always apply there.
    pub(super) fn with_secondary(
        &self,
        place: Place,
        primary: NodeIdx,
        secondary: NodeIdx,
    ) -> Result<Place, Obstacle> {
        let target = self.cluster.node(secondary);
        let peer = target.state.peers.get(primary);
        let ledger = target
            .state
            .ledger
            .add_secondary(&target.spec, self.instance, peer, Strictness::Strict, DiskCheck::Needed)
            .map_err(Obstacle::Secondary)?;
        Ok(Place { secondary: Some(ledger), ..place })
    }
}
