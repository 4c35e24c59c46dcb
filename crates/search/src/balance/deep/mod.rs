//! Deep balancing: searches for the best placement instead of the best next step.
//!
//! For every number of moved instances, [`search`] finds the best placement that it can ([`Deep::line`]). It
//! also gives lower bounds of the score of any placement ([`bounds`]). [`order`](order::order) turns one of the
//! placements into steps. docs/search.md explains the search, docs/bounds.md proves the bounds.

pub(crate) mod anneal;
mod appraise;
pub(crate) mod archive;
pub(crate) mod arrangement;
pub mod bounds;
mod concede;
mod draws;
#[cfg(test)]
mod examples;
pub(crate) mod faults;
mod gather;
pub mod headway;
mod ledgers;
mod levelled;
mod mender;
pub mod merge;
pub(crate) mod neighbourhood;
pub mod order;
pub mod plan;
mod polish;
mod relabel;
pub mod remains;
pub mod repair;
pub(crate) mod schedules;
mod sift;
mod sorted;
mod surplus;
mod tag_state;
pub(crate) mod terrain;
mod ways;

use rayon::prelude::*;

pub(crate) use draws::RandomNumbers;

use self::anneal::{Limits, anneal};
use self::archive::{Archive, SeenPlacement};
use self::arrangement::{Arrangement, Shift};
use self::bounds::{MoveLine, ScoreFloor};
use self::headway::DeepWatch;
use self::relabel::Relabelling;
use self::schedules::Scale;
use self::sorted::SortedStart;
use self::terrain::Terrain;
use super::BalanceOptions;
use crate::Stopped;
use htools_model::score::{Board, Components};
use htools_model::{Cluster, Draft, Instance, InstanceIdx, Mib, NodeIdx, Placement};

/// Options of a deep search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeepOptions {
    /// Total number of changes to try (`--effort`). The same number gives the same result.
    pub effort: u64,
    /// Maximum number of instances that move (`--max-moves`).
    pub max_moves: Option<u64>,
    /// Maximum amount of data: copied disks and migrated memory (`--max-data`).
    pub max_data: Option<Mib>,
    /// Minimum gain in score for each moved instance (`--min-move-gain`). The default is a tenth of the average
    /// gain on the way to the best placement, not counting faults.
    pub move_cost: Option<f64>,
    /// Number of independent random streams. The result depends on this number, but not on the number of
    /// threads.
    pub streams: usize,
}

impl DeepOptions {
    /// The defaults for the set `nodes` (ascending). The effort grows with the number of instances: a few
    /// seconds for a small cluster, one or two minutes at most for a large one.
    pub fn of(cluster: &Cluster, nodes: &[NodeIdx]) -> DeepOptions {
        let here = |i: &&Instance| nodes.binary_search(&i.primary).is_ok();
        let instances = cluster.instances.iter().filter(here).count() as u64;
        let effort = instances.saturating_mul(400_000).clamp(200_000, 120_000_000);
        DeepOptions { effort, max_moves: None, max_data: None, move_cost: None, streams: 8 }
    }
}

/// The best known placement for its number of moved instances.
#[derive(Debug, Clone, PartialEq)]
pub struct LinePoint {
    /// Number of instances that move.
    pub moves: usize,
    /// Data to move: copied disks and migrated memory.
    pub data: Mib,
    /// The score, as [`Board`] computes it.
    pub score: f64,
    /// Lower bound of the score of any placement with this number of moved instances.
    pub bound: f64,
    /// New placements of the moved instances, in the order of the instances.
    pub placements: Vec<(InstanceIdx, Placement)>,
}

/// A limit on the data to move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DataLimit {
    /// Maximum amount of data: copied disks and migrated memory.
    pub most: Mib,
    /// Lower bound of the score of any placement within the limit.
    pub bound: f64,
}

/// Result of a deep search.
#[derive(Debug, Clone, PartialEq)]
pub struct Deep {
    /// The metrics at the start.
    pub initial: Components,
    /// The best placements, fewest moves first; the first is the start. Each has a smaller score than those
    /// before it.
    pub line: Vec<LinePoint>,
    /// Index in `line` of the placement to use: the one with the lowest score plus move costs within the
    /// limits.
    pub chosen: usize,
    /// Lower bound of the score of any placement.
    pub floor: f64,
    /// Maximum number of moved instances, if it is limited.
    pub allowed: Option<usize>,
    /// The limit on the data to move, if there is one.
    pub data_limit: Option<DataLimit>,
    /// Lower bounds by number of moved instances.
    pub bounds: MoveLine,
    /// Minimum gain in score that was required for each moved instance.
    pub move_cost: f64,
    /// Number of changes tried.
    pub evaluations: u64,
    /// Reason for an early end of the search, if there was one.
    pub stopped: Option<Stopped>,
}

impl Deep {
    /// The chosen placement.
    pub fn best(&self) -> &LinePoint {
        &self.line[self.chosen]
    }

    /// Lower bound of the score of any placement within the limits on moved instances and on data.
    pub fn bound(&self) -> f64 {
        let of_moves = self.allowed.map_or(self.floor, |most| self.bounds.after(most));
        self.data_limit.map_or(of_moves, |limit| limit.bound.max(of_moves))
    }

    /// Score of a point of the line plus the cost of its moves; less is better.
    pub(crate) fn worth(&self, at: usize) -> f64 {
        self.line[at].score + self.move_cost * self.line[at].moves as f64
    }

    /// Returns true if no placement can have a better score, within the precision of doubles.
    pub fn is_optimal(&self, score: f64) -> bool {
        score - self.floor <= 1e-9 * score.abs().max(1e-3)
    }

    /// Gain of a point of the line, as a share of the largest gain on the line.
    pub fn share(&self, point: &LinePoint) -> f64 {
        let (first, last) = (self.initial.score(), self.line.last().map_or(0.0, |last| last.score));
        if first > last { (first - point.score) / (first - last) } else { 1.0 }
    }
}

/// Searches for the best placements of the set `nodes` (ascending) and reports its progress to `watch`.
pub fn search(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    deep: &DeepOptions,
    watch: DeepWatch<'_>,
) -> Deep {
    // a thread outside the pool would wait for one of the pool to wake up with each of the many short loops
    rayon::scope(|_| search_within_pool(cluster, nodes, options, deep, watch))
}

fn search_within_pool(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    deep: &DeepOptions,
    watch: DeepWatch<'_>,
) -> Deep {
    let DeepWatch { deadline, headway } = watch;
    let initial = Board::new(cluster, nodes).components();
    let terrain = Terrain::of(cluster, nodes, options);
    let home = Arrangement::of(&terrain);
    let limits = Limits {
        moves: deep.max_moves.map_or(i64::MAX, |most| i64::try_from(most).unwrap_or(i64::MAX)),
        data: deep.max_data.map_or(i64::MAX, |most| most.0),
        data_of_a_move: terrain.data_of_a_move(),
    };
    let mut archive = Archive::default();
    archive.offer(&home);
    let sane = home.now().score.is_finite() && !terrain.online.is_empty() && !terrain.mobiles.is_empty();
    let prepared = if sane { ScoreFloor::of(&terrain) } else { None };
    let mut floor =
        prepared.as_ref().map_or(f64::NEG_INFINITY, |prepared| prepared.bound(f64::INFINITY, deadline));
    let allowed = usize::try_from(limits.moves).ok().filter(|most| *most < terrain.mobiles.len());
    let limited = allowed.filter(|_| sane).map(|most| {
        let mut line = bounds::line(&terrain, floor, most, deadline);
        if let Some(prepared) = &prepared {
            prepared.tighten(&terrain, &mut line, (most, None), deadline);
        }
        line
    });
    let data_limit = deep
        .max_data
        .filter(|_| sane)
        .map(|most| DataLimit { most, bound: bounds::within_data(&terrain, floor, most.0, deadline) });
    let deviations = home.deviations();
    let mut evaluations = 0;
    let of_moves = limited.as_ref().zip(allowed).map_or(floor, |(line, most)| line.after(most));
    headway.begin(deep.effort, data_limit.map_or(of_moves, |limit| limit.bound.max(of_moves)));
    if sane && limits.moves > 0 {
        let scale = Scale::of(&mut home.clone());
        evaluations = rounds(&home, deep, &scale, deviations, &limits, &mut archive, watch);
    }
    let mut line = line(&home, nodes, &archive);
    if line.is_empty() {
        // If the score is not a number, no placement is better than another.
        let score = initial.score();
        let bound = f64::NEG_INFINITY;
        line.push(LinePoint { moves: 0, data: Mib::ZERO, score, bound, placements: Vec::new() });
    }
    let move_cost = move_cost(deep, deviations, &archive);
    let most = line.last().map_or(0, |last| last.moves);
    let mut bounds = match limited {
        Some(line) => line,
        None if sane => bounds::line(&terrain, floor, most, deadline),
        None => MoveLine::unknown(),
    };
    let best = line.iter().map(|point| point.score).fold(f64::INFINITY, f64::min);
    if let Some(prepared) = prepared.filter(|_| floor < best && deadline.reached().is_none()) {
        if let Some(most) = allowed {
            prepared.tighten(&terrain, &mut bounds, (most, Some(best)), deadline);
        }
        floor = floor.max(prepared.bound(best, deadline));
        bounds.raise(floor);
    }
    for point in &mut line {
        // If a bound is above the score that was found, that is a rounding error.
        point.bound = bounds.after(point.moves).min(point.score);
    }
    let stopped = deadline.reached();
    let mut found = Deep {
        initial,
        line,
        chosen: 0,
        floor,
        allowed,
        data_limit,
        bounds,
        move_cost,
        evaluations,
        stopped,
    };
    let worth = |at: &usize| found.worth(*at);
    found.chosen = (0..found.line.len()).min_by(|a, b| worth(a).total_cmp(&worth(b))).unwrap_or_default();
    found
}

/// Default move cost, as a share of the average gain of a moved instance.
const LEAST_SHARE: f64 = 0.1;

/// Share of the effort for the first round, without and with limits.
const FIRST_ROUND: f64 = 0.5;
const FIRST_WITH_LIMITS: f64 = 0.2;

/// Runs both rounds. Returns the number of changes tried.
fn rounds(
    home: &Arrangement<'_>,
    deep: &DeepOptions,
    scale: &Scale,
    deviations: f64,
    limits: &Limits,
    archive: &mut Archive,
    watch: DeepWatch<'_>,
) -> u64 {
    let share = if limits.is_any() { FIRST_WITH_LIMITS } else { FIRST_ROUND };
    let first = (deep.effort as f64 * share) as u64;
    let runs = schedules::first_round(deep.streams, first, scale);
    let mut tried = run_all(home, &runs, limits, archive, None, watch);
    let move_cost = move_cost(deep, deviations, archive);
    let target = archive.front().filter(|r| limits.moves >= r.appraisal.moved).min_by(|a, b| {
        let worth = |r: &SeenPlacement| r.appraisal.score + move_cost * r.appraisal.moved as f64;
        worth(a).total_cmp(&worth(b))
    });
    let Some(target) = target.cloned() else { return tried };
    let fits = archive.slope(target.appraisal.moved).max(move_cost).clamp(scale.unit * 0.01, scale.dear);
    let relabelling = Relabelling::of(home);
    let sorted = SortedStart::of(home, deep, limits, relabelling.as_ref(), watch);
    let second = deep.effort - first;
    // What a promising start takes is for the most part saved here.
    let second = if sorted.as_ref().is_some_and(|start| start.is_promising) { second / 2 } else { second };
    let runs = schedules::second_round(deep.streams, second, scale, fits, limits);
    tried += run_all(home, &runs, limits, archive, Some(&target.shifts), watch);
    if let Some(sorted) = sorted {
        tried += sorted.search(home, scale, archive, watch);
    }
    if let Some(relabelling) = &relabelling {
        relabelling.shorten_records(home, limits, archive, watch.deadline);
    }
    if limits.data == i64::MAX {
        polish::single_moves(&mut home.clone(), archive);
    }
    polish::home_again(home, archive);
    tried
}

/// The minimum gain of a moved instance: the option, or a share of the average gain.
fn move_cost(deep: &DeepOptions, deviations: f64, archive: &Archive) -> f64 {
    let average = archive.front().last().map_or(0.0, |last| {
        (deviations - last.appraisal.score).max(0.0) / last.appraisal.moved.max(1) as f64
    });
    deep.move_cost.unwrap_or(LEAST_SHARE * average)
}

/// Runs some schedules, as many at a time as there are threads, and joins what they find.
fn run_all(
    home: &Arrangement<'_>,
    runs: &[anneal::Schedule],
    limits: &Limits,
    archive: &mut Archive,
    from: Option<&[Shift]>,
    watch: DeepWatch<'_>,
) -> u64 {
    let mut sum = 0;
    for (tried, own) in run_each(home, runs, limits, from, watch) {
        sum += tried;
        archive.join(own);
    }
    sum
}

/// Runs some schedules, as many at a time as there are threads. Returns what each found, with the number of changes
/// that it tried.
fn run_each(
    home: &Arrangement<'_>,
    runs: &[anneal::Schedule],
    limits: &Limits,
    from: Option<&[Shift]>,
    watch: DeepWatch<'_>,
) -> Vec<(u64, Archive)> {
    let one = |schedule: &anneal::Schedule| {
        let start = from.filter(|_| schedule.from_best).and_then(|shifts| home.clone().with(shifts));
        let mut at = start.unwrap_or_else(|| home.clone());
        let mut own = Archive::default();
        let tried = anneal(&mut at, schedule, limits, None, &mut own, watch);
        (tried, own)
    };
    runs.par_iter().map(one).collect()
}

/// The records as placements with their exact scores.
fn line(home: &Arrangement<'_>, nodes: &[NodeIdx], archive: &Archive) -> Vec<LinePoint> {
    let terrain = home.terrain;
    let mut line: Vec<LinePoint> = Vec::new();
    let records: Vec<&SeenPlacement> = archive.front().collect();
    let scores: Vec<f64> = records.par_iter().map(|record| exact_score(home, nodes, record)).collect();
    for (record, score) in records.into_iter().zip(scores) {
        // An error in a sum of squares is large for a small deviation, and it is multiplied with the weight.
        let size = terrain.lanes.weight.iter().fold(score.abs().max(1.0), |most, weight| most.max(*weight));
        // Unknown numbers of spindles depend on the order in which a state was reached.
        debug_assert!(
            !score.is_finite()
                || terrain.unknown_spindles
                || (score - record.appraisal.score).abs() <= 1e-7 * size,
            "carried along: {}, computed: {score}",
            record.appraisal.score,
        );
        if line.last().is_some_and(|last| !(score < last.score)) {
            continue;
        }
        let placements = placements(terrain, &record.shifts);
        let data = Mib(record.appraisal.data);
        line.push(LinePoint { moves: placements.len(), data, score, bound: f64::NEG_INFINITY, placements });
    }
    line
}

/// The placements of some moved mobiles, in the order of the instances.
fn placements(terrain: &Terrain<'_>, shifts: &[Shift]) -> Vec<(InstanceIdx, Placement)> {
    let placement =
        |s: &Shift| (terrain.mobiles[s.mobile as usize].instance, terrain.placement(s.mobile, s.to));
    let mut placements: Vec<(InstanceIdx, Placement)> = shifts.iter().map(placement).collect();
    placements.sort_unstable_by_key(|(instance, _)| *instance);
    placements
}

/// The score of a record, as [`Board`] computes it.
fn exact_score(home: &Arrangement<'_>, nodes: &[NodeIdx], record: &SeenPlacement) -> f64 {
    let Some(at) = home.clone().with(&record.shifts) else { return f64::INFINITY };
    Board::new(&as_draft(home.terrain, &at), nodes).score()
}

/// A draft of the cluster in the state of an arrangement.
fn as_draft(terrain: &Terrain<'_>, at: &Arrangement<'_>) -> Draft {
    let mut draft = Draft::of(terrain.cluster);
    let ledgers = |seat: terrain::Seat| {
        let slots = [seat.primary, seat.secondary].into_iter().filter(|slot| *slot != terrain::NOWHERE);
        slots.map(|slot| (terrain.nodes[slot as usize], *at.ledgers.ledger(slot))).collect::<Vec<_>>()
    };
    for mobile in &at.moved {
        let (details, seat) = (&terrain.mobiles[*mobile as usize], at.seats[*mobile as usize]);
        let all = [ledgers(details.home), ledgers(seat)].concat();
        let location = tag_state::location_score(terrain, *mobile, seat);
        draft.relocate(details.instance, terrain.placement(*mobile, seat), location, &all);
    }
    draft
}
