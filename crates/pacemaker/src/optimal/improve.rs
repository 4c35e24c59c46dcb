//! Improves a placement step by step: places resources that are left out, and finds better hosts for others.

use super::super::index::{HostIdx, ResourceIdx};
use super::chains::Chains;
use super::draft::PlacingDraft;
use super::limits::PlacingLimits;
use super::value::PlacementValue;

/// Greatest number of resources that are moved elsewhere for one that is left out.
const DEPTH: usize = 5;
/// Steps of an attempt, by the number of resources that may be moved elsewhere.
const STEPS: [u64; DEPTH + 1] = [1_000, 20_000, 60_000, 100_000, 150_000, 200_000];

/// A placement while it is improved.
pub(super) struct Improvement<'d, 'r> {
    pub(super) draft: &'d mut PlacingDraft<'r>,
    pub(super) limits: &'d PlacingLimits,
    totals: Vec<i64>,
    /// Order of the resources that are left out: the smallest first in round 0, random in others.
    round: u64,
}

impl<'d, 'r> Improvement<'d, 'r> {
    pub(super) fn new(
        draft: &'d mut PlacingDraft<'r>,
        limits: &'d PlacingLimits,
        round: u64,
    ) -> Improvement<'d, 'r> {
        let totals = draft.rules.totals();
        Improvement { draft, limits, totals, round }
    }

    /// Places resources that are left out, the highest priority first. As few others as possible are moved elsewhere.
    /// If that is not enough, some of a lower priority are left out.
    pub(super) fn place_all(&mut self) {
        let levels = self.draft.rules.priorities.len();
        for level in 0..levels {
            for expendable in [None, Some(level)] {
                if expendable.is_some() && level + 1 == levels {
                    continue;
                }
                while self.place_level(level, expendable) || self.trade_level(level) {}
            }
        }
    }

    /// Returns true if one more of a level got a place.
    fn place_level(&mut self, level: usize, expendable: Option<usize>) -> bool {
        let mut is_better = false;
        for (most, steps) in STEPS.into_iter().enumerate() {
            let mut waiting = self.draft.left_out();
            waiting.retain(|one| self.draft.rules.level[one.get()] == level);
            waiting.sort_by_cached_key(|one| match self.round {
                0 => self.draft.rules.size(*one, &self.totals).unsigned_abs(),
                round => pseudo_random(round, *one),
            });
            for resource in waiting {
                if self.limits.reached(self.draft.steps) {
                    return false;
                }
                let before = self.draft.value();
                let mark = self.draft.mark();
                let is_placed = self.draft.host(resource).is_some();
                let mut chains = Chains::new(self.draft, self.limits, &self.totals);
                if is_placed || !chains.place(resource, most, steps, expendable) {
                    continue;
                }
                if self.draft.value().placed > before.placed {
                    is_better = true
                } else {
                    self.draft.back_to(mark)
                }
            }
        }
        is_better
    }

    /// Returns true if one more of a level got a place by a trade. It replaced a smaller one of this level, which found
    /// a place more easily.
    fn trade_level(&mut self, level: usize) -> bool {
        let mut waiting = self.draft.left_out();
        waiting.retain(|one| self.draft.rules.level[one.get()] == level);
        for resource in waiting {
            let (mark, before) = (self.draft.mark(), self.draft.value().placed);
            let mut left_out = resource;
            while let Some(smaller) = self.trade(left_out) {
                for (most, steps) in STEPS.into_iter().enumerate() {
                    let mut chains = Chains::new(self.draft, self.limits, &self.totals);
                    let is_placed = chains.place(smaller, most, steps, None);
                    if is_placed && self.draft.value().placed > before {
                        return true;
                    }
                }
                left_out = smaller;
            }
            self.draft.back_to(mark);
        }
        false
    }

    /// Gives a resource that is left out the place of the smallest one of its level whose place it can take. Returns
    /// that one.
    fn trade(&mut self, resource: ResourceIdx) -> Option<ResourceIdx> {
        let rules = self.draft.rules;
        let is_alone = |one: &ResourceIdx| {
            let at = one.get();
            rules.companions[at].len() == 1
                && rules.followers[at].is_empty()
                && rules.dependents[at].is_empty()
        };
        let size = |one: &ResourceIdx| rules.size(*one, &self.totals);
        let level = rules.level[resource.get()];
        let mut others: Vec<ResourceIdx> = rules.movable.iter().copied().filter(is_alone).collect();
        others.retain(|one| rules.level[one.get()] == level && size(one) < size(&resource));
        others.sort_by_cached_key(size);
        for other in others {
            if self.limits.reached(self.draft.steps) {
                return None;
            }
            self.draft.steps += 1;
            let Some(host) = self.draft.host(other).filter(|host| rules.allows(resource, *host)) else {
                continue;
            };
            let mark = self.draft.mark();
            self.draft.put(other, None);
            if self.draft.can_be(resource, host) {
                self.draft.put(resource, Some(host));
                if self.limits.allow(self.draft.moves()) {
                    return Some(other);
                }
            }
            self.draft.back_to(mark);
        }
        None
    }

    /// Makes single changes as long as one of them is an improvement.
    pub(super) fn polish(&mut self) {
        let mut value = self.draft.value();
        loop {
            let before = value.clone();
            self.go_elsewhere(&mut value);
            self.go_home(&mut value);
            self.swap(&mut value);
            self.exchange(&mut value);
            if value == before || self.limits.reached(self.draft.steps) {
                return;
            }
        }
    }

    /// Keeps a change if it is an improvement.
    fn keep_if_better(&mut self, value: &mut PlacementValue, change: impl FnOnce(&mut Self) -> bool) -> bool {
        let mark = self.draft.mark();
        if change(self) && self.limits.allow(self.draft.moves()) {
            let new = self.draft.value();
            if new > *value {
                *value = new;
                return true;
            }
        }
        self.draft.back_to(mark);
        false
    }

    /// Moves one resource with its companions to another host.
    fn go_elsewhere(&mut self, value: &mut PlacementValue) {
        for resource in self.draft.rules.movable.clone() {
            for host in self.draft.rules.allowed[resource.get()].clone() {
                self.draft.steps += 1;
                if self.limits.reached(self.draft.steps) {
                    return;
                }
                let Some(from) = self.draft.host(resource).filter(|from| *from != host) else { continue };
                if self.draft.has_room(resource, host) {
                    self.keep_if_better(value, |this| this.carry(resource, from, host));
                }
            }
        }
    }

    /// Puts a resource, and its companions on the same host, on another host.
    fn carry(&mut self, resource: ResourceIdx, from: HostIdx, to: HostIdx) -> bool {
        let companions: Vec<ResourceIdx> = self.draft.rules.companions[resource.get()].clone();
        let companions: Vec<ResourceIdx> =
            companions.into_iter().filter(|one| self.draft.host(*one) == Some(from)).collect();
        companions.iter().for_each(|one| self.draft.put(*one, None));
        let has_room = companions.iter().all(|one| {
            let has_room = self.draft.rules.allows(*one, to) && self.draft.has_room(*one, to);
            self.draft.put(*one, Some(to));
            has_room
        });
        has_room && companions.iter().all(|one| self.draft.permits(*one, to))
    }

    /// Brings resources back to where they run, if others can make room and this is an improvement.
    pub(super) fn come_home(&mut self) {
        let mut value = self.draft.value();
        self.go_home(&mut value);
    }

    /// Moves single resources back to where they run, while others make room.
    fn go_home(&mut self, value: &mut PlacementValue) {
        for resource in self.draft.rules.movable.clone() {
            let Some(home) = self.draft.rules.home(resource) else { continue };
            for most in 1..=3 {
                let here = self.draft.host(resource);
                if self.limits.reached(self.draft.steps) {
                    return;
                }
                if here.is_none() || here == Some(home) || !self.draft.rules.allows(resource, home) {
                    break;
                }
                self.keep_if_better(value, |this| {
                    Chains::new(this.draft, this.limits, &this.totals).force(resource, home, most, 2_000)
                });
            }
        }
    }

    /// Swaps two resources, each with its companions.
    fn swap(&mut self, value: &mut PlacementValue) {
        let movable = self.draft.rules.movable.clone();
        for (at, one) in movable.iter().enumerate() {
            for other in &movable[at + 1..] {
                self.draft.steps += 1;
                if self.limits.reached(self.draft.steps) {
                    return;
                }
                let (Some(here), Some(there)) = (self.draft.host(*one), self.draft.host(*other)) else {
                    continue;
                };
                let allows = |one: &ResourceIdx, host| self.draft.rules.allows(*one, host);
                if here == there
                    || !allows(one, there)
                    || !allows(other, here)
                    || !self.fit_swapped(*one, *other)
                {
                    continue;
                }
                self.keep_if_better(value, |this| {
                    this.draft.put(*other, None);
                    let is_there = this.carry(*one, here, there);
                    this.draft.put(*other, Some(there));
                    this.draft.put(*other, None);
                    let is_here = is_there && this.draft.can_be(*other, here);
                    this.draft.put(*other, Some(here));
                    is_here && this.is_sound()
                });
            }
        }
    }

    /// Returns true if each of two resources fits in the other's place.
    fn fit_swapped(&self, one: ResourceIdx, other: ResourceIdx) -> bool {
        let rules = self.draft.rules;
        let (Some(here), Some(there)) = (self.draft.host(one), self.draft.host(other)) else { return false };
        let (mine, theirs) = (rules.amounts(one), rules.amounts(other));
        let (free_here, free_there) = (self.draft.free(here), self.draft.free(there));
        (0..rules.kinds).all(|kind| {
            let more = mine[kind] - theirs[kind];
            more <= free_there[kind].max(0) && -more <= free_here[kind].max(0)
        })
    }

    /// Returns true if everything placed follows the rules.
    fn is_sound(&self) -> bool {
        let movable = self.draft.rules.movable.iter();
        movable.copied().all(|one| self.draft.host(one).is_none_or(|host| self.draft.permits(one, host)))
    }

    /// Leaves one resource out, and puts others in its place.
    fn exchange(&mut self, value: &mut PlacementValue) {
        let waiting = self.draft.left_out();
        if waiting.is_empty() {
            return;
        }
        for resource in self.draft.rules.movable.clone() {
            if self.limits.reached(self.draft.steps) {
                return;
            }
            let Some(host) = self.draft.host(resource) else { continue };
            self.keep_if_better(value, |this| {
                let rules = this.draft.rules;
                let dependents = rules.followers[resource.get()].iter().map(|tie| tie.other);
                let ordered = rules.dependents[resource.get()].iter().copied();
                let without = [resource];
                let mut dependents =
                    dependents.chain(ordered.filter(|then| this.draft.lacks(*then, &without)));
                if dependents.any(|other| this.draft.host(other).is_some()) {
                    return false;
                }
                this.draft.put(resource, None);
                for other in waiting.iter().filter(|other| **other != resource) {
                    let may_be = this.draft.host(*other).is_none() && this.draft.can_be(*other, host);
                    if may_be {
                        this.draft.put(*other, Some(host));
                    }
                }
                true
            });
        }
    }
}

/// A pseudo-random number for a round and a resource.
pub(super) fn pseudo_random(round: u64, resource: ResourceIdx) -> u64 {
    let mut number = (resource.get() as u64).wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for shift in [30, 27, 31] {
        number = (number ^ (number >> shift)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    number
}
