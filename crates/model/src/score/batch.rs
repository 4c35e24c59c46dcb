//! Exact scores of many changed states at once.
//!
//! The order of additions within a lane is prescribed, so a single state makes the processor wait for one addition
//! after another. Many states, though, can be summed side by side in vector registers. For each state, only lanes that
//! differ from the present state are summed, and only one of several lanes with bit-identical values. If there are many
//! states, they follow the partial sums of the present state (`PartialSums`). For sums of squares this requires the same
//! mean.

use std::sync::OnceLock;

use multiversion::multiversion;
use smallvec::SmallVec;

use super::board::{Board, ReplacedRows, Touched, weighted};
use super::metrics::{Counted, LANES, Lanes, lanes};
use super::trail::PartialSums;
use crate::Move;

/// A state in which some nodes (at most three) differ from the board.
#[derive(Debug, Clone, Copy)]
pub struct ChangedState<'a> {
    /// The nodes that differ.
    pub touched: &'a [Touched<'a>],
    /// Change of the spread's surplus.
    pub spread_change: i64,
}

/// With fewer states than this, each is computed by itself.
const FEWEST: usize = 5;

/// Number of states that are summed side by side.
const ABREAST: usize = 32;

/// With fewer states than this, building a trail does not pay.
const FEWEST_ON_TRAIL: usize = 3 * ABREAST;

/// The same for the squares, which need a trail for every mean.
const FEWEST_OF_MEAN: usize = 4;

/// Sum and deviation of one lane in one state.
type LaneMoments = (f64, f64);

/// One lane of one state to sum: the rows that differ.
pub(super) struct LaneJob {
    state: usize,
    /// In ascending order of rows.
    pub(super) replaced: SmallVec<[(usize, f64); 4]>,
}

impl LaneJob {
    /// Sum of the lane; `column` has its values and `trail` its partial sums.
    pub(super) fn sum(&self, trail: &PartialSums, column: &[f64]) -> f64 {
        trail.sum_with(|row| column[row], &self.replaced)
    }
}

/// A changed state without the rows of its nodes: everything its score depends on, except the rows of the changed
/// nodes. States of one pattern differ by rounding only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The nodes with values that change, ascending.
    nodes: SmallVec<[Replacement; 3]>,
    counted: Counted,
    spread_change: i64,
}

/// The bits of a node's values before and after; 0 in lanes that do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
struct Replacement {
    now: [u64; LANES],
    after: [u64; LANES],
}

impl Replacement {
    fn of(now: &Lanes, after: &Lanes) -> Replacement {
        let mut replacement = Replacement::default();
        for lane in 0..LANES {
            let (now, after) = (now[lane].to_bits(), after[lane].to_bits());
            if now != after {
                (replacement.now[lane], replacement.after[lane]) = (now, after);
            }
        }
        replacement
    }

    /// The node's values after the change.
    fn replace(&self, values: &Lanes) -> Lanes {
        let mut after = *values;
        for lane in 0..LANES {
            if self.now[lane] != self.after[lane] {
                after[lane] = f64::from_bits(self.after[lane]);
            }
        }
        after
    }
}

/// For each node that a state touches, its position in the pattern.
pub type PatternPlaces = [u8; Move::MOST_NODES];

/// Rows of the changed nodes of a pattern, in the order of the pattern. Offline nodes have no row.
#[derive(Debug, Clone, Copy)]
pub struct Spot {
    /// Index of the pattern.
    pub pattern: u32,
    /// The rows; unused entries are [`Spot::NO_ROW`].
    pub rows: [u32; Move::MOST_NODES],
}

impl Spot {
    /// Marks an unused entry.
    pub const NO_ROW: u32 = u32::MAX;
}

/// A board with the intermediate results that many changed states share.
pub struct Scorer<'b> {
    board: &'b Board,
    /// Sums and deviations of all lanes of the present state, once needed.
    moments: OnceLock<(Lanes, Lanes)>,
    /// Partial sums of each lane, once needed.
    trails: [OnceLock<PartialSums>; LANES],
}

impl<'b> Scorer<'b> {
    /// Prepares to score changed states of a board.
    pub fn of(board: &'b Board) -> Scorer<'b> {
        Scorer { board, moments: OnceLock::new(), trails: Default::default() }
    }

    /// The scores of many states, bit for bit the same as [`Board::score_with`] for each of them.
    pub fn scores(&self, states: &[ChangedState<'_>]) -> Vec<f64> {
        let board = self.board;
        if states.len() < FEWEST || board.rows().is_empty() {
            return states.iter().map(|s| board.score_with(s.touched, s.spread_change)).collect();
        }
        let replaced: Vec<ReplacedRows> = states.iter().map(|s| board.replaced(s.touched)).collect();
        self.scores_of(&replaced, |at| (board.counted_with(states[at].touched), states[at].spread_change))
    }

    /// The scores of patterns in many places.
    pub fn scores_at(&self, patterns: &[Pattern], spots: &[Spot]) -> Vec<f64> {
        let pattern = |at: usize| &patterns[spots[at].pattern as usize];
        self.scores_of(&self.replaced_at(patterns, spots), |at| {
            (pattern(at).counted, pattern(at).spread_change)
        })
    }

    /// The scores of states with these values; `rest` gives the counts and the change of the surplus of each.
    fn scores_of(&self, replaced: &[ReplacedRows], rest: impl Fn(usize) -> (Counted, i64)) -> Vec<f64> {
        let board = self.board;
        let (sums, deviations) = self.moments.get_or_init(|| board.moments());
        // The result for each lane of each state starts as the present one, which stays where nothing changes.
        let mut moments: Vec<[LaneMoments; LANES]> =
            vec![std::array::from_fn(|k| (sums[k], deviations[k])); replaced.len()];
        for lane in 0..LANES {
            let jobs = self.jobs(replaced, lane);
            self.work_out(lane, &jobs, |state, result| moments[state][lane] = result);
        }
        let score = |at: usize| {
            let lane = |lane: usize| moments[at][board.same_as(&replaced[at], lane)];
            let (counted, spread_change) = rest(at);
            weighted(board.weights(), &board.values_of(counted, spread_change, lane))
        };
        (0..replaced.len()).map(score).collect()
    }

    /// Rows that patterns in many places replace.
    pub fn replaced_at(&self, patterns: &[Pattern], spots: &[Spot]) -> Vec<ReplacedRows> {
        let replaced = |spot: &Spot| {
            let pattern = &patterns[spot.pattern as usize];
            let rows = spot.rows.iter().zip(&pattern.nodes);
            let rows =
                rows.map(|(row, node)| (*row as usize, node.replace(&self.board.rows()[*row as usize])));
            let mut rows: ReplacedRows = rows.collect();
            rows.sort_unstable_by_key(|row| row.0);
            rows
        };
        spots.iter().map(replaced).collect()
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.board.rows().len()
    }

    /// The values of a lane.
    pub(super) fn column(&self, lane: usize) -> &[f64] {
        self.board.column(lane)
    }

    /// The partial sums of a lane.
    pub(super) fn trail(&self, lane: usize) -> &PartialSums {
        self.trails[lane].get_or_init(|| PartialSums::of(self.column(lane).iter().copied()))
    }

    /// Jobs of one lane for some states.
    pub(super) fn jobs(&self, replaced: &[ReplacedRows], lane: usize) -> Vec<LaneJob> {
        let jobs = replaced.iter().enumerate();
        jobs.filter_map(|(state, replaced)| self.board.job(state, replaced, lane)).collect()
    }

    /// Sums one lane for all jobs.
    fn work_out(&self, lane: usize, jobs: &[LaneJob], mut enter: impl FnMut(usize, LaneMoments)) {
        let column = self.column(lane);
        let mut work_out_abreast = |jobs: &mut dyn Iterator<Item = &LaneJob>| {
            let jobs: Vec<&LaneJob> = jobs.collect();
            for jobs in jobs.chunks(ABREAST) {
                let results = abreast(column, jobs);
                jobs.iter().zip(results).for_each(|(job, result)| enter(job.state, result));
            }
        };
        if jobs.len() < FEWEST_ON_TRAIL {
            return work_out_abreast(&mut jobs.iter());
        }
        let trail = self.trail(lane);
        let bits = |(at, job): (usize, &LaneJob)| (job.sum(trail, column).to_bits(), at);
        let mut sums: Vec<(u64, usize)> = jobs.iter().enumerate().map(bits).collect();
        sums.sort_unstable();
        let (often, seldom): (Vec<_>, Vec<_>) =
            sums.chunk_by(|a, b| a.0 == b.0).partition(|same| same.len() >= FEWEST_OF_MEAN);
        work_out_abreast(&mut seldom.into_iter().flatten().map(|(_, at)| &jobs[*at]));
        for same in often {
            let sum = f64::from_bits(same[0].0);
            let deviations = deviations(column, sum, same.iter().map(|(_, at)| &jobs[*at]));
            same.iter().zip(deviations).for_each(|((_, at), sd)| enter(jobs[*at].state, (sum, sd)));
        }
    }
}

/// Deviations of a column for jobs that have the same sum.
fn deviations<'j>(
    column: &[f64],
    sum: f64,
    jobs: impl Iterator<Item = &'j LaneJob>,
) -> impl Iterator<Item = f64> {
    let n = column.len() as f64;
    let mean = sum / n;
    let square = move |value: f64| (value - mean) * (value - mean);
    let trail = PartialSums::of(column.iter().map(|value| square(*value)));
    jobs.map(move |job| {
        let replaced: SmallVec<[(usize, f64); 4]> =
            job.replaced.iter().map(|(row, value)| (*row, square(*value))).collect();
        let squares = trail.sum_with(|row| square(column[row]), &replaced);
        (squares / n).sqrt()
    })
}

impl Board {
    /// The lane that has the same results in a state: an earlier lane if all values are equal, or else the lane itself.
    fn same_as(&self, replaced: &[(usize, Lanes)], lane: usize) -> usize {
        let twin = self.twin(lane);
        let equal = replaced.iter().all(|(_, values)| values[twin].to_bits() == values[lane].to_bits());
        if equal { twin } else { lane }
    }

    /// Job for one lane of a state; `None` if the lane does not change or equals an earlier one.
    fn job(&self, state: usize, replaced: &[(usize, Lanes)], lane: usize) -> Option<LaneJob> {
        let column = self.column(lane);
        let differs = |(row, values): &&(usize, Lanes)| values[lane].to_bits() != column[*row].to_bits();
        let changes = replaced.iter().filter(differs).map(|(row, values)| (*row, values[lane]));
        let job = LaneJob { state, replaced: changes.collect() };
        // The twin is checked last, since most lanes do not change.
        (!job.replaced.is_empty() && self.same_as(replaced, lane) == lane).then_some(job)
    }

    /// A state without the rows of its nodes, and the position of each node in it.
    pub fn pattern(&self, state: &ChangedState<'_>) -> (Pattern, PatternPlaces) {
        let mut found: SmallVec<[(Replacement, u8); 4]> = SmallVec::new();
        for (at, t) in state.touched.iter().enumerate() {
            let Some(row) = self.row(t.spec.idx) else { continue };
            let replacement = Replacement::of(&self.rows()[row], &lanes(t.spec, &t.after));
            if replacement != Replacement::default() {
                found.push((replacement, at as u8));
            }
        }
        found.sort_unstable();
        let mut places = [u8::MAX; Move::MOST_NODES];
        places.iter_mut().zip(&found).for_each(|(place, (_, at))| *place = *at);
        let pattern = Pattern {
            nodes: found.into_iter().map(|(replacement, _)| replacement).collect(),
            counted: self.counted_with(state.touched),
            spread_change: state.spread_change,
        };
        (pattern, places)
    }
}

/// Sums one lane for up to [`ABREAST`] states.
fn abreast(column: &[f64], jobs: &[&LaneJob]) -> [LaneMoments; ABREAST] {
    let mut changes: Vec<(usize, usize, f64)> = Vec::with_capacity(3 * jobs.len());
    for (at, job) in jobs.iter().enumerate() {
        changes.extend(job.replaced.iter().map(|(row, value)| (*row, at, *value)));
    }
    changes.sort_unstable_by_key(|c| (c.0, c.1));
    two_passes(column, &changes)
}

/// Sum and deviation of a column in [`ABREAST`] versions. `changes` lists by row the version and its other value.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn two_passes(column: &[f64], changes: &[(usize, usize, f64)]) -> [LaneMoments; ABREAST] {
    let n = column.len() as f64;
    let mut sums = [0.0; ABREAST];
    let mut from = 0;
    for same_row in changes.chunk_by(|a, b| a.0 == b.0) {
        let row = same_row[0].0;
        add(&mut sums, &column[from..row]);
        let values = versions(column[row], same_row);
        for k in 0..ABREAST {
            sums[k] += values[k];
        }
        from = row + 1;
    }
    add(&mut sums, &column[from..]);

    let mut means = [0.0; ABREAST];
    for k in 0..ABREAST {
        means[k] = sums[k] / n;
    }
    let mut squares = [0.0; ABREAST];
    from = 0;
    for same_row in changes.chunk_by(|a, b| a.0 == b.0) {
        let row = same_row[0].0;
        add_squares(&mut squares, &means, &column[from..row]);
        let values = versions(column[row], same_row);
        for k in 0..ABREAST {
            let d = values[k] - means[k];
            squares[k] += d * d;
        }
        from = row + 1;
    }
    add_squares(&mut squares, &means, &column[from..]);
    let mut moments = [(0.0, 0.0); ABREAST];
    for k in 0..ABREAST {
        moments[k] = (sums[k], (squares[k] / n).sqrt());
    }
    moments
}

/// The versions of one row's value.
#[inline(always)]
fn versions(value: f64, changes: &[(usize, usize, f64)]) -> [f64; ABREAST] {
    let mut values = [value; ABREAST];
    for (_, version, other) in changes {
        values[*version] = *other;
    }
    values
}

#[inline(always)]
fn add(sums: &mut [f64; ABREAST], values: &[f64]) {
    let mut total = *sums;
    for value in values {
        for sum in &mut total {
            *sum += value;
        }
    }
    *sums = total;
}

#[inline(always)]
fn add_squares(squares: &mut [f64; ABREAST], means: &[f64; ABREAST], values: &[f64]) {
    let mut total = *squares;
    for value in values {
        for k in 0..ABREAST {
            let d = value - means[k];
            total[k] += d * d;
        }
    }
    *squares = total;
}
