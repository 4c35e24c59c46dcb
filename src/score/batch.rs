//! Exact scores of many changed states at once.
//!
//! The order in which a lane is summed up is prescribed, so one state keeps a
//! processor waiting for one addition after the other. Many states can be summed
//! up side by side, though, in the registers' lanes; and of each state only those
//! lanes of the score that differ from the present one, and only one of several
//! lanes whose values are equal bit for bit.

use multiversion::multiversion;

use super::board::{Board, Touched, weighted};
use super::metrics::{LANES, Lanes, lanes};

/// A state in which some nodes (at most three) differ from the board.
#[derive(Debug, Clone, Copy)]
pub struct Changed<'a> {
    /// The nodes that differ.
    pub touched: &'a [Touched<'a>],
    /// By how much the spread's surplus differs.
    pub spread_change: i64,
}

/// Fewer states than this are worked out one by one.
const FEWEST: usize = 5;

/// States that are summed up side by side.
const ABREAST: usize = 32;

/// Sum and deviation of one lane in one state.
type Moments = (f64, f64);

/// One lane of one state: what differs, by row, and where the result goes.
struct Job {
    state: usize,
    /// In ascending order of rows; only the first `count`.
    replaced: [(usize, f64); 3],
    count: usize,
}

/// A board with what many changed states have in common.
pub struct Scorer<'b> {
    board: &'b Board,
    /// Sums and deviations of all lanes as they are.
    moments: (Lanes, Lanes),
}

impl<'b> Scorer<'b> {
    /// Prepares to score changed states of a board.
    pub fn of(board: &'b Board) -> Scorer<'b> {
        Scorer { board, moments: board.moments() }
    }

    /// The scores of many states: the same as [`Board::score_with`] gives for each of
    /// them, bit for bit.
    pub fn scores(&self, states: &[Changed<'_>]) -> Vec<f64> {
        let board = self.board;
        if states.len() < FEWEST || board.rows().is_empty() {
            return states.iter().map(|s| board.score_with(s.touched, s.spread_change)).collect();
        }
        let (sums, deviations) = &self.moments;
        let replaced: Vec<Vec<(usize, Lanes)>> = states.iter().map(|s| board.replaced(s.touched)).collect();
        // the result of each lane of each state; the present one where nothing changes
        let mut moments: Vec<[Moments; LANES]> =
            vec![std::array::from_fn(|k| (sums[k], deviations[k])); states.len()];
        for lane in 0..LANES {
            let jobs: Vec<Job> = replaced
                .iter()
                .enumerate()
                .filter_map(|(state, replaced)| board.job(state, replaced, lane))
                .collect();
            for jobs in jobs.chunks(ABREAST) {
                let results = abreast(board.column(lane), jobs);
                for (job, result) in jobs.iter().zip(results) {
                    moments[job.state][lane] = result;
                }
            }
        }
        let score = |at: usize| {
            let lane = |lane: usize| moments[at][board.same_as(&replaced[at], lane)];
            weighted(&board.values_of(states[at].touched, states[at].spread_change, lane))
        };
        (0..states.len()).map(score).collect()
    }
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
    fn job(&self, state: usize, replaced: &[(usize, Lanes)], lane: usize) -> Option<Job> {
        let column = self.column(lane);
        let changes = replaced.iter().any(|(row, values)| values[lane].to_bits() != column[*row].to_bits());
        if !changes || self.same_as(replaced, lane) != lane {
            return None;
        }
        let mut job = Job { state, replaced: [(usize::MAX, 0.0); 3], count: replaced.len() };
        for (to, (row, values)) in job.replaced.iter_mut().zip(replaced) {
            *to = (*row, values[lane]);
        }
        Some(job)
    }

    /// The rows that touched nodes replace, in ascending order.
    fn replaced(&self, touched: &[Touched<'_>]) -> Vec<(usize, Lanes)> {
        let rows = touched.iter().filter_map(|t| Some((self.row(t.spec.idx)?, lanes(t.spec, &t.after))));
        let mut rows: Vec<(usize, Lanes)> = rows.collect();
        rows.sort_unstable_by_key(|r| r.0);
        rows
    }
}

/// Sums one lane up for up to [`ABREAST`] states.
fn abreast(column: &[f64], jobs: &[Job]) -> [Moments; ABREAST] {
    let mut changes: Vec<(usize, usize, f64)> = Vec::with_capacity(3 * jobs.len());
    for (at, job) in jobs.iter().enumerate() {
        changes.extend(job.replaced[..job.count].iter().map(|(row, value)| (*row, at, *value)));
    }
    changes.sort_unstable_by_key(|c| (c.0, c.1));
    two_passes(column, &changes)
}

/// Sum and deviation of a column, in [`ABREAST`] versions: `changes` says, by row,
/// in which version a row has another value.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn two_passes(column: &[f64], changes: &[(usize, usize, f64)]) -> [Moments; ABREAST] {
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
