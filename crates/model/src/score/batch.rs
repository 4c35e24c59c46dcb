//! Exact scores of many changed states at once.
//!
//! The order in which a lane is summed up is prescribed, so one state keeps a
//! processor waiting for one addition after the other. Many states can be summed
//! up side by side, though, in the registers' lanes; and of each state only those
//! lanes of the score that differ from the present one, and only one of several
//! lanes whose values are equal bit for bit. Where there are more, they follow the
//! sums of the present state (`Trail`); those of the squares have to have the same
//! mean for that.

use std::sync::OnceLock;

use multiversion::multiversion;
use smallvec::SmallVec;

use super::board::{Board, ReplacedRows, Touched, weighted};
use super::metrics::{Counted, LANES, Lanes, lanes};
use super::trail::Trail;
use crate::Move;

/// A state in which some nodes (at most three) differ from the board.
#[derive(Debug, Clone, Copy)]
pub struct ChangedState<'a> {
    /// The nodes that differ.
    pub touched: &'a [Touched<'a>],
    /// By how much the spread's surplus differs.
    pub spread_change: i64,
}

/// Fewer states than this are worked out one by one.
const FEWEST: usize = 5;

/// States that are summed up side by side.
const ABREAST: usize = 32;

/// For fewer states than this a trail is not worth its making.
const FEWEST_ON_TRAIL: usize = 3 * ABREAST;

/// The same for the squares, where a trail is made for every mean.
const FEWEST_OF_MEAN: usize = 4;

/// Sum and deviation of one lane in one state.
type LaneMoments = (f64, f64);

/// One lane of one state: what differs, by row, and where the result goes.
pub(super) struct LaneJob {
    state: usize,
    /// In ascending order of rows.
    pub(super) replaced: SmallVec<[(usize, f64); 4]>,
}

impl LaneJob {
    /// The sum of the lane, whose column and trail are given.
    pub(super) fn sum(&self, trail: &Trail, column: &[f64]) -> f64 {
        trail.sum_with(|row| column[row], &self.replaced)
    }
}

/// A changed state without the places of its nodes: all that its score depends on, but for the
/// rows in which the changed nodes stand. States of one pattern differ by rounding only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The nodes with values that change, ascending.
    nodes: SmallVec<[Replacement; 3]>,
    counted: Counted,
    spread_change: i64,
}

/// The bits of a node's values now and afterwards; 0 in lanes that do not change.
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

    /// A node's values afterwards.
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

/// Which of the nodes that a state touches stands where in its pattern.
pub type PatternPlaces = [u8; Move::MOST_NODES];

/// Where the changed nodes of a pattern stand: the rows of those that have one, in the order
/// in which the pattern has them.
#[derive(Debug, Clone, Copy)]
pub struct Spot {
    /// Which pattern.
    pub pattern: u32,
    /// The rows; what is left over is [`Spot::NO_ROW`].
    pub rows: [u32; Move::MOST_NODES],
}

impl Spot {
    /// Where no node stands.
    pub const NO_ROW: u32 = u32::MAX;
}

/// A board with what many changed states have in common.
pub struct Scorer<'b> {
    board: &'b Board,
    /// Sums and deviations of all lanes as they are, if they were needed.
    moments: OnceLock<(Lanes, Lanes)>,
    /// The sums of each lane, as far as they were needed.
    trails: [OnceLock<Trail>; LANES],
}

impl<'b> Scorer<'b> {
    /// Prepares to score changed states of a board.
    pub fn of(board: &'b Board) -> Scorer<'b> {
        Scorer { board, moments: OnceLock::new(), trails: Default::default() }
    }

    /// The scores of many states: the same as [`Board::score_with`] gives for each of
    /// them, bit for bit.
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

    /// The scores of states with these values. `rest` says what they count.
    fn scores_of(&self, replaced: &[ReplacedRows], rest: impl Fn(usize) -> (Counted, i64)) -> Vec<f64> {
        let board = self.board;
        let (sums, deviations) = self.moments.get_or_init(|| board.moments());
        // the result of each lane of each state; the present one where nothing changes
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

    /// What patterns in many places replace.
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

    /// The sums of a lane.
    pub(super) fn trail(&self, lane: usize) -> &Trail {
        self.trails[lane].get_or_init(|| Trail::of(self.column(lane).iter().copied()))
    }

    /// What has to be done for a lane of some states.
    pub(super) fn jobs(&self, replaced: &[ReplacedRows], lane: usize) -> Vec<LaneJob> {
        let jobs = replaced.iter().enumerate();
        jobs.filter_map(|(state, replaced)| self.board.job(state, replaced, lane)).collect()
    }

    /// Sums up one lane for all jobs.
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

/// The deviations of a column for jobs that have the same sum.
fn deviations<'j>(
    column: &[f64],
    sum: f64,
    jobs: impl Iterator<Item = &'j LaneJob>,
) -> impl Iterator<Item = f64> {
    let n = column.len() as f64;
    let mean = sum / n;
    let square = move |value: f64| (value - mean) * (value - mean);
    let trail = Trail::of(column.iter().map(|value| square(*value)));
    jobs.map(move |job| {
        let replaced: SmallVec<[(usize, f64); 4]> =
            job.replaced.iter().map(|(row, value)| (*row, square(*value))).collect();
        let squares = trail.sum_with(|row| square(column[row]), &replaced);
        (squares / n).sqrt()
    })
}

impl Board {
    /// The lane whose results are those of this one in a state: an earlier one if
    /// all values are equal.
    fn same_as(&self, replaced: &[(usize, Lanes)], lane: usize) -> usize {
        let twin = self.twin(lane);
        let equal = replaced.iter().all(|(_, values)| values[twin].to_bits() == values[lane].to_bits());
        if equal { twin } else { lane }
    }

    /// What has to be done for a lane of a state: nothing if the lane does not
    /// change or is the same as another.
    fn job(&self, state: usize, replaced: &[(usize, Lanes)], lane: usize) -> Option<LaneJob> {
        let column = self.column(lane);
        let differs = |(row, values): &&(usize, Lanes)| values[lane].to_bits() != column[*row].to_bits();
        let changes = replaced.iter().filter(differs).map(|(row, values)| (*row, values[lane]));
        let job = LaneJob { state, replaced: changes.collect() };
        // the other lane is asked last, since most lanes do not change
        (!job.replaced.is_empty() && self.same_as(replaced, lane) == lane).then_some(job)
    }

    /// A state without the places of its nodes, and which of these stands where in it.
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

/// Sums one lane up for up to [`ABREAST`] states.
fn abreast(column: &[f64], jobs: &[&LaneJob]) -> [LaneMoments; ABREAST] {
    let mut changes: Vec<(usize, usize, f64)> = Vec::with_capacity(3 * jobs.len());
    for (at, job) in jobs.iter().enumerate() {
        changes.extend(job.replaced.iter().map(|(row, value)| (*row, at, *value)));
    }
    changes.sort_unstable_by_key(|c| (c.0, c.1));
    two_passes(column, &changes)
}

/// Sum and deviation of a column, in [`ABREAST`] versions: `changes` says, by row,
/// in which version a row has another value.
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
