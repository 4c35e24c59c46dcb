//! Rules that no placement may break, and scores of placements, in the form that a search needs.

use std::cmp::Reverse;

use super::super::additions::ScoreSource;
use super::super::index::{AttributeIdx, HostIdx, ResourceIdx};
use super::super::score::AllocationScore;
use super::super::transition::needs::{Need, only_stops};
use super::super::wishes::AgreeingHosts;
use super::super::working_set::{Resource, WorkingSet};
use super::before::PlacedBefore;

/// Tie of a resource to another one: their hosts must or should be in one zone, or must not or should not.
#[derive(Debug, Clone, Copy)]
pub(super) struct ZoneTie {
    pub(super) other: ResourceIdx,
    /// Position of the attribute in which their hosts agree; 0 is the host itself.
    pub(super) zone: usize,
    /// Score of the tie; 0 if it is mandatory.
    pub(super) score: i64,
    /// Source of the tie.
    pub(super) source: ScoreSource,
}

/// Need for some of several resources.
#[derive(Debug, Clone)]
pub(super) struct NeededSome {
    pub(super) firsts: Vec<ResourceIdx>,
    pub(super) enough: usize,
}

impl NeededSome {
    /// Returns true if enough of them fulfil a condition.
    pub(super) fn is_met(&self, is: impl Fn(ResourceIdx) -> bool) -> bool {
        self.firsts.iter().filter(|first| is(**first)).count() >= self.enough
    }
}

/// The rules of a cluster, for a search.
pub(super) struct PlacingRules<'a> {
    pub(super) set: &'a WorkingSet,
    /// Clones, and all that they cannot be without, with their hosts.
    pub(super) before: &'a PlacedBefore,
    /// Number of kinds of capacity.
    pub(super) kinds: usize,
    /// Capacity left for movable resources, by host and kind.
    pub(super) room: Vec<i64>,
    /// Utilization, by resource and kind.
    amounts: Vec<i64>,
    /// By resource, the hosts that it may be on, by name; empty if it is not movable.
    pub(super) allowed: Vec<Vec<HostIdx>>,
    /// By resource, its host, if it is not movable.
    pub(super) fixed: Vec<Option<HostIdx>>,
    /// The movable resources: those that the search places, highest priority first.
    pub(super) movable: Vec<ResourceIdx>,
    /// By resource, the number of higher priorities.
    pub(super) level: Vec<usize>,
    /// The priorities, highest first.
    pub(super) priorities: Vec<AllocationScore>,
    /// By resource, those that it must be with.
    pub(super) primaries: Vec<Vec<ZoneTie>>,
    /// By resource, those that must be with it.
    pub(super) followers: Vec<Vec<ZoneTie>>,
    /// By resource, those that it must not be with.
    pub(super) apart: Vec<Vec<ZoneTie>>,
    /// By resource, those that it would like to be with, or not.
    pub(super) wishes: Vec<Vec<ZoneTie>>,
    /// By resource, those that must run for it to run.
    pub(super) firsts: Vec<Vec<ResourceIdx>>,
    /// By resource, sets of which some must run for it to run.
    pub(super) choices: Vec<Vec<NeededSome>>,
    /// By resource, those that cannot run without it, or without others in its place.
    pub(super) dependents: Vec<Vec<ResourceIdx>>,
    /// Mandatory orders in which an interruption of the first resource interrupts the second.
    pub(super) interrupting: Vec<Need>,
    /// Orders in which only a live migration of the second resource is given up when the first goes down.
    pub(super) giving_up: Vec<Need>,
    /// By host; true if a fixed resource is there.
    pub(super) occupied: Vec<bool>,
    /// By resource, its companions: itself and those with which it forms sets that must share a host.
    pub(super) companions: Vec<Vec<ResourceIdx>>,
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
            dependents: vec![Vec::new(); count],
            interrupting: Vec::new(),
            giving_up: only_stops(set),
            occupied: vec![false; set.hosts.len()],
            companions: vec![Vec::new(); count],
            zones: vec![AgreeingHosts::themselves(set)],
        };
        rules.fix();
        rules.measure();
        rules.tie();
        rules.order();
        rules.follow_machines();
        rules.choose();
        rules.settle_what_is_fixed();
        rules.rank();
        rules
    }

    /// Sets the hosts of fixed resources, and the possible hosts of the others.
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
                    let host_details = set.host(host);
                    let usable = host_details.guest.is_none()
                        && host_details.state.available()
                        && score > AllocationScore::MINUS_INFINITY;
                    usable.then_some(host)
                };
                self.allowed[resource.get()] = details.scores.iter().filter_map(may).collect();
            }
        }
    }

    /// Sets the capacity that is left on hosts. Fixed resources take theirs first.
    fn measure(&mut self) {
        let set = self.set;
        let mut room = set.room();
        for resource in set.resource_indices() {
            if let Some(host) = self.fixed[resource.get()] {
                set.charge(&mut room[host.get()], &set.resource(resource).utilization);
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
            // An overcommitted host takes nothing in, not even resources that need nothing of that kind.
            self.allowed[resource.get()].retain(|host| room[host.get()].hold(needed));
        }
    }

    /// Removes the hosts that fixed resources forbid, until there are none left to remove.
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

    /// Returns true if fixed resources, and those that can never be placed, allow a resource on a host.
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

    /// Returns true if a resource belongs to those of which as many as possible should run.
    pub(super) fn counts(&self, resource: ResourceIdx) -> bool {
        let set = self.set;
        let is_ours = set.resource(resource).is_primitive() && !self.before.includes(resource);
        is_ours && set.should_run(resource)
    }

    /// Sorts the movable resources, and sets their levels and companions.
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
            self.companions[resource.get()] = self.companions(resource);
        }
    }

    /// A resource with all movable ones that are tied to it by mandatory ties about one host, directly or through
    /// others.
    fn companions(&self, resource: ResourceIdx) -> Vec<ResourceIdx> {
        let mut companions = vec![resource];
        let mut at = 0;
        while let Some(next) = companions.get(at) {
            let ties = self.primaries[next.get()].iter().chain(&self.followers[next.get()]);
            let near = ties.filter(|tie| tie.zone == 0 && !self.allowed[tie.other.get()].is_empty());
            let mut new: Vec<ResourceIdx> =
                near.map(|tie| tie.other).filter(|other| !companions.contains(other)).collect();
            new.dedup();
            for other in new {
                if !companions.contains(&other) {
                    companions.push(other);
                }
            }
            at += 1;
        }
        companions
    }

    /// Returns true if two hosts are in one zone.
    pub(super) fn agree(&self, zone: usize, one: HostIdx, other: HostIdx) -> bool {
        self.zones[zone].agree(one, other)
    }

    /// Utilization of a resource, by kind.
    pub(super) fn amounts(&self, resource: ResourceIdx) -> &[i64] {
        &self.amounts[resource.get() * self.kinds..][..self.kinds]
    }

    /// A resource's own score on a host.
    pub(super) fn worth(&self, resource: ResourceIdx, host: HostIdx) -> i64 {
        i64::from(self.set.resource(resource).scores.or_never(host).get())
    }

    /// The host on which a movable resource runs.
    pub(super) fn home(&self, resource: ResourceIdx) -> Option<HostIdx> {
        self.set.resource(resource).active
    }

    /// Returns true if a resource may be on a host, as far as is known before the search.
    pub(super) fn allows(&self, resource: ResourceIdx, host: HostIdx) -> bool {
        self.allowed[resource.get()].binary_search(&host).is_ok()
    }

    /// Size of a resource relative to all hosts, as [`part`] computes it.
    pub(super) fn size(&self, resource: ResourceIdx, totals: &[i64]) -> i64 {
        part(self.amounts(resource).iter().copied(), totals)
    }

    /// Capacity of all hosts together, by kind.
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

/// Sum of amounts relative to the totals, over all kinds, in millionths.
pub(super) fn part(amounts: impl IntoIterator<Item = i64>, totals: &[i64]) -> i64 {
    let of_kind = |(amount, total): (i64, &i64)| amount.saturating_mul(1_000_000) / (*total).max(1);
    amounts.into_iter().zip(totals).map(of_kind).sum()
}
