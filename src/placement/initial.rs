//! Where resources are wanted before anything is placed.

use super::index::{HostIdx, ResourceIdx};
use super::score::{AllocationScore, ScoreTable};
use super::working_set::{LocationScore, Resource, WorkingSet};

impl WorkingSet {
    /// Fills the table of every resource: base scores, what is not managed, constraints, stickiness, failures.
    pub(super) fn set_scores(&mut self) {
        let table = match self.symmetric {
            true => self.base_scores(),
            false => ScoreTable::empty(self.hosts.len()),
        };
        self.resources.iter_mut().for_each(|resource| resource.scores = table.clone());
        for resource in self.resource_indices() {
            self.keep(resource);
        }
        self.add_locations();
        for resource in self.resource_indices() {
            self.add_own(resource);
        }
    }

    /// Keeps what is not managed where it runs. A member that is managed in a group that is not keeps the whole group
    /// there.
    fn keep(&mut self, resource: ResourceIdx) {
        let of = self.resource(resource);
        let Some(host) = of.active.filter(|_| of.is_primitive()) else { return };
        let group = of.group.filter(|group| !self.frozen && !self.may_manage(*group));
        let mut kept = Vec::new();
        match group {
            _ if !self.may_manage(resource) => kept.push(resource),
            Some(group) => {
                kept.push(group);
                kept.extend(&self.resource(group).members);
            }
            None => {}
        }
        let worth = self.host(host).worth();
        for resource in kept {
            let scores = &mut self.resources[resource.get()].scores;
            let score = scores.get(host).unwrap_or(worth);
            scores.set(host, score.plus(AllocationScore::INFINITY));
        }
    }

    /// Gives all resources from a position on the scores of the health of hosts. Those that may run on hosts of any health lose
    /// nothing by it.
    pub(super) fn score_health(&mut self, from: usize) {
        let score = |resource: ResourceIdx, host: HostIdx| {
            let lowest = match self.resource(resource).allows_unhealthy {
                true => AllocationScore::ZERO,
                false => AllocationScore::MINUS_INFINITY,
            };
            let id = "node-health-strategy".to_owned();
            LocationScore { id, resource, host, score: self.host(host).health.max(lowest) }
        };
        let scores: Vec<LocationScore> = self
            .top_level()
            .filter(|resource| resource.get() >= from)
            .flat_map(|resource| self.host_indices().map(move |host| (resource, host)))
            .map(|(resource, host)| score(resource, host))
            .filter(|location| location.score != AllocationScore::ZERO)
            .collect();
        self.locations.extend(scores);
    }

    fn add_locations(&mut self) {
        let WorkingSet { locations, resources, .. } = self;
        for location in locations {
            add_location(resources, location.resource, location.host, location.score);
        }
    }

    /// What a resource is worth where it runs, and never again where it failed. A clone is not wanted where one of its
    /// instances failed.
    fn add_own(&mut self, resource: ResourceIdx) {
        let (symmetric, managed) = (self.symmetric, self.may_manage(resource));
        let of = &mut self.resources[resource.get()];
        let sticky = of.is_primitive() && managed && of.stickiness > AllocationScore::ZERO;
        if let Some(host) = of.active.filter(|host| sticky && (symmetric || of.scores.get(*host).is_some())) {
            of.scores.add_or_set(host, of.stickiness);
        }
        for (host, _) in of.failed_on.clone() {
            of.scores.add_or_set(host, AllocationScore::MINUS_INFINITY);
        }
    }
}

/// Adds a score of a resource: also of all instances of a clone, and of the first member of a group.
fn add_location(resources: &mut [Resource], resource: ResourceIdx, host: HostIdx, score: AllocationScore) {
    let of = &mut resources[resource.get()];
    of.scores.add_or_set(host, score);
    let is_clone = of.is_clone();
    for (at, member) in of.members.clone().into_iter().enumerate() {
        let score = if at == 0 || is_clone { score } else { AllocationScore::ZERO };
        add_location(resources, member, host, score);
    }
}
