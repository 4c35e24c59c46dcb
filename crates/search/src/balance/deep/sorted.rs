//! Runs from a start with sorted secondaries.

use super::anneal::Limits;
use super::archive::Archive;
use super::arrangement::{Arrangement, Shift};
use super::headway::DeepWatch;
use super::schedules::{self, Scale};
use super::{DeepOptions, gather, move_cost, order, placements, run_all};

/// A start is promising only if at least this share of the mirrored instances may move.
const ROOMY: f64 = 0.75;

/// A start is promising only if each of its runs can try so many changes for each mobile.
const TRIES_OF_A_MOBILE: f64 = 5000.0;

/// A start with sorted secondaries within the limits.
pub(super) struct SortedStart<'t> {
    start: Arrangement<'t>,
    shifts: Vec<Shift>,
    /// True if runs from the start can end better than all others, even if the start itself is worse. On small clusters
    /// without tight limits, they can give up the perfect order of the secondaries step by step.
    pub is_promising: bool,
}

impl<'t> SortedStart<'t> {
    /// Builds the start, if there is one.
    pub(super) fn of(
        home: &Arrangement<'t>,
        deep: &DeepOptions,
        limits: &Limits,
        watch: DeepWatch<'_>,
    ) -> Option<SortedStart<'t>> {
        let start = gather::gathered(home, limits, watch)?;
        let shift = |mobile: &u32| Shift { mobile: *mobile, to: start.seats[*mobile as usize] };
        let shifts: Vec<Shift> = start.moved.iter().map(shift).collect();
        let mirrored = gather::mirrored(home.terrain).len() as f64;
        let tries = schedules::of_one_run(deep.effort) as f64 / home.terrain.mobiles.len() as f64;
        let is_promising = limits.moves as f64 >= ROOMY * mirrored
            && limits.data == i64::MAX
            && tries >= TRIES_OF_A_MOBILE
            && has_order(home, &shifts);
        Some(SortedStart { start, shifts, is_promising })
    }

    /// If the start is promising, or better than everything that was found, and its moves have an order without detours,
    /// some more runs begin there. Returns the number of changes tried.
    pub(super) fn search(
        self,
        home: &Arrangement<'_>,
        deep: &DeepOptions,
        scale: &Scale,
        limits: &Limits,
        archive: &mut Archive,
        watch: DeepWatch<'_>,
    ) -> u64 {
        let best = archive.best().map_or(f64::INFINITY, |best| best.score);
        let is_better = || self.start.now().score < best && has_order(home, &self.shifts);
        if !self.is_promising && !is_better() {
            return 0;
        }
        archive.offer(&self.start);
        let price = move_cost(deep, home.deviations(), archive).clamp(scale.unit * 0.01, scale.dear);
        let runs = schedules::from_sorted(deep.streams, deep.effort, scale, price, self.is_promising);
        let mut own = Archive::default();
        let tried = run_all(home, &runs, limits, &mut own, Some(&self.shifts), watch);
        if own.front().last().is_some_and(|record| has_order(home, &record.shifts)) {
            archive.join(own);
        }
        tried
    }
}

/// Returns true if the shifts from home have an order without detours.
fn has_order(home: &Arrangement<'_>, shifts: &[Shift]) -> bool {
    order::is_direct(home.terrain, &placements(home.terrain, shifts))
}

#[cfg(test)]
mod tests;
