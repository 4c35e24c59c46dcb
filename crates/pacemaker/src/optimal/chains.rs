//! Makes room: a resource takes the place of others, these take other places, and so on.

use super::super::index::{HostIdx, ResourceIdx};
use super::draft::PlacingDraft;
use super::limits::PlacingLimits;
use super::rules::part;

/// Changes of several resources, in which each makes room for the one before.
pub(super) struct Chains<'d, 'r> {
    pub(super) draft: &'d mut PlacingDraft<'r>,
    limits: &'d PlacingLimits,
    /// Capacity of all hosts together, by kind.
    pub(super) totals: &'d [i64],
    /// Number of resources that may still be moved elsewhere.
    pub(super) left: usize,
    /// The number of steps at which this attempt ends.
    until: u64,
    /// Resources of levels beyond this one may be left out.
    expendable: Option<usize>,
    /// Resources that have their new places in this chain.
    pub(super) held: Vec<ResourceIdx>,
}

impl<'d, 'r> Chains<'d, 'r> {
    pub(super) fn new(
        draft: &'d mut PlacingDraft<'r>,
        limits: &'d PlacingLimits,
        totals: &'d [i64],
    ) -> Chains<'d, 'r> {
        Chains { draft, limits, totals, left: 0, until: 0, expendable: None, held: Vec::new() }
    }

    /// Finds a place for a resource that has none. At most `most` others are moved elsewhere, and at most `steps` steps
    /// are tried. Resources of levels beyond `expendable` may be left out.
    pub(super) fn place(
        &mut self,
        resource: ResourceIdx,
        most: usize,
        steps: u64,
        expendable: Option<usize>,
    ) -> bool {
        self.begin(most, steps, expendable);
        let mark = self.draft.mark();
        let is_placed = self.settle(resource) && self.limits.allow(self.draft.moves());
        if !is_placed {
            self.draft.back_to(mark);
        }
        is_placed
    }

    /// Puts a resource on a host whatever is there, and moves those in its way elsewhere. It is up to the caller to
    /// undo the changes.
    pub(super) fn force(&mut self, resource: ResourceIdx, host: HostIdx, most: usize, steps: u64) -> bool {
        self.begin(most, steps, None);
        let unit = self.unit(resource);
        self.squeeze(&unit, host)
    }

    fn begin(&mut self, most: usize, steps: u64, expendable: Option<usize>) {
        self.left = most;
        self.until = self.draft.steps.saturating_add(steps);
        self.expendable = expendable;
        self.held.clear();
    }

    /// Returns true if this attempt must end.
    fn is_over(&self) -> bool {
        self.draft.steps >= self.until || self.limits.reached(self.draft.steps)
    }

    /// A resource, the unplaced ones that it must be with, and the placed companions.
    fn unit(&self, resource: ResourceIdx) -> Vec<ResourceIdx> {
        let rules = self.draft.rules;
        let mut unit = vec![resource];
        let mut at = 0;
        while let Some(next) = unit.get(at) {
            let ties = rules.primaries[next.get()].iter().filter(|tie| tie.zone == 0);
            let missing: Vec<ResourceIdx> = ties
                .map(|tie| tie.other)
                .filter(|other| self.draft.host(*other).is_none() && !unit.contains(other))
                .collect();
            unit.extend(missing);
            at += 1;
        }
        let placed =
            rules.companions[resource.get()].iter().filter(|other| self.draft.host(**other).is_some());
        let more: Vec<ResourceIdx> = placed.copied().filter(|other| !unit.contains(other)).collect();
        unit.extend(more);
        unit
    }

    /// Finds a place for a resource and its companions.
    fn settle(&mut self, resource: ResourceIdx) -> bool {
        let unit = self.unit(resource);
        if self.settle_directly(&unit) {
            return true;
        }
        if self.left > 0 {
            for host in self.hosts_by_shortage(&unit) {
                if self.squeeze(&unit, host) {
                    return true;
                }
                if self.is_over() {
                    break;
                }
            }
        }
        self.leave_out(&unit)
    }

    /// Puts a unit where there is room: where its score is highest, then where it runs, then where the least is free.
    fn settle_directly(&mut self, unit: &[ResourceIdx]) -> bool {
        let rules = self.draft.rules;
        let first = unit[0];
        let mut best: Option<((i64, bool, i64), HostIdx)> = None;
        for host in rules.allowed[first.get()].iter().copied() {
            self.draft.steps += 1;
            if self.missing(unit, host).iter().any(|missing| *missing > 0) {
                continue;
            }
            let is_possible = match unit {
                [one] => self.draft.permits(*one, host),
                _ => {
                    let mark = self.draft.mark();
                    let is_possible = self.bring(unit, host);
                    self.draft.back_to(mark);
                    is_possible
                }
            };
            if !is_possible {
                continue;
            }
            let worth: i64 = unit.iter().map(|one| self.draft.worth(*one, host)).sum();
            let stays = rules.home(first) == Some(host);
            let key = (worth, stays, -self.free_share(host));
            if best.is_none_or(|(other, _)| key > other) {
                best = Some((key, host));
            }
        }
        let Some((_, host)) = best else { return false };
        let mark = self.draft.mark();
        let is_allowed = self.bring(unit, host) && self.limits.allow(self.draft.moves());
        if is_allowed {
            self.held.extend(unit)
        } else {
            self.draft.back_to(mark)
        }
        is_allowed
    }

    /// Free capacity of a host, over all kinds, in millionths of that of all hosts.
    fn free_share(&self, host: HostIdx) -> i64 {
        part(self.draft.free(host).iter().copied(), self.totals)
    }

    /// Capacity that a host lacks for a unit, by kind; it has more than enough if this is below 0.
    pub(super) fn missing(&self, unit: &[ResourceIdx], host: HostIdx) -> Vec<i64> {
        let mut missing: Vec<i64> = self.draft.free(host).iter().map(|free| -free).collect();
        let mut is_needed = vec![false; missing.len()];
        for one in unit.iter().filter(|one| self.draft.host(**one) != Some(host)) {
            for (kind, amount) in self.draft.rules.amounts(*one).iter().enumerate() {
                missing[kind] = missing[kind].saturating_add(*amount);
                is_needed[kind] |= *amount != 0;
            }
        }
        // A kind that is not needed is not missing.
        missing.iter_mut().zip(is_needed).for_each(|(missing, needed)| {
            if !needed {
                *missing = (*missing).min(0);
            }
        });
        missing
    }

    /// Puts a whole unit on a host. Returns false if a rule other than room then forbids one of them there.
    fn bring(&mut self, unit: &[ResourceIdx], host: HostIdx) -> bool {
        let rules = self.draft.rules;
        if !unit.iter().all(|one| rules.allows(*one, host)) {
            return false;
        }
        unit.iter().for_each(|one| self.draft.put(*one, Some(host)));
        unit.iter().all(|one| self.draft.permits(*one, host))
    }

    /// The hosts that a unit may be on, those that lack least first.
    fn hosts_by_shortage(&self, unit: &[ResourceIdx]) -> Vec<HostIdx> {
        let rules = self.draft.rules;
        let shortage = |host: HostIdx| {
            part(self.missing(unit, host).into_iter().map(|missing| missing.max(0)), self.totals)
        };
        let all_may = |host: &HostIdx| unit.iter().all(|one| rules.allows(*one, *host));
        let hosts = rules.allowed[unit[0].get()].iter().copied().filter(all_may);
        let mut hosts: Vec<(i64, HostIdx)> = hosts.map(|host| (shortage(host), host)).collect();
        hosts.sort_unstable();
        hosts.into_iter().map(|(_, host)| host).collect()
    }

    /// Puts a unit on a host, and moves those in its way elsewhere.
    fn squeeze(&mut self, unit: &[ResourceIdx], host: HostIdx) -> bool {
        for out in self.ways(unit, host) {
            if self.is_over() {
                return false;
            }
            let (mark, left, held) = (self.draft.mark(), self.left, self.held.len());
            let lifted: Vec<ResourceIdx> =
                out.iter().flat_map(|one| self.companions_on(*one, host)).collect();
            lifted.iter().for_each(|one| self.draft.put(*one, None));
            if self.bring(unit, host) && self.limits.allow(self.draft.moves()) {
                self.left -= out.len();
                self.held.extend(unit);
                if lifted.iter().all(|one| self.draft.host(*one).is_some() || self.settle(*one)) {
                    return true;
                }
                self.held.truncate(held);
                self.left = left;
            }
            self.draft.back_to(mark);
        }
        false
    }

    /// The companions of a resource on a host, with itself.
    pub(super) fn companions_on(&self, resource: ResourceIdx, host: HostIdx) -> Vec<ResourceIdx> {
        let companions = self.draft.rules.companions[resource.get()].iter();
        companions.copied().filter(|one| self.draft.host(*one) == Some(host)).collect()
    }

    /// Leaves out a unit, and all that cannot run without it, if all of these may be left out.
    fn leave_out(&mut self, unit: &[ResourceIdx]) -> bool {
        let rules = self.draft.rules;
        let Some(limit) = self.expendable else { return false };
        let mut out: Vec<ResourceIdx> = unit.to_vec();
        let mut at = 0;
        while let Some(next) = out.get(at).copied() {
            let ties = rules.followers[next.get()].iter().map(|tie| tie.other);
            let dependents = rules.dependents[next.get()].iter().copied();
            let lost = ties.chain(dependents.filter(|then| self.draft.lacks(*then, &out)));
            let lost: Vec<ResourceIdx> =
                lost.filter(|other| self.draft.host(*other).is_some() && !out.contains(other)).collect();
            out.extend(lost);
            at += 1;
        }
        let may = |one: &ResourceIdx| {
            !rules.allowed[one.get()].is_empty() && rules.level[one.get()] > limit && !self.held.contains(one)
        };
        if !out.iter().all(may) {
            return false;
        }
        out.iter().for_each(|one| self.draft.put(*one, None));
        true
    }
}
