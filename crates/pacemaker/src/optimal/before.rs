//! Clones, and all that they cannot be without, are placed by the cluster's own strategy. The best placement of the
//! other resources is found afterwards.

use std::collections::HashMap;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::place::{PlacingError, place};
use super::super::score::AllocationScore;
use super::super::transition::needs::needs;
use super::super::working_set::{Strategy, WorkingSet};

/// Primitives that are placed beforehand, and their hosts.
#[derive(Debug)]
pub(super) struct PlacedBefore {
    /// By resource; true if it is one of them.
    included: Vec<bool>,
    /// By resource, its host.
    host: Vec<Option<HostIdx>>,
}

impl PlacedBefore {
    /// Places them for a cluster. If its own strategy ignores capacities, `utilization` places them.
    pub(super) fn of(set: &WorkingSet) -> Result<PlacedBefore, PlacingError> {
        let count = set.resources.len();
        if set.clones().next().is_none() {
            return Ok(PlacedBefore { included: vec![false; count], host: vec![None; count] });
        }
        let strategy = match set.strategy() {
            Strategy::Default => Strategy::Utilization,
            roomy => roomy,
        };
        let placed = place(set, strategy)?;
        let host = set.resource_indices().map(|one| placed.host(one)).collect();
        Ok(PlacedBefore { included: needed_by_clones(set), host })
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

/// By resource; true for the primitives of clones, and for all that must be with them, or must run, for one to run.
fn needed_by_clones(set: &WorkingSet) -> Vec<bool> {
    let mandatory = set.colocations.iter().filter(|colocation| colocation.score == AllocationScore::INFINITY);
    let mut needed: HashMap<ResourceIdx, Vec<ResourceIdx>> = HashMap::new();
    mandatory.for_each(|must| needed.entry(must.dependent).or_default().push(must.primary));
    needs(set).iter().for_each(|need| needed.entry(need.then).or_default().push(need.first));
    for choice in &set.choices {
        choice.dependents.iter().for_each(|then| needed.entry(*then).or_default().extend(&choice.firsts));
    }
    let mut found = vec![false; set.resources.len()];
    let mut left: Vec<ResourceIdx> = set.clones().collect();
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
