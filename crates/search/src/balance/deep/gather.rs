//! Starts in which few nodes hold all secondaries, sorted by size.
//!
//! A node keeps memory for the largest failure among its secondaries. If the large secondaries share few nodes,
//! the other nodes keep little or nothing. A random search does not come there from a placement where every node
//! has secondaries of all sizes, since single changes on the way make the score worse.

mod crowds;
mod levels;
mod within;

use std::cmp::Reverse;

use rayon::prelude::*;

use super::anneal::Limits;
use super::appraise::{LaneRow, MOST_LANES};
use super::arrangement::{Arrangement, Shift};
use super::headway::DeepWatch;
use super::ledgers::Ledgers;
use super::tag_state::TagState;
use super::terrain::{Seat, Terrain};
use htools_model::{DiskCheck, Ledger, Mib, Strictness, TagArrival};

/// Maximum number of seats that are weighed in total: instances times nodes times starts.
const MOST_WORK: usize = 150_000_000;

/// Maximum number of times that the best start is built again with the weights that fit it.
const REPEATS: usize = 4;

/// Number of cheapest primary nodes that are sorted first.
const NEAR: usize = 64;

/// Number of other secondary nodes tried for an instance that its own one does not take.
const OTHERS: usize = 8;

/// The same if most instances stay at home, so that many nodes have no room.
const OTHERS_WITHIN: usize = 32;

/// The best start within the limits with sorted secondaries, if the rules allow one.
pub(super) fn gathered<'t>(
    home: &Arrangement<'t>,
    limits: &Limits,
    watch: DeepWatch<'_>,
) -> Option<Arrangement<'t>> {
    let terrain = home.terrain;
    let lifted = mirrored(terrain);
    let (rules, online) = (&terrain.rules, terrain.online.len());
    let free = rules.disk_moves && rules.instance_moves && !rules.restricted_migration;
    let starts = MOST_WORK / (lifted.len() * online).max(1);
    if !free || lifted.is_empty() || terrain.lanes.reserve.is_none() || starts < crowds::MOST_TRIES + REPEATS
    {
        return None;
    }
    let of_all = gathered_all(home, &lifted, limits, watch);
    let is_limited = limits.moves < lifted.len() as i64 && limits.data == i64::MAX;
    let of_some = if is_limited { within::gathered_within(home, &lifted, limits, watch) } else { None };
    of_all.into_iter().chain(of_some).min_by(|a, b| a.now().score.total_cmp(&b.now().score))
}

/// The best start in which all of `lifted` may move.
fn gathered_all<'t>(
    home: &Arrangement<'t>,
    lifted: &[u32],
    limits: &Limits,
    watch: DeepWatch<'_>,
) -> Option<Arrangement<'t>> {
    let factors = lane_factors(home, lifted);
    let crowds = crowds::crowds(home.terrain, lifted);
    let faults = home.faults();
    let build = |crowd: usize, factors: &LaneRow| {
        let is_late = watch.deadline.reached().is_some();
        let built = if is_late { None } else { Gathering::of(home, *factors).build(home, lifted, crowd) };
        built.filter(|start| limits.hold(&start.now()) && start.faults().breaches <= faults.breaches)
    };
    let built: Vec<_> = crowds.par_iter().map(|crowd| Some((build(*crowd, &factors)?, *crowd))).collect();
    let score = |start: &Arrangement<'_>| start.now().score;
    let (mut best, crowd) = built.into_iter().flatten().min_by(|a, b| score(&a.0).total_cmp(&score(&b.0)))?;
    for _ in 0..REPEATS {
        // The deviations of such a placement are not those at home, so the lanes weigh differently.
        let again = build(crowd, &lane_factors(&best, lifted));
        let Some(better) = again.filter(|again| score(again) < score(&best)) else { break };
        best = better;
    }
    Some(best)
}

/// The mobiles with a secondary that needs memory, largest first.
pub(super) fn mirrored(terrain: &Terrain<'_>) -> Vec<u32> {
    let mut lifted: Vec<u32> = (0..terrain.mobiles.len() as u32)
        .filter(|mobile| {
            let details = &terrain.mobiles[*mobile as usize];
            details.mirrored && details.need > 0
        })
        .collect();
    lifted.sort_by_key(|mobile| {
        let details = &terrain.mobiles[*mobile as usize];
        (Reverse((details.need, details.disk)), *mobile)
    });
    lifted
}

/// For each lane, the change of the score by a change of the squares of its values, up to a constant factor. The
/// reserve has none, since the design takes care of it.
fn lane_factors(at: &Arrangement<'_>, lifted: &[u32]) -> LaneRow {
    let terrain = at.terrain;
    let n = terrain.online.len() as f64;
    let mut factors = [0.0; MOST_LANES];
    for (k, factor) in factors.iter_mut().enumerate().take(terrain.width()) {
        let variance =
            terrain.online.iter().map(|slot| (at.value(*slot, k) - at.mean(k)).powi(2)).sum::<f64>() / n;
        // Whole instances hardly come nearer to the mean than their own size.
        let slot = terrain.online[0];
        let step = |mobile: &u32| terrain.amounts(*mobile, slot, false)[k].abs() * terrain.scale(slot)[k];
        let typical = lifted.iter().map(step).sum::<f64>() / lifted.len() as f64;
        let deviation = variance.sqrt().max(0.25 * typical.abs());
        if terrain.lanes.reserve != Some(k) && deviation > 0.0 {
            *factor = terrain.lanes.weight[k] / deviation;
        }
    }
    factors
}

/// The designed secondary of a mobile.
#[derive(Debug, Clone, Copy)]
struct Design {
    slot: u32,
    /// Largest memory need of a secondary on the slot, in MiB.
    largest: i64,
}

/// A placement that is being built.
struct Gathering<'t> {
    terrain: &'t Terrain<'t>,
    ledgers: Ledgers,
    tags: TagState,
    seats: Vec<Seat>,
    /// The values by slot and lane, relative to the means at home. Designed secondaries count from the beginning.
    values: Vec<f64>,
    factors: LaneRow,
    /// For each slot, the ledger with all designed secondaries, those still to come included. Primaries must not
    /// take their room.
    designed: Vec<Ledger>,
    /// For each slot, the number of instances on it at home.
    at_home: Vec<i64>,
    /// For each slot, the most that it shall keep for one other node, in MiB. Empty if that is not planned.
    levels: Vec<i64>,
}

impl<'t> Gathering<'t> {
    fn of(home: &Arrangement<'t>, factors: LaneRow) -> Gathering<'t> {
        Gathering {
            terrain: home.terrain,
            ledgers: home.ledgers.clone(),
            tags: home.tags.clone(),
            seats: home.seats.clone(),
            values: home.values.clone(),
            factors,
            designed: Vec::new(),
            at_home: home.members.clone(),
            levels: Vec::new(),
        }
    }

    /// Builds the placement with up to `crowd` secondaries on a node. Returns `None` if an instance finds no
    /// place.
    fn build(mut self, home: &Arrangement<'t>, lifted: &[u32], crowd: usize) -> Option<Arrangement<'t>> {
        self.lift(lifted);
        let designs = self.design(lifted, crowd)?;
        self.seat_all(lifted, designs, 0)?;
        self.arrange(home, lifted)
    }

    /// Takes some mobiles off their nodes.
    fn lift(&mut self, lifted: &[u32]) {
        let terrain = self.terrain;
        for mobile in lifted {
            let seat = self.seats[*mobile as usize];
            self.ledgers.lift(terrain, *mobile, &mut self.seats, &mut self.tags);
            self.enter(*mobile, seat.primary, false, -1.0);
            self.enter(*mobile, seat.secondary, true, -1.0);
        }
        let slots = 0..terrain.nodes.len() as u32;
        self.designed = slots.map(|slot| *self.ledgers.ledger(slot)).collect();
    }

    /// Seats the lifted mobiles with their designs, the largest first. Returns those that found no place, or `None` if
    /// they are more than `most`.
    fn seat_all(&mut self, lifted: &[u32], designs: Vec<Design>, most: usize) -> Option<Vec<u32>> {
        let mut turns: Vec<(f64, u32, Design)> = (lifted.iter().zip(designs))
            .map(|(mobile, design)| (self.weight(*mobile), *mobile, design))
            .collect();
        turns.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut stuck = Vec::new();
        for (_, mobile, design) in turns {
            if !self.seat(mobile, design) {
                stuck.push(mobile);
            }
            if stuck.len() > most {
                return None;
            }
        }
        Some(stuck)
    }

    /// Returns true if a mobile has its seat at home.
    fn is_home(&self, mobile: u32) -> bool {
        self.seats[mobile as usize] == self.terrain.mobiles[mobile as usize].home
    }

    /// The arrangement with the seats of the lifted mobiles, if the rules allow it.
    fn arrange(&self, home: &Arrangement<'t>, lifted: &[u32]) -> Option<Arrangement<'t>> {
        let mut movers: Vec<(f64, u32)> = (lifted.iter().filter(|mobile| !self.is_home(**mobile)))
            .map(|mobile| (self.weight(*mobile), *mobile))
            .collect();
        movers.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let shift = |(_, mobile): (f64, u32)| Shift { mobile, to: self.seats[mobile as usize] };
        let shifts: Vec<Shift> = movers.into_iter().map(shift).collect();
        home.clone().with(&shifts)
    }

    /// Adds the amounts of a mobile to a slot, or removes them if `by` is -1.
    fn enter(&mut self, mobile: u32, slot: u32, secondary: bool, by: f64) {
        let stride = self.terrain.stride();
        let (amounts, scale) = (self.terrain.amounts(mobile, slot, secondary), self.terrain.scale(slot));
        let values = &mut self.values[slot as usize * stride..][..stride];
        for ((value, amount), scale) in values.iter_mut().zip(amounts).zip(scale) {
            *value += by * amount * scale;
        }
    }

    /// Change of the deviations if a mobile comes to a slot, up to a constant factor.
    fn cost(&self, mobile: u32, slot: u32, secondary: bool) -> f64 {
        let stride = self.terrain.stride();
        let (amounts, scale) = (self.terrain.amounts(mobile, slot, secondary), self.terrain.scale(slot));
        let values = &self.values[slot as usize * stride..][..stride];
        let mut cost = 0.0;
        for k in 0..stride {
            let change = amounts[k] * scale[k];
            cost += self.factors[k] * change * (2.0 * values[k] + change);
        }
        cost
    }

    /// Size of a mobile as a primary, for the order in which primaries get their nodes.
    fn weight(&self, mobile: u32) -> f64 {
        let slot = self.terrain.online[0];
        let (amounts, scale) = (self.terrain.amounts(mobile, slot, false), self.terrain.scale(slot));
        (0..self.terrain.width()).map(|k| self.factors[k] * (amounts[k] * scale[k]).abs()).sum()
    }

    /// Designs a secondary for each mobile, given largest first. Returns `None` if there are not enough nodes.
    fn design(&mut self, lifted: &[u32], crowd: usize) -> Option<Vec<Design>> {
        let need = |mobile: &u32| self.terrain.mobiles[*mobile as usize].need;
        // Nodes that are nearly empty at home can take their secondaries at once, so that the plan has an order.
        let mut slots = self.terrain.online.clone();
        slots.sort_by_key(|slot| (self.at_home[*slot as usize], *slot));
        let mut slots = slots.into_iter();
        let (mut designs, mut begin) = (Vec::with_capacity(lifted.len()), 0);
        while begin < lifted.len() {
            // A band is one size, or several if a single one does not fill a node.
            let mut end = lifted.len().min(begin + crowd);
            while end < lifted.len() && need(&lifted[end]) == need(&lifted[end - 1]) {
                end += 1;
            }
            let band = &lifted[begin..end];
            let own: Vec<u32> = slots.by_ref().take(band.len().div_ceil(crowd)).collect();
            if own.len() < band.len().div_ceil(crowd) {
                return None;
            }
            designs.extend(self.fill(band, &own));
            begin = end;
        }
        // Nodes without large secondaries take the primaries.
        slots.next().map(|_| designs)
    }

    /// Distributes the secondaries of a band evenly over its slots.
    fn fill(&mut self, band: &[u32], own: &[u32]) -> Vec<Design> {
        let largest = self.terrain.mobiles[band[0] as usize].need;
        let each = band.len().div_ceil(own.len());
        let mut counts = vec![0; own.len()];
        let mut designs = Vec::with_capacity(band.len());
        for mobile in band {
            let costs = (0..own.len()).map(|at| {
                let is_full = counts[at] >= each || self.with_secondary(*mobile, own[at]).is_none();
                (is_full, self.cost(*mobile, own[at], true), at)
            });
            let order = |a: &(bool, f64, usize), b: &(bool, f64, usize)| {
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
            };
            let at = costs.min_by(order).map_or(0, |(.., at)| at);
            counts[at] += 1;
            self.expect_secondary(*mobile, own[at]);
            self.enter(*mobile, own[at], true, 1.0);
            designs.push(Design { slot: own[at], largest });
        }
        designs
    }

    /// The designed ledger of a slot with one more secondary, if the rules allow it.
    fn with_secondary(&self, mobile: u32, slot: u32) -> Option<Ledger> {
        let (spec, instance) = (self.terrain.spec(slot), self.terrain.instance(mobile));
        let ledger = &self.designed[slot as usize];
        // Its primary is not known yet. The memory for it counts as the largest only.
        ledger.add_secondary(spec, instance, Mib::ZERO, Strictness::Strict, DiskCheck::Needed).ok()
    }

    fn expect_secondary(&mut self, mobile: u32, slot: u32) {
        if let Some(ledger) = self.with_secondary(mobile, slot) {
            self.designed[slot as usize] = ledger;
        }
    }

    /// Gives a mobile its seat: with the designed secondary, with another one, or at home.
    fn seat(&mut self, mobile: u32, design: Design) -> bool {
        let terrain = self.terrain;
        if self.seat_beside(mobile, design.slot, design.largest) {
            return true;
        }
        self.enter(mobile, design.slot, true, -1.0);
        for slot in self.other_secondaries(mobile, design.slot) {
            self.enter(mobile, slot, true, 1.0);
            let largest = self.levels.get(slot as usize).map_or(design.largest, |level| *level);
            if self.seat_beside(mobile, slot, largest) {
                self.expect_secondary(mobile, slot);
                return true;
            }
            self.enter(mobile, slot, true, -1.0);
        }
        let home = terrain.mobiles[mobile as usize].home;
        let returned =
            self.ledgers.land(terrain, Shift { mobile, to: home }, &mut self.seats, &mut self.tags);
        if returned {
            self.enter(mobile, home.primary, false, 1.0);
            self.enter(mobile, home.secondary, true, 1.0);
        }
        returned
    }

    /// The secondaries to try for a mobile instead of the designed one, best first.
    fn other_secondaries(&self, mobile: u32, designed: u32) -> Vec<u32> {
        let need = self.terrain.mobiles[mobile as usize].need;
        let is_low = |slot: u32| self.levels.get(slot as usize).is_some_and(|level| *level < need);
        let mut others: Vec<(bool, f64, u32)> = (self.terrain.online.iter())
            .filter(|slot| **slot != designed && self.may_take(mobile, **slot))
            .map(|slot| (is_low(*slot), self.cost(mobile, *slot, true), *slot))
            .collect();
        others.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        let most = if self.levels.is_empty() { OTHERS } else { OTHERS_WITHIN };
        others.into_iter().take(most).map(|(.., slot)| slot).collect()
    }

    /// Returns false if a slot certainly has no room for a secondary, whatever its primary.
    fn may_take(&self, mobile: u32, secondary: u32) -> bool {
        let (spec, instance) = (self.terrain.spec(secondary), self.terrain.instance(mobile));
        let ledger = self.ledgers.ledger(secondary);
        let added =
            || ledger.add_secondary(spec, instance, Mib::ZERO, Strictness::Strict, DiskCheck::Needed).is_ok();
        // Only where most instances stay at home, many slots are full.
        self.levels.is_empty() || self.terrain.mobiles[mobile as usize].home.secondary == secondary || added()
    }

    /// Finds the best primary for a mobile with this secondary. If possible, the memory that the secondary keeps
    /// for one primary does not exceed `largest`.
    fn seat_beside(&mut self, mobile: u32, secondary: u32, largest: i64) -> bool {
        if !self.may_take(mobile, secondary) {
            return false;
        }
        let mut costs: Vec<(f64, u32)> =
            self.terrain.online.iter().map(|slot| (self.cost(mobile, *slot, false), *slot)).collect();
        let by_cost = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        let near = NEAR.min(costs.len() - 1);
        costs.select_nth_unstable_by(near, by_cost);
        let (near, far) = costs.split_at_mut(near);
        near.sort_unstable_by(by_cost);
        if self.seat_on_one(mobile, secondary, largest, near) {
            return true;
        }
        far.sort_unstable_by(by_cost);
        self.seat_on_one(mobile, secondary, largest, far)
    }

    /// Puts a mobile on the first of some primaries that takes it. Those for which the secondary must keep more
    /// than `largest` come last.
    fn seat_on_one(&mut self, mobile: u32, secondary: u32, largest: i64, slots: &[(f64, u32)]) -> bool {
        let need = self.terrain.mobiles[mobile as usize].need;
        for (_, primary) in slots {
            if self.ledgers.peer(secondary, *primary) + need <= largest
                && self.land(mobile, *primary, secondary)
            {
                return true;
            }
        }
        slots.iter().any(|(_, primary)| self.land(mobile, *primary, secondary))
    }

    fn land(&mut self, mobile: u32, primary: u32, secondary: u32) -> bool {
        let to = Seat { primary, secondary };
        let (spec, instance) = (self.terrain.spec(primary), self.terrain.instance(mobile));
        let beside_designed = self.designed[primary as usize].add_primary(
            spec,
            instance,
            0,
            TagArrival::default(),
            Strictness::Strict,
        );
        let Some(designed) = beside_designed.ok().filter(|_| primary != secondary) else { return false };
        let landed = self.ledgers.land(self.terrain, Shift { mobile, to }, &mut self.seats, &mut self.tags);
        if landed {
            self.designed[primary as usize] = designed;
            self.enter(mobile, primary, false, 1.0);
        }
        landed
    }
}

#[cfg(test)]
mod tests;
