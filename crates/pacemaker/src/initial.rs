//! Scores of resources before anything is placed.

use super::additions::{AdditionLog, ScoreSource};
use super::bundle::Bundle;
use super::index::{HostIdx, ResourceIdx};
use super::score::{AllocationScore, HostScore, ScoreTable};
use super::working_set::{Resource, ResourceForm, WorkingSet};

impl WorkingSet {
    /// Fills the score tables of all resources: base scores, unmanaged resources, location constraints, node health,
    /// stickiness, failures, tickets, wishes for promotions, exclusive locations and guest nodes.
    pub fn set_scores(&mut self) {
        self.fill_scores(&mut AdditionLog::off());
    }

    /// The additions that make up the tables.
    pub(super) fn initial_additions(&self) -> AdditionLog {
        let mut log = AdditionLog::new(self.resources.len());
        self.clone().fill_scores(&mut log);
        log
    }

    fn fill_scores(&mut self, log: &mut AdditionLog) {
        let table = if self.symmetric { self.base_scores() } else { ScoreTable::empty(self.hosts.len()) };
        self.resources.iter_mut().for_each(|resource| resource.scores = table.clone());
        self.mark_kept_by_tickets();
        self.open_connections();
        self.open_replicas();
        self.open_listed_replicas();
        for resource in self.resource_indices() {
            let scored = self.resource(resource).scores.iter();
            log.note(resource, ScoreSource::Host, scored.map(|(host, score)| HostScore { host, score }));
        }
        for resource in self.resource_indices() {
            self.keep(resource, log);
        }
        self.add_locations(log);
        self.add_health(log);
        for resource in self.resource_indices() {
            self.add_own(resource, log);
        }
        // Wishes for promotions do not count on hosts that tickets forbid.
        self.forbid_by_tickets(log);
        self.add_promotion_wishes(log);
        self.noting(log, ScoreSource::Exclusive, Self::confine);
        self.noting(log, ScoreSource::Guest, Self::keep_from_guests);
        self.noting(log, ScoreSource::Guest, Self::show_replicas);
        self.noting(log, ScoreSource::Guest, Self::keep_from_strays);
    }

    /// Changes tables, and notes all differences with the same source.
    fn noting(&mut self, log: &mut AdditionLog, source: ScoreSource, change: fn(&mut Self)) {
        let before: Vec<ScoreTable> = if log.is_on() {
            self.resources.iter().map(|resource| resource.scores.clone()).collect()
        } else {
            Vec::new()
        };
        change(self);
        for (resource, before) in self.resource_indices().zip(&before) {
            log.note_change(resource, source, before, &self.resource(resource).scores);
        }
    }

    /// Keeps unmanaged resources on their hosts. A managed part of an unmanaged group keeps the whole group there, and
    /// one of an unmanaged clone draws all instances.
    fn keep(&mut self, resource: ResourceIdx, log: &mut AdditionLog) {
        let details = self.resource(resource);
        let Some(host) = details.active.filter(|_| details.is_primitive()) else { return };
        let kept = match self.unmanaged_whole(resource) {
            _ if !self.may_manage_by_itself(resource) => vec![resource],
            Some(_) if self.follows_unmanaged_member(resource, host) => Vec::new(),
            Some(whole) => self.parts_with(whole),
            None => Vec::new(),
        };
        let hosts = if details.released {
            Vec::new()
        } else if details.runs_twice() {
            details.kept_on.clone()
        } else {
            vec![host]
        };
        for host in hosts {
            let worth = self.host(host).worth();
            for resource in &kept {
                let details = &mut self.resources[resource.get()];
                // A resource that is no longer configured is known from its hosts alone.
                let known = details.scores.get(host).filter(|_| !details.orphaned);
                details.scores.set(host, known.unwrap_or(worth).plus(AllocationScore::INFINITY));
                let own = if known.is_some() { AllocationScore::ZERO } else { worth };
                log.note_one(*resource, ScoreSource::Host, host, own);
                log.note_one(*resource, ScoreSource::Unmanaged, host, AllocationScore::INFINITY);
            }
        }
    }

    /// Pacemaker quirk: a group is not kept on a host if the history there has an unmanaged member before the managed one.
    fn follows_unmanaged_member(&self, resource: ResourceIdx, host: HostIdx) -> bool {
        let details = self.resource(resource);
        let Some(group) = details.group else { return false };
        self.resource(group).members.iter().any(|member| {
            let other = self.resource(*member);
            other.active == Some(host)
                && other.position_in_history < details.position_in_history
                && !self.may_manage_by_itself(*member)
        })
    }

    /// The group or clone around a primitive that is unmanaged, the inner one first.
    fn unmanaged_whole(&self, resource: ResourceIdx) -> Option<ResourceIdx> {
        let wholes = [self.resource(resource).group, self.clone_of(resource)];
        wholes.into_iter().flatten().find(|whole| !self.may_manage_by_itself(*whole))
    }

    /// Score of a host's health for a resource. One that may run on unhealthy hosts loses nothing by it.
    pub(super) fn health_score(&self, resource: ResourceIdx, host: HostIdx) -> AllocationScore {
        let health = self.host(host).health;
        if self.resource(resource).allows_unhealthy { health.max(AllocationScore::ZERO) } else { health }
    }

    /// Health scores other than 0 of the top-level resources.
    pub fn health_scores(&self) -> impl Iterator<Item = (ResourceIdx, HostIdx, AllocationScore)> + '_ {
        let hosts =
            move || self.host_indices().filter(|host| self.host(*host).health != AllocationScore::ZERO);
        let scores = move |resource: ResourceIdx| {
            hosts().map(move |host| (resource, host, self.health_score(resource, host)))
        };
        self.top_level().flat_map(scores).filter(|(.., score)| *score != AllocationScore::ZERO)
    }

    fn add_health(&mut self, log: &mut AdditionLog) {
        let counts = |host: &HostIdx| self.host(*host).health != AllocationScore::ZERO;
        let hosts: Vec<HostIdx> = self.host_indices().filter(counts).collect();
        if hosts.is_empty() {
            return;
        }
        for resource in self.top_level().collect::<Vec<_>>() {
            for host in &hosts {
                let score = self.health_score(resource, *host);
                if score != AllocationScore::ZERO {
                    let scored = HostScore { host: *host, score };
                    let WorkingSet { resources, bundles, .. } = self;
                    add_location_to_all(resources, bundles, resource, scored, ScoreSource::Health, log);
                }
            }
        }
    }

    fn add_locations(&mut self, log: &mut AdditionLog) {
        let WorkingSet { locations, resources, bundles, .. } = self;
        let mut first = 0;
        for (at, location) in locations.iter().enumerate() {
            // The scores of one constraint have one source.
            if locations[first].id != location.id {
                first = at;
            }
            let scored = HostScore { host: location.host, score: location.score };
            let source = ScoreSource::Location(first);
            add_location_to_all(resources, bundles, location.resource, scored, source, log);
        }
    }

    /// Adds stickiness where the resource runs, and minus infinity where it failed. A failed instance keeps the whole
    /// clone from its host.
    fn add_own(&mut self, resource: ResourceIdx, log: &mut AdditionLog) {
        let (symmetric, managed) = (self.symmetric, self.may_manage(resource));
        let hosts = self.host_indices();
        let details = &mut self.resources[resource.get()];
        let sticky = details.is_primitive()
            && managed
            && !details.runs_twice()
            && details.stickiness > AllocationScore::ZERO;
        if let Some(host) =
            details.active.filter(|host| sticky && (symmetric || details.scores.get(*host).is_some()))
        {
            details.scores.add_or_set(host, details.stickiness);
            log.note_one(resource, ScoreSource::Stickiness, host, details.stickiness);
        }
        for HostScore { host, .. } in details.failed_on.clone() {
            details.scores.add_or_set(host, AllocationScore::MINUS_INFINITY);
            log.note_one(resource, ScoreSource::Failures, host, AllocationScore::MINUS_INFINITY);
        }
        // This outweighs that the resource is unmanaged.
        let nowhere = [
            (details.surplus && details.orphaned, ScoreSource::Orphaned),
            (details.stops_for_good(), ScoreSource::RunsTwice),
        ];
        for (_, source) in nowhere.into_iter().filter(|(holds, _)| *holds) {
            for host in hosts.clone() {
                details.scores.add_or_set(host, AllocationScore::MINUS_INFINITY);
                log.note_one(resource, source, host, AllocationScore::MINUS_INFINITY);
            }
        }
    }
}

/// Adds a score to a resource, its parts, and the addresses of a bundle.
fn add_location_to_all(
    resources: &mut [Resource],
    bundles: &[Bundle],
    resource: ResourceIdx,
    scored: HostScore,
    source: ScoreSource,
    log: &mut AdditionLog,
) {
    add_location(resources, resource, scored, source, log);
    let bundle = bundles.iter().find(|bundle| bundle.whole == resource);
    for address in bundle.into_iter().flat_map(Bundle::addresses) {
        add_location(resources, address, scored, source, log);
    }
}

/// Adds a score to a resource and its parts: all instances of a clone, or the first member of a group, which the others
/// follow. If members need not be together, all of them get it.
fn add_location(
    resources: &mut [Resource],
    resource: ResourceIdx,
    scored: HostScore,
    source: ScoreSource,
    log: &mut AdditionLog,
) {
    let HostScore { host, score } = scored;
    let details = &mut resources[resource.get()];
    details.scores.add_or_set(host, score);
    log.note_one(resource, source, host, score);
    let for_all =
        matches!(details.form, ResourceForm::Clone { .. } | ResourceForm::Group { together: false, .. });
    for (at, member) in details.members.clone().into_iter().enumerate() {
        let score = if at == 0 || for_all { score } else { AllocationScore::ZERO };
        add_location(resources, member, HostScore { host, score }, source, log);
    }
}
