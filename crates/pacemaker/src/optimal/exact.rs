//! Tries everything that can still be better, by branch and bound, in clusters that are small enough.

use std::cmp::{Ordering, Reverse};

use super::super::index::{HostIdx, ResourceIdx};
use super::super::optimum::PlacingStage;
use super::draft::PlacingDraft;
use super::limits::PlacingLimits;
use super::rules::ZoneTie;
use super::value::PlacementValue;

/// A search through all placements.
pub(super) struct Exhaustive<'l, 'r> {
    draft: PlacingDraft<'r>,
    limits: &'l PlacingLimits,
    /// The number of steps after which it gives up.
    until: u64,
    /// Resources in the order in which they are placed.
    sequence: Vec<ResourceIdx>,
    /// The last stage that is compared.
    stages: PlacingStage,
    /// Minimum that the remaining resources add, for each position in the sequence.
    outlook: Vec<DraftOutlook>,
    best: PlacementValue,
    found: Option<Vec<Option<HostIdx>>>,
    /// True to find the first placement that is as good as the best known one, and not a better one.
    first_of_best: bool,
    is_given_up: bool,
}

/// Minimum that some resources add to a placement.
#[derive(Debug, Clone, Default)]
struct DraftOutlook {
    /// Unavoidable stops and live migrations. It would be worse to stop a resource that can migrate.
    stops: usize,
    migrations: usize,
}

/// Result of trying everything.
pub(super) struct Exhausted {
    /// The best placement, if it is better than the one that was known.
    pub(super) better: Option<Vec<Option<HostIdx>>>,
    /// True if everything was tried, or cannot be better.
    pub(super) complete: bool,
    /// Number of steps taken.
    pub(super) steps: u64,
}

impl<'l, 'r> Exhaustive<'l, 'r> {
    /// A search for a placement that is better than a value in the first stages.
    pub(super) fn new(
        empty: PlacingDraft<'r>,
        limits: &'l PlacingLimits,
        steps: u64,
        stages: PlacingStage,
        best: PlacementValue,
    ) -> Exhaustive<'l, 'r> {
        let first_of_best = stages == PlacingStage::Names;
        let rules = empty.rules;
        let mut sequence = rules.movable.clone();
        let totals = rules.totals();
        if first_of_best {
            sequence.sort_unstable()
        } else {
            // Large ones come first, as they leave few possibilities.
            sequence.sort_by_cached_key(|one| (rules.level[one.get()], Reverse(rules.size(*one, &totals))))
        }
        let until = empty.steps.saturating_add(steps);
        let mut search = Exhaustive {
            draft: empty,
            limits,
            until,
            sequence,
            stages,
            outlook: Vec::new(),
            best,
            found: None,
            first_of_best,
            is_given_up: false,
        };
        search.compute_outlook();
        search
    }

    /// Tries everything.
    pub(super) fn run(mut self) -> Exhausted {
        let before = self.draft.steps;
        self.branch(0);
        Exhausted { better: self.found, complete: !self.is_given_up, steps: self.draft.steps - before }
    }

    fn compute_outlook(&mut self) {
        let rules = self.draft.rules;
        let mut outlook = DraftOutlook::default();
        self.outlook.push(outlook.clone());
        for resource in self.sequence.iter().rev() {
            if let Some(home) = rules.home(*resource).filter(|home| !rules.allows(*resource, *home)) {
                let details = rules.set.resource(*resource);
                let lives = details.allow_migrate && rules.set.host(home).state.online;
                outlook.migrations += usize::from(lives);
                outlook.stops += usize::from(!lives);
            }
            self.outlook.push(outlook.clone());
        }
        self.outlook.reverse();
    }

    /// Tries the next resource on each possible host, and on none.
    fn branch(&mut self, at: usize) {
        // This is the work of examining all that follow.
        self.draft.steps += 1 + (self.sequence.len() - at) as u64;
        if self.draft.steps >= self.until || self.limits.reached(self.draft.steps) {
            self.is_given_up = true;
        }
        if self.is_given_up || (self.first_of_best && self.found.is_some()) || !self.is_promising(at) {
            return;
        }
        let Some(resource) = self.sequence.get(at).copied() else { return self.note() };
        let rules = self.draft.rules;
        for host in rules.allowed[resource.get()].iter().copied() {
            if !self.draft.has_room(resource, host) || !self.fits_those_before(resource, host) {
                continue;
            }
            let mark = self.draft.mark();
            self.draft.put(resource, Some(host));
            if self.limits.allow(self.draft.moves()) {
                self.branch(at + 1);
            }
            self.draft.back_to(mark);
        }
        self.branch(at + 1);
    }

    /// Returns true if the rules allow a resource on a host, as far as the resources concerned are placed.
    fn fits_those_before(&self, resource: ResourceIdx, host: HostIdx) -> bool {
        let rules = self.draft.rules;
        let near = |tie: &ZoneTie| self.draft.host(tie.other).map(|there| rules.agree(tie.zone, host, there));
        rules.primaries[resource.get()].iter().all(|tie| near(tie) != Some(false))
            && rules.followers[resource.get()].iter().all(|tie| near(tie) != Some(false))
            && rules.apart[resource.get()].iter().all(|tie| near(tie) != Some(true))
    }

    /// Returns true if the resources that follow can still lead to a wanted placement.
    fn is_promising(&self, at: usize) -> bool {
        let outlook = &self.outlook[at];
        let mut possible = self.draft.value_so_far(&self.sequence[at..]);
        possible.stops += outlook.stops;
        possible.migrations += outlook.migrations;
        self.add_waiting(&self.sequence[at..], &mut possible);
        match possible.compare(&self.best, self.stages) {
            Ordering::Greater => true,
            Ordering::Equal => self.first_of_best,
            Ordering::Less => false,
        }
    }

    /// Adds the most that the waiting resources can add. Each is on the best of the hosts with room for it. Of each
    /// priority, there are no more than all these hosts together have room for.
    fn add_waiting(&self, waiting: &[ResourceIdx], possible: &mut PlacementValue) {
        let rules = self.draft.rules;
        let mut is_useful = vec![false; rules.set.hosts.len()];
        let mut fitting: Vec<Vec<ResourceIdx>> = vec![Vec::new(); rules.priorities.len()];
        for resource in waiting.iter().copied() {
            let mut best = None;
            for host in &rules.allowed[resource.get()] {
                if self.draft.has_room(resource, *host) && self.fits_those_before(resource, *host) {
                    is_useful[host.get()] = true;
                    best = best.max(Some(rules.worth(resource, *host)));
                }
            }
            if let Some(best) = best {
                let wishes: i64 = rules.wishes[resource.get()].iter().map(|tie| tie.score.max(0)).sum();
                // If all hosts have scores below 0, it is better left out.
                possible.score += (best + wishes).max(0);
                fitting[rules.level[resource.get()]].push(resource);
            }
        }
        self.add_counts(&fitting, &is_useful, possible);
    }

    /// Adds the greatest number that can be added of each priority. As long as that leads to the numbers of the best
    /// placement, resources take their room before those of lower priorities. Afterwards, all that fit are counted.
    fn add_counts(&self, fitting: &[Vec<ResourceIdx>], is_useful: &[bool], possible: &mut PlacementValue) {
        let rules = self.draft.rules;
        let useful = || rules.set.host_indices().filter(|host| is_useful[host.get()]);
        let free = |kind: usize| useful().map(|host| self.draft.free(host)[kind].max(0)).sum();
        let mut left: Vec<i64> = (0..rules.kinds).map(free).collect();
        for (level, members) in fitting.iter().enumerate() {
            let mut most = members.len();
            let mut sorted: Vec<Vec<i64>> = Vec::with_capacity(rules.kinds);
            for kind in 0..rules.kinds {
                let mut amounts: Vec<i64> = members.iter().map(|one| rules.amounts(*one)[kind]).collect();
                amounts.sort_unstable();
                if amounts.first().is_none_or(|least| *least >= 0) {
                    let mut sum = 0i64;
                    let fits = amounts.iter().take_while(|amount| {
                        sum = sum.saturating_add(**amount);
                        sum <= left[kind]
                    });
                    most = most.min(fits.count());
                }
                sorted.push(amounts);
            }
            possible.placed[level] += most;
            if possible.placed[level] != self.best.placed[level] {
                (level + 1..fitting.len()).for_each(|lower| possible.placed[lower] += fitting[lower].len());
                return;
            }
            for (left, amounts) in left.iter_mut().zip(sorted) {
                *left -= amounts.iter().take(most).sum::<i64>();
            }
        }
    }

    /// Keeps a placement if it follows all rules and is wanted.
    fn note(&mut self) {
        let rules = self.draft.rules;
        let is_whole =
            |one: &ResourceIdx| self.draft.host(*one).is_none_or(|host| self.draft.permits(*one, host));
        if !rules.movable.iter().all(is_whole) {
            return;
        }
        let value = self.draft.value();
        let order = value.compare(&self.best, self.stages);
        if order.is_gt() || (self.first_of_best && order.is_eq()) {
            self.best = value;
            self.found = Some(self.draft.hosts().to_vec());
        }
    }
}
