//! Clones, and all that they cannot be without, are placed by the cluster's own strategy. The best placement of the
//! other resources is found afterwards, for each choice of promoted instances.

use std::collections::HashMap;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::place::PlacingError;
use super::super::placing::{AllPlaced, PlacingEvent};
use super::super::score::AllocationScore;
use super::super::transition::needs::needs;
use super::super::working_set::{Colocation, WorkingSet};
use super::carriers::Machines;
use super::limits::PlacingLimits;
use super::promotions::{self, ChosenInstance, PromotedPlacement};

/// Primitives that are placed beforehand, and their hosts.
#[derive(Debug)]
pub(super) struct PlacedBefore {
    /// By resource; true if it is one of them.
    included: Vec<bool>,
    /// By resource, its host.
    host: Vec<Option<HostIdx>>,
    /// By resource; true for a primitive that is promoted there.
    promoted: Vec<bool>,
    /// The promotions in it.
    promotions: Vec<PlacingEvent>,
    /// The promoted instances.
    choice: Vec<ChosenInstance>,
    /// Sum of their promotion scores.
    promotion_score: i64,
    /// The primitives that stay where they are because of guest nodes, remote nodes and bundles.
    pinned: Vec<ResourceIdx>,
    /// The VMs of guest nodes that have a place.
    machines: Vec<ResourceIdx>,
}

impl PlacedBefore {
    /// Places them for a cluster, once for each choice of promoted instances. If its own strategy ignores capacities,
    /// `utilization` places them.
    pub(super) fn choices(
        set: &WorkingSet,
        limits: &PlacingLimits,
        machines: Machines,
    ) -> Result<Vec<PlacedBefore>, PlacingError> {
        if set.clones().next().is_none() && !set.has_guests() {
            return Ok(vec![PlacedBefore::nothing(set)]);
        }
        // A limited number of moves leaves roles to the cluster.
        let choices = promotions::choices(set, limits.moves.is_some())?;
        Ok(choices.into_iter().map(|choice| PlacedBefore::with(set, machines, choice)).collect())
    }

    /// Places them for a cluster as they are in a best placement.
    pub(super) fn as_in(set: &WorkingSet, best: &AllPlaced) -> Result<PlacedBefore, PlacingError> {
        match set.clones().next() {
            None if !set.has_guests() => Ok(PlacedBefore::nothing(set)),
            _ => Ok(PlacedBefore::with(set, Machines::as_in(set, best), promotions::as_in(set, best)?)),
        }
    }

    fn nothing(set: &WorkingSet) -> PlacedBefore {
        let count = set.resources.len();
        PlacedBefore {
            included: vec![false; count],
            host: vec![None; count],
            promoted: vec![false; count],
            promotions: Vec::new(),
            choice: Vec::new(),
            promotion_score: 0,
            pinned: Vec::new(),
            machines: Vec::new(),
        }
    }

    fn with(set: &WorkingSet, machines: Machines, choice: PromotedPlacement) -> PlacedBefore {
        let PromotedPlacement { placed, choice, score } = choice;
        let pinned = set.pinned(&placed, machines);
        let host = set.resource_indices().map(|one| placed.host(one)).collect();
        let is_promotion = |event: &PlacingEvent| matches!(event, PlacingEvent::Promotion { .. });
        let needed = set.virtual_machines().map(|(_, parts)| parts.machine);
        PlacedBefore {
            included: needed_by_clones(set, &pinned),
            machines: needed.filter(|machine| placed.host(*machine).is_some()).collect(),
            pinned,
            host,
            promoted: placed.promoted,
            promotions: placed.events.into_iter().filter(is_promotion).collect(),
            choice,
            promotion_score: score,
        }
    }

    /// The primitives that stay where they are because of guest nodes, remote nodes and bundles.
    pub(super) fn pinned(&self) -> &[ResourceIdx] {
        &self.pinned
    }

    /// Returns true if a placement leaves out no VM of a guest node that has a place. What is inside depends on it.
    pub(super) fn keeps_machines(&self, hosts: &[Option<HostIdx>]) -> bool {
        self.machines.iter().all(|machine| hosts[machine.get()].is_some())
    }

    /// The promoted instances.
    pub(super) fn choice(&self) -> &[ChosenInstance] {
        &self.choice
    }

    /// By resource; true for a primitive that is promoted.
    pub(super) fn promoted(&self) -> &[bool] {
        &self.promoted
    }

    /// The promotion of a clone.
    pub(super) fn promotion(&self, clone: ResourceIdx) -> Option<&PlacingEvent> {
        let is_of = |event: &&PlacingEvent| matches!(event, PlacingEvent::Promotion { clone: of, .. } if *of == clone);
        self.promotions.iter().find(is_of)
    }

    /// Sum of the promotion scores of the promoted instances.
    pub(super) fn promotion_score(&self) -> i64 {
        self.promotion_score
    }

    /// Returns true if a resource is one of them.
    pub(super) fn includes(&self, resource: ResourceIdx) -> bool {
        self.included[resource.get()]
    }

    /// The host of one of them.
    pub(super) fn host(&self, resource: ResourceIdx) -> Option<HostIdx> {
        self.host[resource.get()]
    }
}

/// By resource; true for the primitives of clones and for pinned ones, for all that must be with them, or must run, for one
/// to run, and for all on which a role depends.
fn needed_by_clones(set: &WorkingSet, pinned: &[ResourceIdx]) -> Vec<bool> {
    let counts = |colocation: &&Colocation| {
        colocation.score == AllocationScore::INFINITY || colocation.dependent_role.is_some()
    };
    let mandatory = set.colocations.iter().filter(counts);
    let mut needed: HashMap<ResourceIdx, Vec<ResourceIdx>> = HashMap::new();
    mandatory.for_each(|must| needed.entry(must.dependent).or_default().push(must.primary));
    needs(set).iter().for_each(|need| needed.entry(need.then).or_default().push(need.first));
    for choice in &set.choices {
        choice.dependents.iter().for_each(|then| needed.entry(*then).or_default().extend(&choice.firsts));
    }
    let mut found = vec![false; set.resources.len()];
    let mut left: Vec<ResourceIdx> = set.clones().chain(pinned.iter().copied()).collect();
    while let Some(next) = left.pop() {
        for part in set.primitives(&next).iter() {
            if !std::mem::replace(&mut found[part.get()], true) {
                let wholes = [Some(*part), set.resource(*part).group, set.clone_of(*part)];
                left.extend(wholes.iter().flatten().filter_map(|one| needed.get(one)).flatten());
            }
        }
    }
    found
}
