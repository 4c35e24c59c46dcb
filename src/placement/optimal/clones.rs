//! Clones are placed by the cluster's own strategy before the best placement of the others is looked for, with all that
//! they cannot be without.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::place::{PlacingError, place};
use super::super::score::AllocationScore;
use super::super::transition::induced::needs;
use super::super::working_set::{Colocation, Strategy, WorkingSet};
use super::rules::{PlacingRules, ZoneTie};

/// Which primitives are placed beforehand, and where.
#[derive(Debug)]
pub(super) struct PlacedBefore {
    /// By resource, whether it is one of them.
    pub(super) is_one: Vec<bool>,
    /// By resource, where it is.
    host: Vec<Option<HostIdx>>,
}

impl PlacedBefore {
    /// Those of a cluster. Where its own strategy does not look at room, that by utilization places them.
    pub(super) fn of(set: &WorkingSet) -> Result<PlacedBefore, PlacingError> {
        let count = set.resources.len();
        let mut before = PlacedBefore { is_one: vec![false; count], host: vec![None; count] };
        if set.clones().next().is_none() {
            return Ok(before);
        }
        before.is_one = needed_by_clones(set);
        let strategy = match set.strategy() {
            Strategy::Default => Strategy::Utilization,
            roomy => roomy,
        };
        let placed = place(set, strategy)?;
        for resource in set.resource_indices().filter(|one| before.is_one[one.get()]) {
            before.host[resource.get()] = placed.host(resource);
        }
        Ok(before)
    }

    /// Where one of them is.
    pub(super) fn host(&self, resource: ResourceIdx) -> Option<HostIdx> {
        self.host[resource.get()]
    }
}

/// By resource, whether it is a primitive of a clone, or must be there, or run, for one to run.
fn needed_by_clones(set: &WorkingSet) -> Vec<bool> {
    let mut found = vec![false; set.resources.len()];
    let mut left: Vec<ResourceIdx> = set.clones().collect();
    let needs = needs(set);
    let is_must = |colocation: &&Colocation| colocation.score == AllocationScore::INFINITY;
    while let Some(next) = left.pop() {
        for part in set.primitives(&next).iter() {
            if std::mem::replace(&mut found[part.get()], true) {
                continue;
            }
            let wholes = [Some(*part), set.resource(*part).group, set.clone_of(*part)];
            let is_whole = |one: ResourceIdx| wholes.contains(&Some(one));
            let musts = set.colocations.iter().filter(is_must).filter(|must| is_whole(must.dependent));
            left.extend(musts.map(|must| must.primary));
            left.extend(needs.iter().filter(|need| is_whole(need.then)).map(|need| need.first));
        }
    }
    found
}

impl PlacingRules<'_> {
    /// What a colocation with a clone means for those that are placed later: a must, that they are where an instance is.
    pub(super) fn tie_to_clone(
        &mut self,
        dependents: &[ResourceIdx],
        instances: &[ResourceIdx],
        tie: &ZoneTie,
        score: AllocationScore,
    ) {
        let set = self.set;
        let first = |instance: &ResourceIdx| set.member(*instance, false);
        let there: Vec<(ResourceIdx, HostIdx)> = instances
            .iter()
            .filter_map(first)
            .filter_map(|first| self.fixed[first.get()].map(|host| (first, host)))
            .collect();
        for dependent in dependents {
            let mut allowed = std::mem::take(&mut self.allowed[dependent.get()]);
            let is_near = |host: &HostIdx| there.iter().any(|(_, other)| self.agree(tie.zone, *host, *other));
            match score {
                AllocationScore::INFINITY => allowed.retain(is_near),
                AllocationScore::MINUS_INFINITY => allowed.retain(|host| !is_near(host)),
                _ => {
                    let ties = there.iter().map(|(first, _)| ZoneTie { other: *first, ..*tie });
                    self.wishes[dependent.get()].extend(ties);
                }
            }
            self.allowed[dependent.get()] = allowed;
        }
    }
}
