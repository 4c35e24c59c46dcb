//! Number of further resources of one size that fit.

use super::capacity::Capacities;
use super::foresight::ForesightError;
use super::index::{AttributeIdx, HostIdx, ResourceIdx};
use super::loss::losses;
use super::place::place;
use super::placing::AllPlaced;
use super::score::AllocationScore;
use super::working_set::{Resource, Strategy, WorkingSet};

/// Greatest number of resources that is tried.
pub const MOST: usize = 100_000;

/// Number of further resources of one size that fit, and their hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoreFitting {
    /// Number of resources, at most [`MOST`].
    pub count: usize,
    /// True if the losses in question take nothing down even without further resources.
    pub survives: bool,
    /// Number of them on each host.
    pub by_host: Vec<usize>,
    /// Capacity left on each host afterwards.
    pub remaining: Vec<Capacities>,
    /// The first host that had room for one of them at the beginning and has none after some.
    pub first_full: Option<FullHost>,
}

/// A host that is full, and the kinds of capacity of which it has too little.
pub(crate) type FullHost = (HostIdx, Vec<AttributeIdx>);

/// Size and fault tolerance of further resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FitQuestion {
    /// Utilization of each of them.
    pub size: Capacities,
    /// Number of hosts, 0, 1 or 2, whose simultaneous loss must take nothing down.
    pub survive: usize,
}

impl FitQuestion {
    /// Finds the number of further primitives that a cluster takes, if it is [settled](WorkingSet::settled). They have
    /// this size, no wishes of their own, and a priority below all others. With them, all are placed, everything that
    /// was placed still is, and the same holds after every loss of hosts. One more would break this.
    ///
    /// # Errors
    /// Those of [`place`].
    pub fn answer(&self, settled: &WorkingSet, strategy: Strategy) -> Result<MoreFitting, ForesightError> {
        let now = place(settled, strategy)?;
        let survives = self.survives(settled, strategy, &now)?;
        let end = self.bound(settled, &now).min(MOST) + 1;
        let (mut fits, mut fails) = (0, if survives { end } else { 1 });
        let mut placed = None;
        let mut next = 1;
        while fails - fits > 1 {
            match self.placed_with(settled, strategy, next, &now)? {
                Some(found) => (fits, placed) = (next, Some(found)),
                None => fails = next,
            }
            next = (fits * 2).min(fits + (fails - fits) / 2).max(fits + 1);
        }
        let (by_host, first_full) = self.taken(settled, &now, placed.as_ref());
        let remaining = placed.map_or(now.remaining, |placed| placed.remaining);
        Ok(MoreFitting { count: fits, survives, by_host, remaining, first_full })
    }

    /// Upper bound of the number: the sum of what fits on each host.
    fn bound(&self, settled: &WorkingSet, now: &AllPlaced) -> usize {
        let available = settled.host_indices().filter(|host| settled.host(*host).state.available());
        available.map(|host| self.times(&now.remaining[host.get()])).fold(0, usize::saturating_add)
    }

    /// Number of times that the size fits into a free capacity.
    fn times(&self, free: &Capacities) -> usize {
        let needed = self.size.iter().filter(|(_, amount)| *amount > 0);
        let times = needed.map(|(kind, amount)| free.get(kind).max(0) / amount).min().unwrap_or(0);
        usize::try_from(times).unwrap_or(usize::MAX)
    }

    /// The placement with `count` more, if all of them are placed, nothing else gives way, and no loss takes anything
    /// down.
    fn placed_with(
        &self,
        settled: &WorkingSet,
        strategy: Strategy,
        count: usize,
        now: &AllPlaced,
    ) -> Result<Option<AllPlaced>, ForesightError> {
        let with = self.grown(settled, count);
        let placed = place(&with, strategy)?;
        let is_kept = |resource: ResourceIdx| now.host(resource).is_none() || placed.host(resource).is_some();
        let all = settled.resource_indices().all(is_kept)
            && with.resource_indices().skip(settled.resources.len()).all(|more| placed.host(more).is_some());
        let promoted = |placed: &AllPlaced| placed.promoted.iter().filter(|one| **one).count();
        let all = all && promoted(&placed) >= promoted(now);
        let holds = all && self.survives(&with, strategy, &placed)?;
        Ok(holds.then_some(placed))
    }

    /// Returns true if no loss takes anything down.
    fn survives(
        &self,
        set: &WorkingSet,
        strategy: Strategy,
        placed: &AllPlaced,
    ) -> Result<bool, ForesightError> {
        if self.survive == 0 {
            return Ok(true);
        }
        let settled = match &set.resting {
            Some(document) => set.with_added_started(document, placed),
            None => set.settled(strategy, placed),
        };
        let lost = losses(&settled, strategy, self.survive)?;
        Ok(lost.first().is_none_or(|worst| !worst.is_harmful()))
    }

    /// The cluster with `count` further resources.
    fn grown(&self, settled: &WorkingSet, count: usize) -> WorkingSet {
        let lowest = settled.resources.iter().map(|resource| resource.priority).min().unwrap_or_default();
        let mut with = settled.clone();
        with.resources.extend((0..count).map(|number| Resource {
            priority: AllocationScore::of(i64::from(lowest.min(AllocationScore::ZERO).get()) - 1),
            utilization: self.size.clone(),
            ..Resource::plain(format!("+{}", number + 1))
        }));
        with.set_scores();
        with
    }

    /// Number of further resources by host, and the host that is full first.
    fn taken(
        &self,
        settled: &WorkingSet,
        now: &AllPlaced,
        placed: Option<&AllPlaced>,
    ) -> (Vec<usize>, Option<FullHost>) {
        let mut by_host = vec![0; settled.hosts.len()];
        let mut free = now.remaining.clone();
        let mut first_full = None;
        let records = placed.iter().flat_map(|placed| &placed.records);
        let more = records.filter(|record| record.resource.get() >= settled.resources.len());
        for host in more.filter_map(|record| record.host) {
            by_host[host.get()] += 1;
            settled.charge(&mut free[host.get()], &self.size);
            let missing: Vec<AttributeIdx> =
                free[host.get()].missing_for(&self.size).map(|(kind, _)| kind).collect();
            if first_full.is_none() && !missing.is_empty() {
                first_full = Some((host, missing));
            }
        }
        (by_host, first_full)
    }
}
