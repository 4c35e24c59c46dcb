//! Exact scores of an instance on each node of a kind.
//!
//! These scores differ only in their last bits. The score is summed up in the order of the nodes, so rounding
//! depends on the position of the changed node.

use std::iter::Peekable;

use super::floor::Floor;
use super::kinds::KindIdx;
use super::offers::NodeWithInstance;
use super::rows::FewKinds;
use crate::parallel::note;
use htools_model::Weights;
use htools_model::score::exact_sums;
use htools_model::score::exact_sums::{MOST_VALUES, Piece, Run};
use htools_model::score::metrics::{Aggregate, LANES, Lanes, METRICS, TABLE};

/// A range of rows on which the instance gives the same score. Rows of other kinds may lie in between.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoredRows {
    /// The first row.
    pub from: usize,
    /// The row after the last one.
    pub to: usize,
    pub score: f64,
}

/// Sum and deviation of a lane for a range of rows.
#[derive(Debug, Clone, Copy)]
struct RowMoments {
    from: usize,
    to: usize,
    sum: f64,
    deviation: f64,
}

/// The scores with an instance on the nodes of `kind`, in order of the rows, if the surplus of the spread is
/// `surplus`.
pub(crate) fn by_row(
    floor: &Floor<'_>,
    kind: KindIdx,
    arrived: &NodeWithInstance,
    surplus: i64,
) -> Vec<ScoredRows> {
    note(LANES);
    let twins = twins(floor, &arrived.lanes);
    let mut mixed = Mixed::new(floor, kind);
    let mut of_lane = |lane: usize| {
        let quickly = mixed.as_mut().and_then(|mixed| mixed.of_lane(arrived, lane));
        quickly.unwrap_or_else(|| of_lane(floor, kind, arrived, lane))
    };
    let moments: Vec<Vec<RowMoments>> =
        (0..LANES).map(|lane| if twins[lane] == lane { of_lane(lane) } else { Vec::new() }).collect();
    let counted = floor.board.counted() + arrived.change.counted();
    let mut terms = Terms::new(floor.board.weights(), &twins, |kind| match kind {
        Aggregate::Spread => surplus as f64,
        kind => counted.value(kind),
    });
    let rows = floor.board.rows().len();
    let mut lanes: Vec<(usize, Peekable<_>)> = Vec::with_capacity(LANES);
    lanes.extend(
        moments
            .into_iter()
            .enumerate()
            .filter(|(_, m)| !m.is_empty())
            .map(|(k, m)| (k, m.into_iter().peekable())),
    );
    let mut scored = Vec::new();
    let mut from = 0;
    while from < rows {
        let mut to = rows;
        let mut covered = true;
        for (lane, moments) in &mut lanes {
            while moments.next_if(|m: &RowMoments| m.to <= from).is_some() {}
            // Rows between the pieces are of other kinds.
            match moments.peek() {
                None => covered = false,
                Some(m) if m.from > from => {
                    covered = false;
                    to = to.min(m.from);
                }
                Some(m) => {
                    to = to.min(m.to);
                    terms.set(*lane, m);
                }
            }
        }
        if covered {
            scored.push(ScoredRows { from, to, score: terms.score() });
        }
        from = to;
    }
    scored
}

/// The terms of a score, in the order in which they are summed up.
struct Terms<'w> {
    weights: &'w Weights,
    values: [f64; METRICS],
    /// For each lane, the terms that depend on it, one bit each.
    of_lane: [u32; LANES],
}

const _: () = assert!(METRICS <= u32::BITS as usize);

impl<'w> Terms<'w> {
    /// The terms for lanes, each represented by its twin. `fixed` gives the values of all other terms.
    fn new(weights: &'w Weights, twins: &[usize; LANES], fixed: impl Fn(Aggregate) -> f64) -> Terms<'w> {
        let mut terms = Terms { weights, values: [0.0; METRICS], of_lane: [0; LANES] };
        for (at, metric) in TABLE.iter().enumerate() {
            match metric.kind {
                Aggregate::Deviation(lane) | Aggregate::Sum(lane) => terms.of_lane[twins[lane]] |= 1 << at,
                kind => terms.values[at] = weights.part(at, fixed(kind)),
            }
        }
        terms
    }

    fn set(&mut self, lane: usize, moments: &RowMoments) {
        let mut left = self.of_lane[lane];
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            let value = match TABLE[at].kind {
                Aggregate::Sum(_) => moments.sum,
                _ => moments.deviation,
            };
            self.values[at] = self.weights.part(at, value);
        }
    }

    fn score(&self) -> f64 {
        self.values.iter().fold(0.0, |sum, term| sum + term)
    }
}

/// For each lane, the first lane that has equal values on every node, with the instance and without.
fn twins(floor: &Floor<'_>, after: &Lanes) -> [usize; LANES] {
    let kinds = || floor.kinds.present().iter().map(|kind| &floor.kinds.get(*kind).lanes).chain([after]);
    let equal = |a: usize, b: usize| kinds().all(|lanes| lanes[a].to_bits() == lanes[b].to_bits());
    std::array::from_fn(|k| (0..k).find(|j| equal(*j, k)).unwrap_or(k))
}

/// Rows of a few kinds, one of which takes the instance.
struct Mixed<'f, 'c> {
    floor: &'f Floor<'c>,
    few_kinds: &'f FewKinds,
    /// Number of the kind whose nodes take the instance.
    which: usize,
    /// Sums computed before.
    known: Vec<KnownSums>,
}

/// The sums of the rows for a set of values.
struct KnownSums {
    values: [f64; MOST_VALUES],
    replaced: f64,
    pieces: Vec<Piece>,
}

impl<'f, 'c> Mixed<'f, 'c> {
    fn new(floor: &'f Floor<'c>, kind: KindIdx) -> Option<Mixed<'f, 'c>> {
        let few_kinds = floor.rows.few_kinds()?;
        Some(Mixed { floor, few_kinds, which: few_kinds.value(kind)?, known: Vec::new() })
    }

    /// Sum and deviation of one lane, row by row; `None` if the sum is rounded.
    fn of_lane(&mut self, arrived: &NodeWithInstance, lane: usize) -> Option<Vec<RowMoments>> {
        let Mixed { floor, few_kinds, which, .. } = *self;
        let n = floor.board.rows().len() as f64;
        let totals = few_kinds.mix().totals();
        let of_kind = |at: usize| floor.kinds.get(few_kinds.kinds()[at]).lanes[lane];
        let (old, new) = (of_kind(which), arrived.lanes[lane]);
        // Values that do not occur can be replaced by any other.
        let mut values: [f64; MOST_VALUES] =
            std::array::from_fn(|at| if totals[at] > 0 { of_kind(at) } else { old });
        let changes = new.to_bits() != old.to_bits();
        if values.iter().all(|x| x.to_bits() == new.to_bits()) {
            // All values are equal, so the order does not matter.
            let rows = |value: f64| [Run { value, count: n as usize, replaced: None }];
            let sum = exact_sums::sum(&rows(new));
            let mean = sum / n;
            let deviation = (exact_sums::sum(&rows((new - mean) * (new - mean))) / n).sqrt();
            return Some(vec![RowMoments { from: 0, to: usize::MAX, sum, deviation }]);
        }
        let sum = match exact_sum(&totals, &values, new, n) {
            Some(sum) => sum - old + new,
            None if changes => return None,
            None => few_kinds.mix().sum(&values),
        };
        let mean = sum / n;
        let square = |x: f64| (x - mean) * (x - mean);
        values = values.map(square);
        if !changes {
            let deviation = (few_kinds.mix().sum(&values) / n).sqrt();
            return Some(vec![RowMoments { from: 0, to: usize::MAX, sum, deviation }]);
        }
        let (scale, back) = normal_scale(&values, square(new));
        let pieces = self.sums(values.map(|x| x * scale), square(new) * scale);
        let moments =
            |p: &Piece| RowMoments { from: p.from, to: p.to, sum, deviation: (p.sum * back / n).sqrt() };
        Some(pieces.iter().map(moments).collect())
    }

    /// The sums of the rows with one value replaced.
    fn sums(&mut self, values: [f64; MOST_VALUES], replaced: f64) -> &[Piece] {
        let kinds = self.few_kinds.kinds().len();
        let known = self.known.iter().position(|known| known.values == values && known.replaced == replaced);
        let at = known.unwrap_or_else(|| {
            let pieces = self.few_kinds.mix().sums_with_one_replaced(&values[..kinds], self.which, replaced);
            self.known.push(KnownSums { values, replaced, pieces });
            self.known.len() - 1
        });
        &self.known[at].pieces
    }
}

/// A power of two, and its inverse, that makes the values of lanes comparable; they often differ only by such a
/// factor. Scaling by it does not change how sums are rounded.
fn normal_scale(values: &[f64], replaced: f64) -> (f64, f64) {
    const LARGEST: f64 = (1u128 << 100) as f64;
    let usual = |x: f64| x == 0.0 || (1.0 / LARGEST..LARGEST).contains(&x.abs());
    if replaced == 0.0 || !usual(replaced) || !values.iter().all(|x| usual(*x)) {
        return (1.0, 1.0);
    }
    let power = f64::from_bits(replaced.to_bits() >> 52 << 52).abs();
    (1.0 / power, power)
}

/// The sum of values that occur `totals` times each. Returns `None` if adding them could round, in any order or
/// with `other` in place of one value. Nothing is rounded if all values are multiples of a power of two that is
/// not too small for their size.
fn exact_sum(totals: &[usize], values: &[f64], other: f64, n: f64) -> Option<f64> {
    const UNIT: f64 = (1u64 << 22) as f64;
    const LARGEST: f64 = (1u64 << 30) as f64;
    let fine = |x: f64| x.abs() * (n + 1.0) < LARGEST && (x * UNIT).fract() == 0.0;
    if !fine(other) || !values.iter().all(|x| fine(*x)) {
        return None;
    }
    Some(totals.iter().zip(values).map(|(count, x)| *count as f64 * x).sum())
}

/// Sum and deviation of one lane, row by row.
fn of_lane(floor: &Floor<'_>, kind: KindIdx, arrived: &NodeWithInstance, lane: usize) -> Vec<RowMoments> {
    let n = floor.board.rows().len() as f64;
    let value = |kind: KindIdx| floor.kinds.get(kind).lanes[lane];
    let new = arrived.lanes[lane];
    let all = |f: &dyn Fn(f64) -> f64| -> Vec<Run> {
        let run =
            |(kind, count): &(KindIdx, usize)| Run { value: f(value(*kind)), count: *count, replaced: None };
        floor.rows.runs().iter().map(run).collect()
    };
    if new.to_bits() == value(kind).to_bits() {
        let sum = exact_sums::sum(&all(&|x| x));
        let mean = sum / n;
        let deviation = (exact_sums::sum(&all(&|x| (x - mean) * (x - mean))) / n).sqrt();
        return vec![RowMoments { from: 0, to: usize::MAX, sum, deviation }];
    }
    let mut first = all(&|x| x);
    for (run, (row_kind, _)) in first.iter_mut().zip(floor.rows.runs()) {
        run.replaced = (*row_kind == kind).then_some(new);
    }
    let mut by_sum: Vec<(f64, Vec<(usize, usize)>)> = Vec::new();
    for piece in exact_sums::sums_with_one_replaced(&first) {
        match by_sum.iter_mut().find(|s| s.0.to_bits() == piece.sum.to_bits()) {
            Some((_, rows)) => rows.push((piece.from, piece.to)),
            None => by_sum.push((piece.sum, vec![(piece.from, piece.to)])),
        }
    }
    let mut moments = Vec::new();
    for (sum, rows) in by_sum {
        let mean = sum / n;
        let square = |x: f64| (x - mean) * (x - mean);
        let second = split(&all(&square), &rows, square(new));
        moments.extend(exact_sums::sums_with_one_replaced(&second).into_iter().map(|piece| RowMoments {
            from: piece.from,
            to: piece.to,
            sum,
            deviation: (piece.sum / n).sqrt(),
        }));
    }
    moments.sort_unstable_by_key(|m| m.from);
    moments
}

/// The same runs, split so that one value in `rows` (ascending ranges) may be replaced.
fn split(runs: &[Run], rows: &[(usize, usize)], replaced: f64) -> Vec<Run> {
    let mut parts = Vec::with_capacity(runs.len() + 2 * rows.len());
    let mut row = 0;
    let mut next = rows.iter().copied().peekable();
    for run in runs {
        let end = row + run.count;
        while row < end {
            while next.peek().is_some_and(|r| r.1 <= row) {
                next.next();
            }
            let (to, replaced) = match next.peek() {
                Some((from, to)) if *from <= row => ((*to).min(end), Some(replaced)),
                Some((from, _)) => ((*from).min(end), None),
                None => (end, None),
            };
            parts.push(Run { value: run.value, count: to - row, replaced });
            row = to;
        }
    }
    parts
}
