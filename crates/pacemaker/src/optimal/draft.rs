//! A placement on which changes are tried and undone. Unlike in a [`Draft`](htools_model::Draft), nothing has disks or
//! a secondary node, and capacities are named freely.

use super::super::index::{AttributeIdx, HostIdx, ResourceIdx};
use super::super::optimum::ThenGoal;
use super::disturbances::Disturbances;
use super::rules::{PlacingRules, ZoneTie};
use super::value::PlacementValue;

/// A placement and its changes.
#[derive(Clone)]
pub(super) struct PlacingDraft<'r> {
    pub(super) rules: &'r PlacingRules<'r>,
    goal: ThenGoal,
    /// By resource, its host; includes fixed ones.
    host: Vec<Option<HostIdx>>,
    /// Free capacity by host and kind.
    free: Vec<i64>,
    /// By host, the movable resources there.
    on: Vec<Vec<ResourceIdx>>,
    placed: Vec<usize>,
    score: i64,
    stops: usize,
    migrations: usize,
    /// Number of running resources that leave a host on which they could stay.
    moves: usize,
    changes: Vec<DraftChange>,
    /// Number of changes tried.
    pub(super) steps: u64,
}

/// A resource that was put somewhere else.
#[derive(Clone, Copy)]
struct DraftChange {
    resource: ResourceIdx,
    was: Option<HostIdx>,
}

/// A position in the list of changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct DraftMark(usize);

impl<'r> PlacingDraft<'r> {
    /// A placement of the fixed resources only.
    pub(super) fn new(rules: &'r PlacingRules<'r>, goal: ThenGoal) -> PlacingDraft<'r> {
        let mut draft = PlacingDraft {
            rules,
            goal,
            host: rules.fixed.clone(),
            free: rules.room.clone(),
            on: vec![Vec::new(); rules.set.hosts.len()],
            placed: vec![0; rules.priorities.len()],
            score: 0,
            stops: 0,
            migrations: 0,
            moves: 0,
            changes: Vec::new(),
            steps: 0,
        };
        for resource in &rules.movable {
            draft.count_change(*resource, None, 1);
        }
        draft
    }

    pub(super) fn host(&self, resource: ResourceIdx) -> Option<HostIdx> {
        self.host[resource.get()]
    }

    /// The hosts of all resources.
    pub(super) fn hosts(&self) -> &[Option<HostIdx>] {
        &self.host
    }

    /// The movable resources on a host.
    pub(super) fn on(&self, host: HostIdx) -> &[ResourceIdx] {
        &self.on[host.get()]
    }

    /// Free capacity of a host, by kind.
    pub(super) fn free(&self, host: HostIdx) -> &[i64] {
        &self.free[host.get() * self.rules.kinds..][..self.rules.kinds]
    }

    /// Number of running resources that leave a host on which they could stay.
    pub(super) fn moves(&self) -> usize {
        self.moves
    }

    /// The movable resources without a host, by priority.
    pub(super) fn left_out(&self) -> Vec<ResourceIdx> {
        self.rules.movable.iter().copied().filter(|one| self.host(*one).is_none()).collect()
    }

    /// Marks the present state, to go back to it.
    pub(super) fn mark(&self) -> DraftMark {
        DraftMark(self.changes.len())
    }

    /// Undoes all changes since a mark.
    pub(super) fn back_to(&mut self, mark: DraftMark) {
        while self.changes.len() > mark.0 {
            if let Some(DraftChange { resource, was }) = self.changes.pop() {
                self.change(resource, was);
            }
        }
    }

    /// Puts a resource on a host, or on none.
    pub(super) fn put(&mut self, resource: ResourceIdx, to: Option<HostIdx>) {
        let was = self.host(resource);
        if was != to {
            self.changes.push(DraftChange { resource, was });
            self.change(resource, to);
            self.steps += 1;
        }
    }

    fn change(&mut self, resource: ResourceIdx, to: Option<HostIdx>) {
        let rules = self.rules;
        let was = self.host(resource);
        if let Some(host) = was {
            self.take(resource, host, 1);
            let there = &mut self.on[host.get()];
            if let Some(at) = there.iter().position(|other| *other == resource) {
                there.swap_remove(at);
            }
            self.placed[rules.level[resource.get()]] -= 1;
            self.score -= self.worth(resource, host);
        }
        self.uncount_change(resource, was);
        self.host[resource.get()] = to;
        self.count_change(resource, to, 1);
        if let Some(host) = to {
            self.take(resource, host, -1);
            self.on[host.get()].push(resource);
            self.placed[rules.level[resource.get()]] += 1;
            self.score += self.worth(resource, host);
        }
    }

    fn take(&mut self, resource: ResourceIdx, host: HostIdx, sign: i64) {
        let free = &mut self.free[host.get() * self.rules.kinds..][..self.rules.kinds];
        free.iter_mut().zip(self.rules.amounts(resource)).for_each(|(free, amount)| *free += sign * amount);
    }

    /// Score of a resource on a host, given the hosts of the others.
    pub(super) fn worth(&self, resource: ResourceIdx, host: HostIdx) -> i64 {
        let holds = |tie: &&ZoneTie| {
            self.host(tie.other).is_some_and(|there| self.rules.agree(tie.zone, host, there))
        };
        let wishes: i64 = self.rules.wishes[resource.get()].iter().filter(holds).map(|tie| tie.score).sum();
        self.rules.worth(resource, host) + wishes
    }

    fn uncount_change(&mut self, resource: ResourceIdx, at: Option<HostIdx>) {
        self.count_change(resource, at, -1);
    }

    /// Counts the stop or live migration by which a running resource gets to a host, or takes that back.
    fn count_change(&mut self, resource: ResourceIdx, at: Option<HostIdx>, times: isize) {
        let Some(home) = self.rules.home(resource).filter(|home| Some(*home) != at) else { return };
        let details = self.rules.set.resource(resource);
        let lives = at.is_some() && details.allow_migrate && self.rules.set.host(home).state.online;
        let counter = if lives { &mut self.migrations } else { &mut self.stops };
        *counter = counter.wrapping_add_signed(times);
        if at.is_some() && self.rules.allows(resource, home) {
            self.moves = self.moves.wrapping_add_signed(times);
        }
    }

    /// Returns true if a host has room for a resource.
    pub(super) fn has_room(&self, resource: ResourceIdx, host: HostIdx) -> bool {
        let free = self.free(host);
        self.rules.amounts(resource).iter().zip(free).all(|(amount, free)| *amount == 0 || amount <= free)
    }

    /// Returns true if no rule except room keeps a resource from a host, given the hosts of the others.
    pub(super) fn permits(&self, resource: ResourceIdx, host: HostIdx) -> bool {
        let rules = self.rules;
        let near = |tie: &ZoneTie| self.host(tie.other).map(|there| rules.agree(tie.zone, host, there));
        rules.allows(resource, host)
            && rules.primaries[resource.get()].iter().all(|tie| near(tie) == Some(true))
            && rules.followers[resource.get()].iter().all(|tie| near(tie) != Some(false))
            && rules.apart[resource.get()].iter().all(|tie| near(tie) != Some(true))
            && !self.lacks(resource, &[])
    }

    /// Returns true if a resource needs one that does not run, or would not run without some others.
    pub(super) fn lacks(&self, resource: ResourceIdx, without: &[ResourceIdx]) -> bool {
        let rules = self.rules;
        let runs = |first: ResourceIdx| self.host(first).is_some() && !without.contains(&first);
        let all = rules.firsts[resource.get()].iter().all(|first| runs(*first));
        !all || !rules.choices[resource.get()].iter().all(|some| some.is_met(runs))
    }

    /// Returns true if a resource can be on a host, given the hosts of the others.
    pub(super) fn can_be(&self, resource: ResourceIdx, host: HostIdx) -> bool {
        self.has_room(resource, host) && self.permits(resource, host)
    }

    /// The value of the placement.
    pub(super) fn value(&self) -> PlacementValue {
        let mut value = PlacementValue {
            placed: self.placed.clone(),
            score: self.score,
            stops: self.stops,
            migrations: self.migrations,
            rest: self.rest(),
        };
        if !self.rules.interrupting.is_empty() || !self.rules.giving_up.is_empty() {
            Disturbances::of(self.rules, &self.host).correct(&mut value);
        }
        value
    }

    /// The value of the placement without the waiting resources, and without anything that these may still change.
    pub(super) fn value_so_far(&self, waiting: &[ResourceIdx]) -> PlacementValue {
        let running = waiting.iter().filter(|one| self.rules.home(**one).is_some()).count();
        PlacementValue {
            placed: self.placed.clone(),
            score: self.score,
            stops: self.stops - running.min(self.stops),
            migrations: self.migrations,
            rest: if self.goal == ThenGoal::Minimal { self.rest() } else { 0 },
        }
    }

    fn rest(&self) -> i128 {
        let set = self.rules.set;
        let usable = || set.host_indices().filter(|host| set.host(*host).state.available());
        match self.goal {
            ThenGoal::Minimal => {
                let is_used = |host: &HostIdx| !self.on(*host).is_empty() || self.rules.occupied[host.get()];
                usable().filter(is_used).count() as i128
            }
            ThenGoal::Balanced => {
                let spread = |kind: usize| {
                    let (mut count, mut sum, mut squares) = (0i128, 0i128, 0i128);
                    for host in usable() {
                        let use_of = self.use_of(host, kind);
                        count += 1;
                        sum += use_of;
                        squares += use_of * use_of;
                    }
                    count * squares - sum * sum
                };
                (0..self.rules.kinds).map(spread).sum()
            }
        }
    }

    /// The used part of a host's capacity, in millionths.
    fn use_of(&self, host: HostIdx, kind: usize) -> i128 {
        let has = self.rules.set.host(host).capacity.get(AttributeIdx::new(kind));
        let used = i128::from(has) - i128::from(self.free(host)[kind]);
        used * 1_000_000 / i128::from(has.max(1))
    }
}
