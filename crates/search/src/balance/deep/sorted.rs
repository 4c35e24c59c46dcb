//! Runs from a start with sorted secondaries.

use super::anneal::Limits;
use super::archive::Archive;
use super::arrangement::{Arrangement, Shift};
use super::headway::DeepWatch;
use super::relabel::{Relabelling, has_order};
use super::schedules::{self, Scale};
use super::{DeepOptions, gather, levelled, move_cost, run_all, run_each};

/// A start is promising only if at least this share of the mirrored instances may move.
const ROOMY: f64 = 0.75;

/// The same for all instances, if a start without a limit on moves can be shortened.
const ROOMY_BEYOND: f64 = 0.6;

/// A start is promising only if each of its runs can try so many changes for each mobile.
const TRIES_OF_A_MOBILE: f64 = 5000.0;

/// Share of the effort of the runs that keep levels.
const LEVELLED_SHARE: f64 = 0.4;

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
        home: &Arrangement<'t>,
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
        // Within tight limits, better levels are lost again when the placement is shortened.
        let is_roomy = self.limits.moves as f64 >= ROOMY * home.terrain.mobiles.len() as f64;
        let levels_follow = self.is_promising && is_roomy;
        let runs =
            schedules::from_sorted(deep.streams, deep.effort, scale, price, self.is_promising, levels_follow);
        let mut tried = run_all(home, &runs, &limits, &mut own, Some(&self.shifts), watch);
        let best = own.front().last().map(|record| record.shifts.clone());
        if !self.is_beyond && best.as_ref().is_some_and(|best| has_order(home, best)) {
            archive.join(own);
        }
        let best = best.filter(|_| self.is_promising).and_then(|best| home.clone().with(&best));
        if let Some(best) = best {
            let (best, of_levels) = if levels_follow {
                let effort = (deep.effort as f64 * LEVELLED_SHARE) as u64;
                levelled::improve(best, (deep.streams, effort), (scale, price), &limits, watch)
            } else {
                (best, 0)
            };
            tried += of_levels + self.search_again(home, best, scale, archive, watch);
        }
        tried
    }

    /// Shortens the best placement of the runs. If it is beyond the limit, some more runs begin there. Returns the number of
    /// changes tried.
    fn search_again(
        &self,
        home: &Arrangement<'t>,
        best: Arrangement<'t>,
        scale: &Scale,
        archive: &mut Archive,
        watch: DeepWatch<'_>,
    ) -> u64 {
        let (deep, limits) = (&self.deep, &self.limits);
        let short = self.relabelling.and_then(|relabelling| relabelling.shorten(&best));
        for end in short.iter().chain([&best]) {
            if limits.hold(&end.now()) && has_order(home, &end.shifts()) {
                archive.offer(end);
            }
        }
        if !self.is_beyond {
            return 0;
        }
        let price = archive.slope(limits.moves).clamp(scale.unit * 0.01, scale.dear);
        let runs = schedules::from_shortened(deep.streams, deep.effort, scale, price);
        let shifts = short.unwrap_or(best).shifts();
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
