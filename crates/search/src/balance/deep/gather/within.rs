//! Starts with sorted secondaries within a limit on moves.
//!
//! Only instances move that stand in the way: secondaries above the level of their node, and primaries on nodes that
//! collect secondaries. All others stay at home.

use std::cmp::Reverse;

use rayon::prelude::*;

use super::crowds::most_secondaries;
use super::levels::{LevelPlan, PlannedRoom};
use super::{Design, Gathering, REPEATS, lane_factors};
use crate::balance::deep::anneal::Limits;
use crate::balance::deep::appraise::LaneRow;
use crate::balance::deep::arrangement::Arrangement;
use crate::balance::deep::headway::DeepWatch;
use crate::balance::deep::{order, placements};

/// Numbers of secondaries per node that are tried, as shares of the most that a node can hold.
const CROWDING: [f64; 7] = [0.45, 0.6, 0.68, 0.75, 0.81, 0.87, 0.93];

/// Room that each primary at home takes, in secondaries: none, or a little. Most of these primaries leave.
const FOR_PRIMARY: [f64; 2] = [0.0, 0.1];

/// Maximum number of times that a start is built again without instances that found no place.
const RETRIES: usize = 6;

/// A start is given up if more than one in this number of movers finds no place.
const MOST_STUCK: usize = 100;

/// Number of starts that are built again with other weights of the lanes.
const FINALISTS: usize = 3;

/// The best start with sorted secondaries whose moves are within the limits and have an order without detours.
pub(super) fn gathered_within<'t>(
    home: &Arrangement<'t>,
    mirrored: &[u32],
    limits: &Limits,
    watch: DeepWatch<'_>,
) -> Option<Arrangement<'t>> {
    let most = usize::try_from(limits.moves).ok()?;
    let full = most_secondaries(home.terrain, mirrored);
    let tries: Vec<PlannedRoom> = CROWDING
        .iter()
        .map(|share| (share * full).ceil() as usize)
        .flat_map(|crowd| FOR_PRIMARY.map(|for_primary| PlannedRoom { crowd, for_primary }))
        .collect();
    let faults = home.faults();
    let holds =
        |start: &Arrangement<'_>| limits.hold(&start.now()) && start.faults().breaches <= faults.breaches;
    let is_late = || watch.deadline.reached().is_some();
    let factors = lane_factors(home, mirrored);
    let build = |planned: &PlannedRoom| {
        let plan = LevelPlan::of(home.terrain, &home.ledgers, mirrored, *planned, most);
        let mut movers = movers(home, &plan);
        let built = if is_late() { None } else { build_without_stuck(home, &mut movers, &plan, factors) };
        built.filter(|start| holds(start) && has_order(start)).map(|start| PlannedStart {
            plan,
            movers,
            start,
        })
    };
    let mut built: Vec<PlannedStart<'t>> = tries.par_iter().filter_map(build).collect();
    // The sort is stable, so the first of equal ones wins.
    built.sort_by(|a, b| a.score().total_cmp(&b.score()));
    built.truncate(FINALISTS);
    let refine = |mut best: PlannedStart<'t>| {
        for _ in 0..REPEATS {
            let factors = lane_factors(&best.start, mirrored);
            let again = if is_late() { None } else { best.again(home, factors) };
            let better = again.filter(|again| again.now().score < best.score() && holds(again));
            let Some(better) = better.filter(has_order) else { break };
            best.start = better;
        }
        best
    };
    let built: Vec<PlannedStart<'t>> = built.into_par_iter().map(refine).collect();
    built.into_iter().min_by(|a, b| a.score().total_cmp(&b.score())).map(|best| best.start)
}

/// A start with the plan by which it was built.
struct PlannedStart<'t> {
    plan: LevelPlan,
    movers: Vec<u32>,
    start: Arrangement<'t>,
}

impl<'t> PlannedStart<'t> {
    fn score(&self) -> f64 {
        self.start.now().score
    }

    /// Builds the plan with other weights of the lanes.
    fn again(&mut self, home: &Arrangement<'t>, factors: LaneRow) -> Option<Arrangement<'t>> {
        build_without_stuck(home, &mut self.movers, &self.plan, factors)
    }
}

/// Returns true if the moves to the arrangement have an order without detours.
fn has_order(start: &Arrangement<'_>) -> bool {
    order::is_direct(start.terrain, &placements(start.terrain, &start.shifts()))
}

/// The mobiles that move, those with the largest needs first.
fn movers(home: &Arrangement<'_>, plan: &LevelPlan) -> Vec<u32> {
    let mut movers: Vec<u32> = plan.lowered.iter().chain(&plan.relieved).copied().collect();
    movers.sort_by_key(|mobile| {
        let details = &home.terrain.mobiles[*mobile as usize];
        (Reverse((details.need, details.disk)), *mobile)
    });
    movers
}

/// Builds a plan. If the rules forbid the result, movers that found no place stay at home from the beginning.
fn build_without_stuck<'t>(
    home: &Arrangement<'t>,
    movers: &mut Vec<u32>,
    plan: &LevelPlan,
    factors: LaneRow,
) -> Option<Arrangement<'t>> {
    for _ in 0..=RETRIES {
        let mut gathering = Gathering::of(home, factors);
        gathering.levels.clone_from(&plan.level);
        gathering.lift(movers);
        let designs = gathering.design_within(movers, plan);
        let stuck = gathering.seat_all(movers, designs, movers.len() / MOST_STUCK)?;
        let at_home: Vec<u32> = movers.iter().copied().filter(|mobile| gathering.is_home(*mobile)).collect();
        if stuck.is_empty()
            && let Some(start) = gathering.arrange(home, movers)
        {
            return Some(start);
        }
        if stuck.is_empty() && at_home.is_empty() {
            return None;
        }
        movers.retain(|mobile| !stuck.contains(mobile) && !at_home.contains(mobile));
    }
    None
}

impl Gathering<'_> {
    /// Designs a secondary for each mover, given largest first: on a node whose level is high enough.
    fn design_within(&mut self, movers: &[u32], plan: &LevelPlan) -> Vec<Design> {
        let mut counts = plan.staying.clone();
        let mut designs = Vec::with_capacity(movers.len());
        for mobile in movers {
            let details = &self.terrain.mobiles[*mobile as usize];
            let is_high = |slot: &&u32| plan.level[**slot as usize] >= details.need;
            let cost = |slot: &u32| {
                let is_full = counts[*slot as usize] >= plan.rooms[*slot as usize]
                    || self.with_secondary(*mobile, *slot).is_none();
                (is_full, self.cost(*mobile, *slot, true), *slot)
            };
            let order = |a: &(bool, f64, u32), b: &(bool, f64, u32)| {
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
            };
            let stays = plan.relieved.contains(mobile);
            let others = self.terrain.online.iter().filter(is_high).filter(|_| !stays).map(cost);
            let slot = others.min_by(order).map_or(details.home.secondary, |(.., slot)| slot);
            counts[slot as usize] += 1;
            self.expect_secondary(*mobile, slot);
            self.enter(*mobile, slot, true, 1.0);
            designs.push(Design { slot, largest: plan.level[slot as usize].max(details.need) });
        }
        designs
    }
}
