//! Runs that keep the levels of the reserves.
//!
//! A node keeps at least as much memory in reserve as its largest secondary needs: its level. An ordinary run pays for
//! a level as soon as one large secondary arrives, so it hardly ever gives up one level for another. Here, a secondary only
//! goes to a node whose level is high enough, and a run evens out the other deviations. The levels change between
//! the runs: each run of a generation changes some levels of the best placement, mostly downwards.

use rayon::prelude::*;

use super::anneal::{Limits, anneal};
use super::archive::Archive;
use super::arrangement::{Arrangement, ShiftSet};
use super::draws::RandomNumbers;
use super::headway::DeepWatch;
use super::schedules::{self, Scale};
use super::terrain::{NOWHERE, Terrain};

/// Number of generations, and of runs in each.
const GENERATIONS: usize = 10;
const RUNS: usize = 8;

/// A run changes the levels of at most one node in this number, and of one at least.
const NODES_OF_A_CHANGE: usize = 8;

/// Levels up to which secondaries may need memory on the nodes.
pub(crate) struct NodeLevels {
    /// By slot, in MiB.
    most: Vec<i64>,
}

impl NodeLevels {
    /// The levels of the nodes in an arrangement.
    fn of(at: &Arrangement<'_>) -> NodeLevels {
        let need = |mobile: &u32| at.terrain.mobiles[*mobile as usize].need;
        let of_slot = |slot: usize| at.residents[slot].secondaries.iter().map(need).max().unwrap_or(0);
        NodeLevels { most: (0..at.terrain.nodes.len()).map(of_slot).collect() }
    }

    /// Returns true if no secondary goes to a node whose level is below its need.
    pub(super) fn allow(&self, at: &Arrangement<'_>, proposal: &ShiftSet) -> bool {
        proposal.iter().all(|shift| {
            let (to, mobile) = (shift.to.secondary, shift.mobile as usize);
            to == NOWHERE
                || to == at.seats[mobile].secondary
                || self.most[to as usize] >= at.terrain.mobiles[mobile].need
        })
    }

    /// Changes the levels of some random nodes to the next one of `levels` (ascending), mostly to a lower one.
    fn vary(&mut self, terrain: &Terrain<'_>, levels: &[i64], draws: &mut RandomNumbers) {
        let most = (terrain.online.len() / NODES_OF_A_CHANGE).max(1);
        for _ in 0..=draws.below(most) {
            let Some(slot) = draws.pick(&terrain.online) else { return };
            let level = &mut self.most[slot as usize];
            let at = levels.partition_point(|other| other < level);
            let to = if draws.below(4) > 0 { at.checked_sub(1) } else { Some(at + 1) };
            if let Some(next) = to.and_then(|to| levels.get(to)) {
                *level = *next;
            }
        }
    }
}

/// Improves a placement by generations of runs. Returns the best one and the number of changes tried.
pub(super) fn improve<'t>(
    best: Arrangement<'t>,
    (streams, effort): (usize, u64),
    (scale, price): (&Scale, f64),
    limits: &Limits,
    watch: DeepWatch<'_>,
) -> (Arrangement<'t>, u64) {
    let terrain = best.terrain;
    let mut levels: Vec<i64> = terrain.mobiles.iter().filter(|of| of.mirrored).map(|of| of.need).collect();
    levels.push(0);
    levels.sort_unstable();
    levels.dedup();
    let (mut best, mut sum) = (best, 0);
    for generation in 0..GENERATIONS {
        let run = |number: usize| {
            let stream = 5 * streams + generation * RUNS + number;
            let schedule = schedules::with_levels(stream, effort / (GENERATIONS * RUNS) as u64, scale, price);
            let mut own = NodeLevels::of(&best);
            // The first run keeps all levels.
            if number > 0 {
                own.vary(terrain, &levels, &mut RandomNumbers::stream(stream as u64));
            }
            let (mut at, mut found) = (best.clone(), Archive::default());
            let tried = anneal(&mut at, &schedule, limits, Some(&own), &mut found, watch);
            let end = found.front().last().map(|record| (record.appraisal.score, record.shifts.clone()));
            (tried, end)
        };
        let runs: Vec<_> = (0..RUNS).into_par_iter().map(run).collect();
        sum += runs.iter().map(|(tried, _)| tried).sum::<u64>();
        let ends = runs.into_iter().filter_map(|(_, end)| end);
        // The first of equal ones wins.
        let end = ends.min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((score, shifts)) = end
            && score < best.now().score
            && let Some(better) = Arrangement::of(terrain).with(&shifts)
        {
            best = better;
        }
    }
    (best, sum)
}

#[cfg(test)]
mod tests;
