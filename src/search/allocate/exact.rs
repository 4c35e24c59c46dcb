//! The exact scores of an instance on each of the nodes of a kind.
//!
//! They differ in their last bits only: the score is summed up in the order of the
//! nodes, and where in this row the changed node stands decides how sums are
//! rounded.

use super::floor::Floor;
use super::kinds::KindIdx;
use super::offers::Arrived;
use crate::score::board::weighted;
use crate::score::metrics::{Kind, LANES, Lanes, METRICS, TABLE};
use crate::score::runs::{self, MOST_VALUES, Mix, Run};

/// Rows at which the instance gives the same score, and rows of other kinds between
/// them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stand {
    /// The first row.
    pub from: usize,
    /// The row after the last one.
    pub to: usize,
    pub score: f64,
}

/// Sum and variance of a lane for some rows.
#[derive(Debug, Clone, Copy)]
struct Moments {
    from: usize,
    to: usize,
    sum: f64,
    variance: f64,
}

/// The scores with an instance on a node of `kind`, row by row in order, with the
/// spread's surplus at `surplus`.
pub(crate) fn by_row(floor: &Floor<'_>, kind: KindIdx, arrived: &Arrived, surplus: i64) -> Vec<Stand> {
    let twins = twins(floor, &arrived.lanes);
    let few = Few::of(floor, kind);
    let of_lane = |lane: usize| {
        let quickly = few.as_ref().and_then(|few| few.of_lane(floor, arrived, lane));
        quickly.unwrap_or_else(|| of_lane(floor, kind, arrived, lane))
    };
    let moments: Vec<Vec<Moments>> =
        (0..LANES).map(|lane| if twins[lane] == lane { of_lane(lane) } else { Vec::new() }).collect();
    let counted = floor.board.counted() + arrived.change.counted();
    let score = |at: &[usize; LANES]| {
        let here = |lane: usize| moments[twins[lane]][at[twins[lane]]];
        let values: [f64; METRICS] = TABLE.map(|metric| match metric.kind {
            Kind::Deviation(lane) => here(lane).variance.sqrt(),
            Kind::Sum(lane) => here(lane).sum,
            Kind::Spread => surplus as f64,
            kind => counted.get(kind) as f64,
        });
        weighted(&values)
    };
    let rows = floor.board.rows().len();
    let own: Vec<usize> = (0..LANES).filter(|lane| twins[*lane] == *lane).collect();
    let mut at = [0; LANES];
    let mut stands = Vec::new();
    let mut from = 0;
    while from < rows {
        let mut to = rows;
        let mut covered = true;
        for &lane in &own {
            while moments[lane].get(at[lane]).is_some_and(|m| m.to <= from) {
                at[lane] += 1;
            }
            // rows between pieces are of other kinds
            match moments[lane].get(at[lane]) {
                None => covered = false,
                Some(m) if m.from > from => {
                    covered = false;
                    to = to.min(m.from);
                }
                Some(m) => to = to.min(m.to),
            }
        }
        if covered {
            stands.push(Stand { from, to, score: score(&at) });
        }
        from = to;
    }
    stands
}

/// For each lane the first one whose values are the same on every node, with the
/// instance and without.
fn twins(floor: &Floor<'_>, after: &Lanes) -> [usize; LANES] {
    let kinds = || floor.kinds.present().iter().map(|kind| &floor.kinds.get(*kind).lanes).chain([after]);
    let equal = |a: usize, b: usize| kinds().all(|lanes| lanes[a].to_bits() == lanes[b].to_bits());
    std::array::from_fn(|k| (0..k).find(|j| equal(*j, k)).unwrap_or(k))
}

/// Rows of which there are only a few kinds.
struct Few {
    kinds: Vec<KindIdx>,
    /// The position of the kind whose nodes take the instance.
    which: usize,
    mix: Mix,
}

impl Few {
    fn of(floor: &Floor<'_>, kind: KindIdx) -> Option<Few> {
        let runs = floor.rows.runs();
        let mut kinds: Vec<KindIdx> = Vec::with_capacity(MOST_VALUES);
        for (of, _) in runs {
            if !kinds.contains(of) {
                if kinds.len() == MOST_VALUES {
                    return None;
                }
                kinds.push(*of);
            }
        }
        let position = |of: KindIdx| kinds.iter().position(|k| *k == of);
        let mix = Mix::new(runs.iter().filter_map(|(of, count)| Some((position(*of)?, *count))));
        let which = position(kind)?;
        Some(Few { which, mix, kinds })
    }

    /// Sum and variance of one lane, row by row; nothing if the sum is rounded.
    fn of_lane(&self, floor: &Floor<'_>, arrived: &Arrived, lane: usize) -> Option<Vec<Moments>> {
        let n = floor.board.rows().len() as f64;
        let mut values = [0.0; MOST_VALUES];
        let values = &mut values[..self.kinds.len()];
        for (value, kind) in values.iter_mut().zip(&self.kinds) {
            *value = floor.kinds.get(*kind).lanes[lane];
        }
        let (old, new) = (values[self.which], arrived.lanes[lane]);
        let changes = new.to_bits() != old.to_bits();
        if values.iter().all(|x| x.to_bits() == new.to_bits()) {
            // the same number throughout, in any order
            let rows = |value: f64| [Run { value, count: n as usize, replaced: None }];
            let sum = runs::sum(&rows(new));
            let mean = sum / n;
            let variance = runs::sum(&rows((new - mean) * (new - mean))) / n;
            return Some(vec![Moments { from: 0, to: usize::MAX, sum, variance }]);
        }
        let sum = match exact_sum(&self.mix.totals(), values, new, n) {
            Some(sum) => sum - old + new,
            None if changes => return None,
            None => self.mix.sum(values),
        };
        let mean = sum / n;
        let square = |x: f64| (x - mean) * (x - mean);
        values.iter_mut().for_each(|x| *x = square(*x));
        if !changes {
            let variance = self.mix.sum(values) / n;
            return Some(vec![Moments { from: 0, to: usize::MAX, sum, variance }]);
        }
        let pieces = self.mix.sums_with_one_replaced(values, self.which, square(new));
        let moments = |p: runs::Piece| Moments { from: p.from, to: p.to, sum, variance: p.sum / n };
        Some(pieces.into_iter().map(moments).collect())
    }
}

/// The sum of numbers that each occur so often, if no order of adding them up, with
/// `other` in the place of one, rounds anything: if they are multiples of a power of
/// two that is not too small for their size.
fn exact_sum(totals: &[usize], values: &[f64], other: f64, n: f64) -> Option<f64> {
    const UNIT: f64 = (1u64 << 22) as f64;
    const LARGEST: f64 = (1u64 << 30) as f64;
    let fine = |x: f64| x.abs() * (n + 1.0) < LARGEST && (x * UNIT).fract() == 0.0;
    if !fine(other) || !values.iter().all(|x| fine(*x)) {
        return None;
    }
    Some(totals.iter().zip(values).map(|(count, x)| *count as f64 * x).sum())
}

/// Sum and variance of one lane, row by row.
fn of_lane(floor: &Floor<'_>, kind: KindIdx, arrived: &Arrived, lane: usize) -> Vec<Moments> {
    let n = floor.board.rows().len() as f64;
    let value = |of: KindIdx| floor.kinds.get(of).lanes[lane];
    let new = arrived.lanes[lane];
    let all = |f: &dyn Fn(f64) -> f64| -> Vec<Run> {
        let run =
            |(of, count): &(KindIdx, usize)| Run { value: f(value(*of)), count: *count, replaced: None };
        floor.rows.runs().iter().map(run).collect()
    };
    if new.to_bits() == value(kind).to_bits() {
        let sum = runs::sum(&all(&|x| x));
        let mean = sum / n;
        let variance = runs::sum(&all(&|x| (x - mean) * (x - mean))) / n;
        return vec![Moments { from: 0, to: usize::MAX, sum, variance }];
    }
    let mut first = all(&|x| x);
    for (run, (of, _)) in first.iter_mut().zip(floor.rows.runs()) {
        run.replaced = (*of == kind).then_some(new);
    }
    let mut by_sum: Vec<(f64, Vec<(usize, usize)>)> = Vec::new();
    for piece in runs::sums_with_one_replaced(&first) {
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
        moments.extend(runs::sums_with_one_replaced(&second).into_iter().map(|piece| Moments {
            from: piece.from,
            to: piece.to,
            sum,
            variance: piece.sum / n,
        }));
    }
    moments.sort_unstable_by_key(|m| m.from);
    moments
}

/// The same runs, in which a number at one of `rows` (ascending stretches) may be
/// replaced.
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
