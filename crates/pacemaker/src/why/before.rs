//! The cluster at the moment when a resource was placed.

use std::borrow::Cow;

use super::reasons::{Advantage, HostFinding, HostHindrance, RoomTaken, TogetherRule};
use crate::additions::{AdditionLog, ScoreSource};
use crate::capacity::Capacities;
use crate::index::{AttributeIdx, HostIdx, ResourceIdx};
use crate::placing::{AllPlaced, Assignment, DecidedBy};
use crate::score::AllocationScore;
use crate::transition::needs::needs;
use crate::working_set::{ChoiceOrder, NODE_HEALTH, OrderedTask, Strategy, WorkingSet};

pub(super) struct ClusterBefore<'a> {
    pub(super) set: &'a WorkingSet,
    pub(super) placed: &'a AllPlaced,
    pub(super) log: &'a AdditionLog,
    pub(super) earlier: &'a EarlierPlaced,
}

/// The resources that were placed before; in the best placement, all others.
#[derive(Debug, Clone)]
pub(super) struct EarlierPlaced {
    /// Number of records included, from the first one on; `None` in the best placement.
    records: Option<usize>,
    /// By host, the resources there, in order.
    on: Vec<Vec<ResourceIdx>>,
    /// By host, the capacity that they leave free.
    free: Vec<Capacities>,
}

impl EarlierPlaced {
    /// The cluster before anything is placed.
    pub(super) fn none(set: &WorkingSet) -> EarlierPlaced {
        EarlierPlaced { records: Some(0), on: vec![Vec::new(); set.hosts.len()], free: set.room() }
    }

    fn add(&mut self, set: &WorkingSet, record: &Assignment) {
        if let Some(host) = record.host {
            self.on[host.get()].push(record.resource);
            set.charge(&mut self.free[host.get()], &set.resource(record.resource).utilization);
        }
    }

    /// Turns into the state before the record at a position.
    pub(super) fn become_before(&mut self, set: &WorkingSet, placed: &AllPlaced, at: usize) {
        if placed.optimum.is_some() {
            *self = EarlierPlaced { records: None, ..EarlierPlaced::none(set) };
            let others = placed.records.iter().enumerate().filter(|(other, _)| *other != at);
            others.for_each(|(_, record)| self.add(set, record));
            return;
        }
        let known = self.records.filter(|known| *known <= at).unwrap_or_else(|| {
            *self = EarlierPlaced::none(set);
            0
        });
        placed.records[known..at].iter().for_each(|record| self.add(set, record));
        self.records = Some(at);
    }
}

impl ClusterBefore<'_> {
    /// The first thing that forbids a host.
    pub(super) fn hindrance(&self, record: &Assignment, host: HostIdx) -> Option<HostHindrance> {
        let details = self.set.resource(record.resource);
        let state = self.set.host(host).state;
        if record.host == Some(host) {
            return None;
        }
        let guest = self.set.host(host).guest;
        if let Some(parts) = guest.filter(|parts| self.placed.host(parts.machine).is_none()) {
            let is_itself = [parts.machine, parts.connection].contains(&record.resource);
            if !is_itself && !details.surplus && !details.stopped {
                return Some(HostHindrance::Needs(parts.machine));
            }
        }
        let by_state = [
            (details.surplus && details.orphaned, HostHindrance::Orphaned),
            (details.surplus, HostHindrance::Surplus),
            (details.stopped, HostHindrance::Stopped),
            (record.decided_by == DecidedBy::StopAll, HostHindrance::StopAll),
            (guest.is_none() && state.unclean || self.set.host(host).is_given_up(), HostHindrance::Unclean),
            (guest.is_none() && !state.online, HostHindrance::Offline),
            (guest.is_none() && state.shutting_down, HostHindrance::ShuttingDown),
            (state.standby, HostHindrance::Standby),
            (state.maintenance, HostHindrance::Maintenance),
        ];
        if let Some((_, hindrance)) = by_state.into_iter().find(|(holds, _)| *holds) {
            return Some(hindrance);
        }
        let Some(score) = record.scores.get(host) else { return Some(HostHindrance::NotOptedIn) };
        if let Some(first) = self.missing_first(record).filter(|_| record.host.is_none()) {
            return Some(HostHindrance::Needs(first));
        }
        if score == AllocationScore::MINUS_INFINITY {
            return Some(self.forbidden_by(record, host));
        }
        if score < AllocationScore::ZERO {
            return Some(HostHindrance::Unwanted(score));
        }
        let needed = record.needed.as_ref()?;
        let missing: Vec<(AttributeIdx, i64)> = self.earlier.free[host.get()].missing_for(needed).collect();
        (!missing.is_empty()).then_some(HostHindrance::Room(missing))
    }

    /// A resource that would have to run before another one in the best placement, and does not.
    fn missing_first(&self, record: &Assignment) -> Option<ResourceIdx> {
        self.placed.optimum.as_ref()?;
        let details = self.set.resource(record.resource);
        let is_it = |then: ResourceIdx| then == record.resource || details.group == Some(then);
        let needs =
            needs(self.set).into_iter().filter(|need| is_it(need.then) && details.group != Some(need.first));
        let mut firsts = needs.flat_map(|need| self.set.primitives(&need.first).to_vec());
        let is_placed = |first: ResourceIdx| self.placed.host(first).is_some();
        let counts = |first: &&ResourceIdx| ChoiceOrder::counts(self.set, **first, is_placed);
        let choices =
            self.set.choices.iter().filter(|choice| choice.dependents.iter().any(|then| is_it(*then)));
        let mut lacking = choices
            .filter(|choice| choice.task == OrderedTask::Start)
            .filter(|choice| choice.firsts.iter().filter(counts).count() < choice.enough);
        let one_of = || lacking.next()?.firsts.iter().copied().find(|first| !counts(&first));
        firsts.find(|first| !is_placed(*first)).or_else(one_of)
    }

    /// The first reason for the score of minus infinity on a host.
    fn forbidden_by(&self, record: &Assignment, host: HostIdx) -> HostHindrance {
        let (set, resource) = (self.set, record.resource);
        let never = AllocationScore::MINUS_INFINITY;
        let parts = self.log.parts(resource, host);
        let mut forbidding = parts.iter().filter(|part| part.score == never);
        // The sum of finite scores can be minus infinity, too.
        let Some(first) = forbidding.next() else { return HostHindrance::Unwanted(never) };
        if first.resource != resource {
            return match first.source {
                ScoreSource::Of(at) if self.placed.optimum.is_some() => {
                    HostHindrance::Apart(self.rule(at, first.resource))
                }
                _ => {
                    let others = std::iter::once(first).chain(forbidding).map(|part| part.resource);
                    let mut others: Vec<ResourceIdx> = others.filter(|other| *other != resource).collect();
                    others.dedup();
                    HostHindrance::Wishes(others)
                }
            };
        }
        let details = set.resource(resource);
        match first.source {
            ScoreSource::Location(at) => HostHindrance::Location(set.locations[at].id.clone()),
            ScoreSource::Health => HostHindrance::Location(NODE_HEALTH.to_owned()),
            ScoreSource::Failures => {
                let count =
                    details.failed_on.iter().find(|failed| failed.host == host).map(|failed| failed.score);
                HostHindrance::Failures(count.unwrap_or_default())
            }
            ScoreSource::Orphaned => HostHindrance::Orphaned,
            ScoreSource::RunsTwice => HostHindrance::RunsTwice,
            ScoreSource::Exclusive => {
                HostHindrance::Exclusive(set.exclusive_rule(resource).unwrap_or_default().to_owned())
            }
            ScoreSource::Guest => HostHindrance::Guest,
            ScoreSource::Ticket(at) => HostHindrance::Ticket(set.tickets.rules[at].clone()),
            ScoreSource::Stopped => HostHindrance::Stopped,
            ScoreSource::With(at) => self.by_colocation(at),
            ScoreSource::Instance => {
                let clone = set.clone_of(resource);
                let most = clone.map_or(1, |clone| set.resource(clone).per_host());
                if most != 1 {
                    return HostHindrance::Instances(most);
                }
                let other = clone.and_then(|clone| self.instance_on(clone, record, host));
                HostHindrance::Instance(other.unwrap_or(resource))
            }
            ScoreSource::Clone => {
                let parts = set.clone_of(resource).map(|clone| self.log.parts(clone, host));
                let scores = parts.into_iter().flatten().map(|part| part.score);
                HostHindrance::CloneUnwanted(scores.fold(AllocationScore::ZERO, AllocationScore::plus))
            }
            _ => HostHindrance::Unwanted(never),
        }
    }

    /// The hindrance by a colocation of a resource that forbids it a host.
    fn by_colocation(&self, at: usize) -> HostHindrance {
        let colocation = &self.set.colocations[at];
        let rule = self.rule(at, colocation.primary);
        if colocation.score == AllocationScore::MINUS_INFINITY {
            return HostHindrance::Apart(rule);
        }
        let parts = if self.set.resource(colocation.primary).is_clone() {
            self.set.primitives(&colocation.primary)
        } else {
            Cow::Borrowed(self.set.stand_ins(colocation))
        };
        HostHindrance::With(rule, parts.iter().find_map(|part| self.placed.host(*part)))
    }

    fn rule(&self, at: usize, other: ResourceIdx) -> TogetherRule {
        let colocation = &self.set.colocations[at];
        TogetherRule { id: colocation.id.clone(), other, attribute: colocation.attribute.clone() }
    }

    /// A part of another instance of a clone on a host. It may have been placed at any time, as the others had their
    /// turn before.
    fn instance_on(&self, clone: ResourceIdx, record: &Assignment, host: HostIdx) -> Option<ResourceIdx> {
        let is_own = |other: ResourceIdx| {
            other == record.resource || self.set.resource(record.resource).group == Some(other)
        };
        let others = self.set.resource(clone).members.iter().filter(|other| !is_own(**other));
        let parts = others.flat_map(|other| self.set.primitives(other).into_owned());
        parts.into_iter().find(|part| self.placed.host(*part) == Some(host))
    }

    /// The advantage of a host over the next best one that nothing forbids.
    pub(super) fn advantage(
        &self,
        record: &Assignment,
        strategy: Strategy,
        host: HostIdx,
        hosts: &[HostFinding],
    ) -> (Advantage, Option<HostIdx>) {
        match record.decided_by {
            DecidedBy::Unmanaged => return (Advantage::Unmanaged, None),
            DecidedBy::MostFree => return (Advantage::Room, None),
            DecidedBy::Optimum => return (Advantage::Optimum, None),
            _ => {}
        }
        let left = hosts.iter().filter(|finding| finding.host != host && finding.hindrance.is_none());
        let Some(next) = left.max_by_key(|finding| finding.score) else { return (Advantage::Only, None) };
        let (score, other) =
            (record.scores.or_never(host), next.score.unwrap_or(AllocationScore::MINUS_INFINITY));
        let count = |host: HostIdx| self.earlier.on[host.get()].len();
        let room = |host: HostIdx| &self.earlier.free[host.get()];
        let advantage = if score > other {
            Advantage::Score(score, other)
        } else if record.decided_by == DecidedBy::Active {
            Advantage::Runs
        } else if strategy == Strategy::Balanced && room(host).compare(room(next.host)).is_gt() {
            Advantage::Room
        } else if strategy != Strategy::Minimal && count(host) < count(next.host) {
            Advantage::Fewer(count(host), count(next.host))
        } else if strategy != Strategy::Minimal && self.set.resource(record.resource).active == Some(host) {
            Advantage::Runs
        } else {
            Advantage::Name
        };
        (advantage, Some(next.host))
    }

    /// The hosts that lack nothing but room, and the resources that took it.
    pub(super) fn taken(&self, record: &Assignment, hosts: &[HostFinding]) -> Vec<RoomTaken> {
        let Some(needed) = &record.needed else { return Vec::new() };
        let lacks_room = |finding: &&HostFinding| matches!(finding.hindrance, Some(HostHindrance::Room(_)));
        let taken = hosts.iter().filter(lacks_room).map(|finding| {
            let host = finding.host;
            let by = self.earlier.on[host.get()].clone();
            RoomTaken { host, give_way: self.give_way(needed, host, &by), by }
        });
        taken.collect()
    }

    /// The last placed resource without which there would be room, or else the last placed ones.
    fn give_way(&self, needed: &Capacities, host: HostIdx, by: &[ResourceIdx]) -> Vec<ResourceIdx> {
        let without = |gone: &[ResourceIdx]| {
            let mut free = self.earlier.free[host.get()].clone();
            gone.iter().for_each(|resource| free.add(&self.set.resource(*resource).utilization));
            free.hold(needed)
        };
        if let Some(one) = by.iter().rev().find(|one| without(&[**one])) {
            return vec![*one];
        }
        let mut gone: Vec<ResourceIdx> = Vec::new();
        for resource in by.iter().rev() {
            gone.push(*resource);
            if without(&gone) {
                // Resources that were added without need stay.
                for at in (0..gone.len()).rev() {
                    let mut fewer = gone.clone();
                    fewer.remove(at);
                    if without(&fewer) {
                        gone = fewer;
                    }
                }
                return gone;
            }
        }
        Vec::new()
    }
}
