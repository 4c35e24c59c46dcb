//! What no placement may break, and what each is worth, in the form in which a search asks for it.

use std::cmp::Reverse;

use super::super::additions::ScoreSource;
use super::super::index::{AttributeIdx, HostIdx, ResourceIdx};
use super::super::score::AllocationScore;
use super::super::transition::needs::{Need, only_stops};
use super::super::wishes::AgreeingHosts;
use super::super::working_set::{Resource, WorkingSet};
use super::before::PlacedBefore;

/// What ties a resource to another one: they are to be on hosts of one zone, or not to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct ZoneTie {
    pub(super) other: ResourceIdx,
    /// The attribute in which their hosts agree, by its position; 0 is the host itself.
    pub(super) zone: usize,
    /// What it is worth; nothing where it is a must.
    pub(super) score: i64,
    /// Why they are tied.
    pub(super) source: ScoreSource,
}

/// That some of several resources are needed.
#[derive(Debug, Clone)]
pub(super) struct NeededSome {
    pub(super) firsts: Vec<ResourceIdx>,
    pub(super) enough: usize,
}

impl NeededSome {
    /// Whether enough of them are as asked.
    pub(super) fn is_met(&self, is: impl Fn(ResourceIdx) -> bool) -> bool {
        self.firsts.iter().filter(|first| is(**first)).count() >= self.enough
    }
}

/// The rules of a cluster, for a search.
pub(super) struct PlacingRules<'a> {
    pub(super) set: &'a WorkingSet,
    /// Clones, and what they cannot be without.
    pub(super) before: &'a PlacedBefore,
    /// How many kinds of capacity there are.
    pub(super) kinds: usize,
    /// By host and kind, what is left for what can be placed.
    pub(super) room: Vec<i64>,
    /// By resource and kind, what it needs.
    amounts: Vec<i64>,
    /// By resource that can be placed: the hosts that it may be on, by name. Others have none.
    pub(super) allowed: Vec<Vec<HostIdx>>,
    /// By resource that cannot be placed: where it is.
    pub(super) fixed: Vec<Option<HostIdx>>,
    /// Those that can be placed: by priority, highest first.
    pub(super) movable: Vec<ResourceIdx>,
    /// By resource, how many higher priorities there are.
    pub(super) level: Vec<usize>,
    /// The priorities, highest first.
    pub(super) priorities: Vec<AllocationScore>,
    /// By resource, with whom it must be.
    pub(super) primaries: Vec<Vec<ZoneTie>>,
    /// By resource, who must be with it.
    pub(super) followers: Vec<Vec<ZoneTie>>,
    /// By resource, with whom it must not be.
    pub(super) apart: Vec<Vec<ZoneTie>>,
    /// By resource, with whom it would like to be, or not.
    pub(super) wishes: Vec<Vec<ZoneTie>>,
    /// By resource, what has to run for it to run.
    pub(super) firsts: Vec<Vec<ResourceIdx>>,
    /// By resource, of which some have to run for it to run.
    pub(super) choices: Vec<Vec<NeededSome>>,
    /// By resource, what cannot run without it, or without others in its place.
    pub(super) thens: Vec<Vec<ResourceIdx>>,
    /// The mandatory orders that interrupt the later one when the first is.
    pub(super) interrupting: Vec<Need>,
    /// Those in which only a live migration of the later one is given up when the first goes down.
    pub(super) giving_up: Vec<Need>,
    /// By host, whether something that is fixed is there.
    pub(super) occupied: Vec<bool>,
    /// By resource, itself and those with which it forms sets that must share a host.
    pub(super) crews: Vec<Vec<ResourceIdx>>,
    pub(super) zones: Vec<AgreeingHosts>,
}

impl<'a> PlacingRules<'a> {
    pub(super) fn of(set: &'a WorkingSet, before: &'a PlacedBefore) -> PlacingRules<'a> {
        let (count, kinds) = (set.resources.len(), set.attributes.len());
        let mut rules = PlacingRules {
            set,
            before,
            kinds,
            room: Vec::with_capacity(set.hosts.len() * kinds),
            amounts: Vec::with_capacity(count * kinds),
            allowed: vec![Vec::new(); count],
            fixed: vec![None; count],
            movable: Vec::new(),
            level: vec![0; count],
            priorities: Vec::new(),
            primaries: vec![Vec::new(); count],
            followers: vec![Vec::new(); count],
            apart: vec![Vec::new(); count],
            wishes: vec![Vec::new(); count],
            firsts: vec![Vec::new(); count],
            choices: vec![Vec::new(); count],
            thens: vec![Vec::new(); count],
            interrupting: Vec::new(),
            giving_up: only_stops(set),
            occupied: vec![false; set.hosts.len()],
            crews: vec![Vec::new(); count],
            zones: vec![AgreeingHosts::themselves(set)],
        };
        rules.fix();
        rules.measure();
        rules.tie();
        rules.order();
        rules.choose();
        rules.settle_what_is_fixed();
        rules.rank();
        rules
    }

    /// Where those stay that nobody places, and where the others may be.
    fn fix(&mut self) {
        let set = self.set;
        for resource in set.resource_indices().filter(|one| set.resource(*one).is_primitive()) {
            let details = set.resource(resource);
            if !set.is_managed(resource) {
                self.fixed[resource.get()] = details.active;
            } else if self.before.includes(resource) {
                self.fixed[resource.get()] = self.before.host(resource);
            } else if set.should_run(resource) {
                let may = |(host, score): (HostIdx, AllocationScore)| {
                    let usable = set.host(host).state.available() && score > AllocationScore::MINUS_INFINITY;
                    usable.then_some(host)
                };
                self.allowed[resource.get()] = details.scores.iter().filter_map(may).collect();
            }
        }
    }

    /// What is left on the hosts beside what is fixed there, which is taken first.
    fn measure(&mut self) {
        let set = self.set;
        let mut room = set.room();
        for resource in set.resource_indices() {
            if let Some(host) = self.fixed[resource.get()] {
                room[host.get()].charge(&set.resource(resource).utilization);
                self.occupied[host.get()] = true;
            }
        }
        let kinds = || (0..self.kinds).map(AttributeIdx::new);
        self.room = room.iter().flat_map(|room| kinds().map(|kind| room.get(kind))).collect();
        let amounts =
            |resource: &Resource| kinds().map(|kind| resource.utilization.get(kind)).collect::<Vec<_>>();
        self.amounts = set.resources.iter().flat_map(amounts).collect();
        for resource in set.resource_indices() {
            let needed = &set.resource(resource).utilization;
            // what is overdrawn takes nothing in, not even what needs nothing of it
            self.allowed[resource.get()].retain(|host| room[host.get()].hold(needed));
        }
    }

    /// Takes away the hosts that what is fixed forbids, until there are none to take away.
    fn settle_what_is_fixed(&mut self) {
        loop {
            let mut again = false;
            for at in 0..self.allowed.len() {
                if self.allowed[at].is_empty() {
                    continue;
                }
                let mut left = std::mem::take(&mut self.allowed[at]);
                let before = left.len();
                left.retain(|host| self.possible(ResourceIdx::new(at), *host));
                again |= left.len() < before;
                self.allowed[at] = left;
            }
            if !again {
                return;
            }
        }
    }

    /// Whether what is fixed, or can never be placed, allows a resource to be on a host.
    fn possible(&self, resource: ResourceIdx, host: HostIdx) -> bool {
        let is_free = |other: ResourceIdx| !self.allowed[other.get()].is_empty() || other == resource;
        let fixed = |other: ResourceIdx| self.fixed[other.get()];
        let with = self.primaries[resource.get()].iter().all(|tie| {
            is_free(tie.other) || fixed(tie.other).is_some_and(|there| self.agree(tie.zone, host, there))
        });
        let apart = self.apart[resource.get()].iter().all(|tie| {
            is_free(tie.other) || fixed(tie.other).is_none_or(|there| !self.agree(tie.zone, host, there))
        });
        let may_run = |first: ResourceIdx| is_free(first) || fixed(first).is_some();
        let firsts = &self.firsts[resource.get()];
        let some = self.choices[resource.get()].iter().all(|some| some.is_met(may_run));
        with && apart && some && firsts.iter().all(|first| may_run(*first))
    }

    /// Whether a resource is one of those of which as many as possible should run.
    pub(super) fn counts(&self, resource: ResourceIdx) -> bool {
        let set = self.set;
        let is_ours = set.resource(resource).is_primitive() && !self.before.includes(resource);
        is_ours && set.should_run(resource)
    }

    /// Puts those that can be placed in order.
    fn rank(&mut self) {
        let set = self.set;
        self.movable = set.resource_indices().filter(|one| !self.allowed[one.get()].is_empty()).collect();
        let priority = |resource: &ResourceIdx| set.resource(*resource).priority;
        self.movable.sort_by_key(|resource| Reverse(priority(resource)));
        self.priorities =
            set.resource_indices().filter(|one| self.counts(*one)).map(|one| priority(&one)).collect();
        self.priorities.sort_by_key(|priority| Reverse(*priority));
        self.priorities.dedup();
        for resource in &self.movable {
            let level = self.priorities.iter().position(|other| *other == priority(resource));
            self.level[resource.get()] = level.unwrap_or(0);
        }
        for resource in self.movable.clone() {
            self.crews[resource.get()] = self.crew(resource);
        }
    }

    /// A resource and all that can be placed and is tied to it, or to one that is, by musts about one host.
    fn crew(&self, resource: ResourceIdx) -> Vec<ResourceIdx> {
        let mut crew = vec![resource];
        let mut at = 0;
        while let Some(next) = crew.get(at) {
            let ties = self.primaries[next.get()].iter().chain(&self.followers[next.get()]);
            let near = ties.filter(|tie| tie.zone == 0 && !self.allowed[tie.other.get()].is_empty());
            let mut new: Vec<ResourceIdx> =
                near.map(|tie| tie.other).filter(|other| !crew.contains(other)).collect();
            new.dedup();
            for other in new {
                if !crew.contains(&other) {
                    crew.push(other);
                }
            }
            at += 1;
        }
        crew
    }

    /// Whether two hosts are of one zone.
    pub(super) fn agree(&self, zone: usize, one: HostIdx, other: HostIdx) -> bool {
        self.zones[zone].agree(one, other)
    }

    /// What a resource needs, by kind.
    pub(super) fn amounts(&self, resource: ResourceIdx) -> &[i64] {
        &self.amounts[resource.get() * self.kinds..][..self.kinds]
    }

    /// What a resource is worth on a host, by itself.
    pub(super) fn worth(&self, resource: ResourceIdx, host: HostIdx) -> i64 {
        i64::from(self.set.resource(resource).scores.or_never(host).get())
    }

    /// Where a resource runs, if it can be placed.
    pub(super) fn home(&self, resource: ResourceIdx) -> Option<HostIdx> {
        self.set.resource(resource).active
    }

    /// Whether a resource may be on a host for all that is known before.
    pub(super) fn allows(&self, resource: ResourceIdx, host: HostIdx) -> bool {
        self.allowed[resource.get()].binary_search(&host).is_ok()
    }

    /// How much a resource takes of what there is, as [`part`] counts it.
    pub(super) fn size(&self, resource: ResourceIdx, totals: &[i64]) -> i64 {
        part(self.amounts(resource).iter().copied(), totals)
    }

    /// What all hosts have together, by kind.
    pub(super) fn totals(&self) -> Vec<i64> {
        let mut totals = vec![0i64; self.kinds];
        for room in self.room.chunks(self.kinds.max(1)) {
            totals
                .iter_mut()
                .zip(room)
                .for_each(|(total, room)| *total = total.saturating_add((*room).max(0)));
        }
        totals
    }
}

/// Amounts by kind as a part of the totals, all kinds together, in millionths.
pub(super) fn part(amounts: impl IntoIterator<Item = i64>, totals: &[i64]) -> i64 {
    let of_kind = |(amount, total): (i64, &i64)| amount.saturating_mul(1_000_000) / (*total).max(1);
    amounts.into_iter().zip(totals).map(of_kind).sum()
}
