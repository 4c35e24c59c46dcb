//! Clones are placed by the cluster's own strategy before the best placement of the others is looked for, with all that
//! they cannot be without.

use std::collections::HashMap;

use super::super::additions::ScoreSource;
use super::super::index::{HostIdx, ResourceIdx};
use super::super::place::{PlacingError, place};
use super::super::score::AllocationScore;
use super::super::transition::induced::{Need, needs};
use super::super::working_set::{Strategy, WorkingSet};
use super::rules::{PlacingRules, ZoneTie};

/// Which primitives are placed beforehand, and where.
#[derive(Debug)]
pub(super) struct PlacedBefore {
    /// By resource, whether it is one of them.
    included: Vec<bool>,
    /// By resource, where it is.
    host: Vec<Option<HostIdx>>,
}

impl PlacedBefore {
    /// Those of a cluster. Where its own strategy does not look at room, that by utilization places them.
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

    /// Whether a resource is one of them.
    pub(super) fn includes(&self, resource: ResourceIdx) -> bool {
        self.included[resource.get()]
    }

    /// Where one of them is.
    pub(super) fn host(&self, resource: ResourceIdx) -> Option<HostIdx> {
        self.host[resource.get()]
    }
}

/// By resource, whether it is a primitive of a clone, or must be there, or run, for one to run.
fn needed_by_clones(set: &WorkingSet) -> Vec<bool> {
    let musts = set.colocations.iter().filter(|colocation| colocation.score == AllocationScore::INFINITY);
    let mut needed: HashMap<ResourceIdx, Vec<ResourceIdx>> = HashMap::new();
    musts.for_each(|must| needed.entry(must.dependent).or_default().push(must.primary));
    needs(set).iter().for_each(|need| needed.entry(need.then).or_default().push(need.first));
    for choice in &set.choices {
        choice.thens.iter().for_each(|then| needed.entry(*then).or_default().extend(&choice.firsts));
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

impl PlacingRules<'_> {
    /// What a colocation with a clone means for one that is placed later: a must, that it is where an instance is.
    pub(super) fn tie_to_clone(&mut self, dependent: ResourceIdx, at: usize, zone: usize) {
        let set = self.set;
        let (clone, score) = (set.colocations[at].primary, set.colocations[at].score);
        let firsts = set.resource(clone).members.iter().filter_map(|instance| set.member(*instance, false));
        let there: Vec<(ResourceIdx, HostIdx)> =
            firsts.filter_map(|first| self.fixed[first.get()].map(|host| (first, host))).collect();
        let mut allowed = std::mem::take(&mut self.allowed[dependent.get()]);
        let is_near = |host: &HostIdx| there.iter().any(|(_, other)| self.agree(zone, *host, *other));
        match score {
            AllocationScore::INFINITY => allowed.retain(is_near),
            AllocationScore::MINUS_INFINITY => allowed.retain(|host| !is_near(host)),
            _ => {
                let (score, source) = (i64::from(score.get()), ScoreSource::With(at));
                let tie = |(other, _): &(_, _)| ZoneTie { other: *other, zone, score, source };
                self.wishes[dependent.get()].extend(there.iter().map(tie));
            }
        }
        self.allowed[dependent.get()] = allowed;
    }

    /// What is started after a clone of which no instance runs does not run.
    pub(super) fn need_clone(&mut self, need: &Need) {
        let set = self.set;
        let runs = set.primitives(&need.first).iter().any(|part| self.fixed[part.get()].is_some());
        let waits = |then: &&ResourceIdx| need.symmetrical || set.resource(**then).active.is_none();
        if !runs {
            set.primitives(&need.then).iter().filter(waits).for_each(|then| self.allowed[then.get()].clear());
        }
    }
}
