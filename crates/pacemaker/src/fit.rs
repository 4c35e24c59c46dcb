//! How many more resources of one size fit.

use super::capacity::Capacities;
use super::index::{AttributeIdx, HostIdx, ResourceIdx};
use super::loss::losses;
use super::place::{PlacingError, place};
use super::placing::AllPlaced;
use super::score::AllocationScore;
use super::working_set::{Resource, Strategy, WorkingSet};

/// The most resources that are tried.
pub const MOST: usize = 100_000;

/// How many more resources of one size fit, and where they go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoreFitting {
    /// How many: at most [`MOST`].
    pub count: usize,
    /// Whether the losses that are asked about take nothing down even before.
    pub survives: bool,
    /// How many of them go to each host, by host.
    pub by_host: Vec<usize>,
    /// What each host has left then, by host.
    pub remaining: Vec<Capacities>,
    /// The first host that has room for one of them before any is there, and for no other one after some.
    pub first_full: Option<FullHost>,
}

/// A host that is full, and the kinds of capacity of which it has too little.
pub(crate) type FullHost = (HostIdx, Vec<AttributeIdx>);

/// What more resources are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FitQuestion {
    /// What each of them needs.
    pub size: Capacities,
    /// The loss of how many hosts at once nobody may feel: 0, 1 or 2.
    pub survive: usize,
}

impl FitQuestion {
    /// How many more primitives of this size, with no wishes of their own and a priority below all others, a cluster that is
    /// [settled](WorkingSet::settled) takes: that many are all placed, everything that was placed still is, and the same
    /// holds after every loss of hosts; with one more it does not.
    ///
    /// # Errors
    /// Those of [`place`].
    pub fn answer(&self, settled: &WorkingSet, strategy: Strategy) -> Result<MoreFitting, PlacingError> {
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

    /// No more than this can fit, as all hosts together have no room for more.
    fn bound(&self, settled: &WorkingSet, now: &AllPlaced) -> usize {
        let available = settled.host_indices().filter(|host| settled.host(*host).state.available());
        available.map(|host| self.times(&now.remaining[host.get()])).fold(0, usize::saturating_add)
    }

    /// How often the size is there.
    fn times(&self, free: &Capacities) -> usize {
        let needed = self.size.iter().filter(|(_, amount)| *amount > 0);
        let times = needed.map(|(kind, amount)| free.get(kind).max(0) / amount).min().unwrap_or(0);
        usize::try_from(times).unwrap_or(usize::MAX)
    }

    /// Where all go with so many more, if these are all placed, whatever is lost, and nothing else gives way.
    fn placed_with(
        &self,
        settled: &WorkingSet,
        strategy: Strategy,
        count: usize,
        now: &AllPlaced,
    ) -> Result<Option<AllPlaced>, PlacingError> {
        let with = self.grown(settled, count);
        let placed = place(&with, strategy)?;
        let is_kept = |resource: ResourceIdx| now.host(resource).is_none() || placed.host(resource).is_some();
        let all = settled.resource_indices().all(is_kept)
            && with.resource_indices().skip(settled.resources.len()).all(|more| placed.host(more).is_some());
        let holds = all && self.survives(&with, strategy, &placed)?;
        Ok(holds.then_some(placed))
    }

    /// Whether nothing stays down, whatever is lost.
    fn survives(
        &self,
        set: &WorkingSet,
        strategy: Strategy,
        placed: &AllPlaced,
    ) -> Result<bool, PlacingError> {
        if self.survive == 0 {
            return Ok(true);
        }
        let lost = losses(&set.settled(strategy, placed), strategy, self.survive)?;
        Ok(lost.first().is_none_or(|worst| worst.down.is_empty()))
    }

    /// The cluster with more resources.
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

    /// How many more each host takes, and which one is full first.
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
            free[host.get()].charge(&self.size);
            let missing: Vec<AttributeIdx> =
                free[host.get()].missing_for(&self.size).map(|(kind, _)| kind).collect();
            if first_full.is_none() && !missing.is_empty() {
                first_full = Some((host, missing));
            }
        }
        (by_host, first_full)
    }
}
