//! Runs from a start with sorted secondaries.

use super::anneal::Limits;
use super::archive::Archive;
use super::arrangement::{Arrangement, Shift};
use super::headway::DeepWatch;
use super::relabel::{Relabelling, has_order};
use super::schedules::{self, Scale};
use super::{DeepOptions, gather, move_cost, run_all, run_each};

/// A start is promising only if at least this share of the mirrored instances may move.
const ROOMY: f64 = 0.75;

/// The same for all instances, if a start without a limit on moves can be shortened.
const ROOMY_BEYOND: f64 = 0.6;

/// A start is promising only if each of its runs can try so many changes for each mobile.
const TRIES_OF_A_MOBILE: f64 = 5000.0;

/// A start with sorted secondaries.
pub(super) struct SortedStart<'t, 'r> {
    deep: DeepOptions,
    limits: Limits,
    start: Arrangement<'t>,
    shifts: Vec<Shift>,
    /// True if runs from the start can end better than all others, even if the start itself is worse. On small clusters
    /// without tight limits, they can give up the perfect order of the secondaries step by step.
    pub is_promising: bool,
    /// True if the start does not obey the limit on moves. The runs ignore it, too, and their result is shortened.
    is_beyond: bool,
    relabelling: Option<&'r Relabelling>,
}

impl<'t, 'r> SortedStart<'t, 'r> {
    /// Builds the start, if there is one.
    pub(super) fn of(
        home: &Arrangement<'t>,
        deep: &DeepOptions,
        limits: &Limits,
        relabelling: Option<&'r Relabelling>,
        watch: DeepWatch<'_>,
    ) -> Option<SortedStart<'t, 'r>> {
        let new = |start: Arrangement<'t>, is_beyond: bool| {
            let (shifts, is_promising) = (start.shifts(), false);
            let (deep, limits) = (*deep, *limits);
            SortedStart { deep, limits, start, shifts, is_promising, is_beyond, relabelling }
        };
        let (mobiles, moves) = (home.terrain.mobiles.len() as f64, limits.moves as f64);
        let tries = schedules::of_one_run(deep.effort) as f64 / mobiles;
        let is_easy = limits.data == i64::MAX && tries >= TRIES_OF_A_MOBILE;
        if is_easy && relabelling.is_some() && (ROOMY_BEYOND * mobiles..mobiles).contains(&moves) {
            let beyond = new(gather::gathered(home, &without_moves(limits), watch)?, true);
            if has_order(home, &beyond.shifts) {
                return Some(SortedStart { is_promising: true, ..beyond });
            }
        }
        let within = new(gather::gathered(home, limits, watch)?, false);
        let mirrored = gather::mirrored(home.terrain).len() as f64;
        let is_promising = is_easy && moves >= ROOMY * mirrored && has_order(home, &within.shifts);
        Some(SortedStart { is_promising, ..within })
    }

    /// If the start is promising, or better than everything that was found, and its moves have an order without detours,
    /// some more runs begin there. Returns the number of changes tried.
    pub(super) fn search(
        self,
        home: &Arrangement<'_>,
        scale: &Scale,
        archive: &mut Archive,
        watch: DeepWatch<'_>,
    ) -> u64 {
        let best = archive.best().map_or(f64::INFINITY, |best| best.score);
        let is_better = || self.start.now().score < best && has_order(home, &self.shifts);
        if !self.is_promising && !is_better() {
            return 0;
        }
        let (mut own, mut limits) = (Archive::default(), self.limits);
        if self.is_beyond {
            limits = without_moves(&limits);
        } else {
            archive.offer(&self.start);
        }
        let deep = &self.deep;
        let price = move_cost(deep, home.deviations(), archive).clamp(scale.unit * 0.01, scale.dear);
        let runs = schedules::from_sorted(deep.streams, deep.effort, scale, price, self.is_promising);
        let mut tried = run_all(home, &runs, &limits, &mut own, Some(&self.shifts), watch);
        let best = own.front().last().map(|record| record.shifts.clone());
        if !self.is_beyond && best.as_ref().is_some_and(|best| has_order(home, best)) {
            archive.join(own);
        }
        if let Some(best) = best.filter(|_| self.is_promising) {
            tried += self.search_again(home, &best, price, scale, archive, watch);
        }
        tried
    }

    /// Shortens the best placement of the runs and begins some more runs there. Returns the number of changes tried.
    fn search_again(
        &self,
        home: &Arrangement<'_>,
        best: &[Shift],
        price: f64,
        scale: &Scale,
        archive: &mut Archive,
        watch: DeepWatch<'_>,
    ) -> u64 {
        let Some(best) = home.clone().with(best) else { return 0 };
        let short = self.relabelling.and_then(|relabelling| relabelling.shorten(&best)).unwrap_or(best);
        let (deep, limits, shifts) = (&self.deep, &self.limits, short.shifts());
        let fits = archive.slope(limits.moves).clamp(scale.unit * 0.01, scale.dear);
        if limits.hold(&short.now()) && has_order(home, &shifts) {
            archive.offer(&short);
        }
        let price = if self.is_beyond { fits } else { price };
        let runs = schedules::from_shortened(deep.streams, deep.effort, scale, price, self.is_beyond);
        let mut sum = 0;
        for (tried, own) in run_each(home, &runs, limits, Some(&shifts), watch) {
            sum += tried;
            if own.front().last().is_some_and(|record| has_order(home, &record.shifts)) {
                archive.join(own);
            }
        }
        sum
    }
}

/// The limits without the one on moves.
fn without_moves(limits: &Limits) -> Limits {
    Limits { moves: i64::MAX, ..*limits }
}

#[cfg(test)]
mod tests;
