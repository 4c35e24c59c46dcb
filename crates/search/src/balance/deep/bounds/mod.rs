//! Lower bounds of the score of any placement. docs/bounds.md has the proofs.

mod backing;
mod careful;
mod contents;
mod counts;
mod level;
mod levels;
mod moves;
mod program;
mod ranges;
mod reserves;
mod tangent;
mod vectors;

use super::arrangement::Arrangement;
use super::terrain::{SlotStanding, Terrain};
use crate::Deadline;
use level::{LaneColumn, least_deviation};
use levels::LevelProblem;
use ranges::RangeProblem;
pub(crate) use tangent::{MoveLine, line, within_data};

/// Margin for rounding, as a share of a bound: many times the error in sums over 10,000 nodes.
const ROUNDING: f64 = 1e-11;

/// Lower bound of one lane's deviation, and what of the lane cannot move.
#[derive(Debug, Clone)]
struct LaneFloor {
    /// Position of the lane in the terrain.
    lane: usize,
    /// The least deviation.
    least: f64,
    /// For each online node, the amount that cannot move.
    fixed: Vec<f64>,
}

/// Lower bound of the score of any placement, with any number of moves.
pub(crate) struct ScoreFloor {
    /// The parts besides deviations, reserves and affinity keys.
    others: f64,
    /// The part of the affinity keys, which can be below 0.
    keys: f64,
    /// The part of the deviations and reserves.
    parts: f64,
    /// Problems whose solutions are better bounds of that part.
    levels: Option<LevelProblem>,
    ranges: Option<RangeProblem>,
    lanes: Vec<LaneFloor>,
}

impl ScoreFloor {
    /// Prepares the bound; `None` without online nodes.
    pub(crate) fn of(terrain: &Terrain<'_>) -> Option<ScoreFloor> {
        if terrain.online.is_empty() {
            return None;
        }
        let start = Arrangement::of(terrain);
        let reserve = counts::reserve(terrain);
        // `beyond` is the excess of the joint bound of one lane and the reserves over their separate bounds.
        let (mut deviations, mut beyond) = (0.0, 0.0_f64);
        let mut lanes = Vec::new();
        for k in (0..terrain.width()).filter(|k| Some(*k) != terrain.lanes.reserve) {
            // One column at a time, since that of a million instances takes megabytes.
            let Some(column) = column(&start, k) else { continue };
            let least = least_deviation(&column);
            let part = terrain.lanes.weight[k] * least;
            deviations += part;
            if let Some(together) = reserves::together(terrain, k, &column, least, reserve) {
                beyond = beyond.max(together - part - reserve);
            }
            let fixed = column.fixed.iter().map(|amount| amount * column.sign).collect();
            lanes.push(LaneFloor { lane: k, least, fixed });
        }
        Some(ScoreFloor {
            others: terrain.constant + counts::unavoidable(terrain),
            keys: counts::keys(terrain),
            parts: deviations + reserve + beyond,
            levels: LevelProblem::of(terrain, &lanes),
            ranges: RangeProblem::of(terrain, &lanes),
            lanes,
        })
    }

    /// The bound. It is tighter if `known`, the score of a placement, is good; without one, that is infinite. At the
    /// deadline the search for it ends early, and it is weaker.
    pub(crate) fn bound(&self, known: f64, deadline: &Deadline) -> f64 {
        let ScoreFloor { others, keys, .. } = *self;
        let mut parts = self.parts;
        let margin = ROUNDING * (known.abs() + others.abs() + keys.abs());
        let known = known - others - keys + margin;
        if let Some(levels) = &self.levels {
            parts = parts.max(levels::least(levels, known, deadline));
        }
        if let Some(ranges) = self.ranges.as_ref().filter(|_| known.is_finite()) {
            parts = parts.max(ranges::least(ranges, known, deadline));
            parts = parts.max(contents::least(ranges, parts, known, deadline));
        }
        let sum = others + parts;
        // Affinity keys can have negative costs, so the parts can be larger than their sum.
        sum + keys - ROUNDING * (sum.abs() + keys.abs())
    }

    /// Raises the bounds for up to `most` moves by prices for single nodes. Clusters with few nodes need no score of a known
    /// placement; those with many need one. At the deadline the search for prices ends early.
    pub(crate) fn tighten(
        &self,
        terrain: &Terrain<'_>,
        line: &mut MoveLine,
        (most, known): (usize, Option<f64>),
        deadline: &Deadline,
    ) {
        if let Some(ranges) = &self.ranges {
            let rest = self.others + self.keys;
            moves::tighten(terrain, (&self.lanes, ranges), (rest, known), line, most, deadline);
        }
    }
}

/// Weight of the reserves' deviation, or as much of it as lets their cost rise with every reserve: the deviation falls by at
/// most sqrt(N - 1) / N for each unit by which a value rises.
fn rising_weight(terrain: &Terrain<'_>) -> f64 {
    let n = terrain.online.len() as f64;
    let weight = terrain.lanes.reserve.map_or(0.0, |k| terrain.lanes.weight[k]);
    weight.min(terrain.weights.reserved * n / (n - 1.0).max(1.0).sqrt())
}

/// Returns true if both nodes of the mobile are online nodes of the set; then its roles stay on such nodes.
pub(super) fn stays_online(terrain: &Terrain<'_>, mobile: u32) -> bool {
    let home = terrain.mobiles[mobile as usize].home;
    let online = |slot: u32| terrain.standing.get(slot as usize).is_none_or(|s| *s == SlotStanding::Online);
    online(home.primary) && online(home.secondary)
}

/// One lane, split into movable and fixed amounts; `None` if the amounts are of several kinds.
fn column(start: &Arrangement<'_>, k: usize) -> Option<LaneColumn> {
    let terrain = start.terrain;
    let exclusive = |slot: &u32| terrain.spec(*slot).exclusive_storage;
    let first = terrain.online.first()?;
    if !terrain.is_sum(k) || terrain.online.iter().any(|slot| exclusive(slot) != exclusive(first)) {
        return None;
    }
    let scales: Vec<f64> = terrain.online.iter().map(|slot| terrain.scale(*slot)[k]).collect();
    if scales.iter().any(|scale| !(scale.is_finite() && *scale > 0.0)) {
        return None;
    }
    let mut at_home = vec![0.0; terrain.nodes.len()];
    let (mut items, mut optional) = (Vec::new(), 0.0);
    for (mobile, details) in (0..).zip(&terrain.mobiles) {
        for (slot, secondary) in [(details.home.primary, false), (details.home.secondary, true)] {
            let amount = terrain.amounts(mobile, *first, secondary)[k];
            if amount == 0.0 || (secondary && !details.mirrored) {
                continue;
            }
            if terrain.is_online(slot) {
                at_home[slot as usize] += amount;
            }
            if stays_online(terrain, mobile) {
                items.push(amount);
            } else {
                optional += amount;
            }
        }
    }
    // Free resources fall when something arrives; then all signs are reversed.
    let sign = if items.iter().sum::<f64>() + optional < 0.0 { -1.0 } else { 1.0 };
    let items: Vec<f64> = items.into_iter().map(|amount| sign * amount).collect();
    if items.iter().any(|amount| *amount < 0.0) || sign * optional < 0.0 {
        return None;
    }
    let fixed =
        |(slot, scale): (&u32, &f64)| sign * (start.raw_value(*slot, k) / scale - at_home[*slot as usize]);
    let fixed = terrain.online.iter().zip(&scales).map(fixed).collect();
    Some(LaneColumn { sign, fixed, scales, items, optional: sign * optional })
}
