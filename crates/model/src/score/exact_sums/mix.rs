//! Rows in which a few numbers occur in many runs: whole blocks of runs are a single addition.

use std::ops::Range;

use super::paths::Paths;
use super::{Piece, Run, add_repeatedly, constant_step, exponent, next_power, step, stretch};

/// Maximum number of different numbers in a [`Mix`].
pub const MOST_VALUES: usize = 4;

/// A row of a few different numbers in many runs. For the start of each run, and for the end, it stores the number of
/// times each number has occurred so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mix {
    runs: Vec<(usize, usize)>,
    before: Vec<ValueCounts>,
}

/// Number of occurrences of each number.
type ValueCounts = [i32; MOST_VALUES];

/// A position in a row: a run, and an offset into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RunPosition {
    run: usize,
    offset: usize,
}

/// Additions of several numbers, in any order, of which each number always advances the sum by the same amount.
struct AdditionBlock {
    end: RunPosition,
    counts: ValueCounts,
    /// Total advance.
    by: f64,
    /// The sum must stay below this for the block to be valid.
    top: f64,
}

impl Mix {
    /// A row of runs, each given by the index of its number and its length. There are at most [`MOST_VALUES`] numbers.
    pub fn new(runs: impl Iterator<Item = (usize, usize)>) -> Mix {
        let mut mix = Mix { runs: Vec::new(), before: vec![[0; MOST_VALUES]] };
        mix.replace(0..0, &runs.collect::<Vec<_>>());
        mix
    }

    /// Replaces some runs by others.
    pub fn replace(&mut self, which: Range<usize>, runs: &[(usize, usize)]) {
        let mut counts = self.before[which.start];
        let before = runs.iter().map(|run| {
            let before = counts;
            counts[run.0] += run.1 as i32;
            before
        });
        self.before.splice(which.clone(), before.collect::<Vec<_>>());
        self.runs.splice(which.clone(), runs.iter().copied());
        let behind = &mut self.before[which.start + runs.len()..];
        let change: ValueCounts = std::array::from_fn(|k| counts[k] - behind[0][k]);
        behind.iter_mut().for_each(|counts| (0..MOST_VALUES).for_each(|k| counts[k] += change[k]));
    }

    /// The run at a position, and the offset of the position in it.
    pub fn find(&self, position: usize) -> Option<(usize, usize)> {
        let start = |counts: &ValueCounts| counts.iter().sum::<i32>() as usize;
        let at = self.before.partition_point(|counts| start(counts) <= position);
        (at < self.before.len()).then(|| (at - 1, position - start(&self.before[at - 1])))
    }

    /// Number of occurrences of each number in the row.
    pub fn totals(&self) -> [usize; MOST_VALUES] {
        self.before[self.runs.len()].map(|count| count as usize)
    }

    /// The sum of the row, from 0.
    pub fn sum(&self, values: &[f64]) -> f64 {
        let end = RunPosition { run: self.runs.len(), offset: 0 };
        self.advance(values, 0.0, RunPosition { run: 0, offset: 0 }, end)
    }

    fn counts_at(&self, place: RunPosition) -> ValueCounts {
        let mut counts = self.before[place.run];
        if place.offset > 0 {
            counts[self.runs[place.run].0] += place.offset as i32;
        }
        counts
    }

    fn position(&self, place: RunPosition) -> usize {
        self.counts_at(place).iter().sum::<i32>() as usize
    }

    /// The longest block from `from` to `end` that is valid for all sums from `sum` to `most`, if there is one.
    fn block(
        &self,
        values: &[f64],
        (sum, most): (f64, f64),
        from: RunPosition,
        end: RunPosition,
    ) -> Option<AdditionBlock> {
        if !(sum > 0.0 && sum.is_finite()) || exponent(sum) == 0 {
            return None;
        }
        let top = next_power(sum);
        let (value, count) = self.runs[from.run];
        if (count - from.offset) as f64 * values[value] >= top - most {
            // The sum may cross the power of two within the present run, so no block goes beyond that run.
            return None;
        }
        let mut steps = [0.0; MOST_VALUES];
        let mut largest: f64 = 0.0;
        for (step, x) in steps.iter_mut().zip(values) {
            if !(*x >= 0.0) {
                return None;
            }
            *step = constant_step(sum, *x)?;
            largest = largest.max(*x);
        }
        let limit = top - most - 2.0 * largest;
        if !(limit > 0.0) {
            return None;
        }
        let start = self.counts_at(from);
        let by = |counts: &ValueCounts| -> f64 {
            let mut total = 0.0;
            for k in 0..MOST_VALUES {
                total += f64::from(counts[k] - start[k]) * steps[k];
            }
            total
        };
        // Binary search for the last run that begins within the limit.
        let (mut low, mut high) = (from.run, end.run + usize::from(end.offset > 0));
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if by(&self.before[middle]) <= limit { low = middle } else { high = middle }
        }
        let (value, count) = self.runs[low];
        let (offset, before) = if low == from.run { (from.offset, 0.0) } else { (0, by(&self.before[low])) };
        let rest = if low == end.run { end.offset } else { count } - offset;
        let fits = if before > limit {
            0
        } else if steps[value] == 0.0 {
            rest
        } else {
            (((limit - before) / steps[value]) as usize).min(rest)
        };
        let reached = self.normal(RunPosition { run: low, offset: offset + fits });
        let mut counts = self.counts_at(reached);
        let total = by(&counts);
        (0..MOST_VALUES).for_each(|k| counts[k] -= start[k]);
        (reached != from && most + total < top).then_some(AdditionBlock {
            end: reached,
            counts,
            by: total,
            top,
        })
    }

    /// The same position, expressed so that it is not at the end of a run.
    fn normal(&self, place: RunPosition) -> RunPosition {
        if self.runs.get(place.run).is_some_and(|run| run.1 == place.offset) {
            return RunPosition { run: place.run + 1, offset: 0 };
        }
        place
    }

    /// `sum` after the additions between two positions.
    fn advance(&self, values: &[f64], mut sum: f64, mut from: RunPosition, end: RunPosition) -> f64 {
        while from != end {
            if let Some(block) = self.block(values, (sum, sum), from, end) {
                sum += block.by;
                from = block.end;
                continue;
            }
            let (value, count) = self.runs[from.run];
            let most = if from.run == end.run { end.offset } else { count } - from.offset;
            let stretch = stretch(sum, values[value], most);
            sum = add_repeatedly(sum, values[value], stretch.steps);
            from = self.normal(RunPosition { run: from.run, offset: from.offset + stretch.steps });
        }
        sum
    }

    /// Advances all sums by the additions between two positions.
    fn advance_all(&self, all: &mut Paths, values: &[f64], mut from: RunPosition, end: RunPosition) {
        if all.is_empty() {
            return;
        }
        while from != end {
            let steady = all.steady();
            if let Some(block) = steady.and_then(|bounds| self.block(values, bounds, from, end)) {
                all.shift(block.by);
                from = block.end;
                continue;
            }
            let (value, count) = self.runs[from.run];
            if steady.is_none() && !all.is_crossing(values[value]) {
                return all.each(|sum| self.advance(values, sum, from, end));
            }
            let rest = if from.run == end.run { end.offset } else { count } - from.offset;
            all.advance(values[value], rest);
            from = self.normal(RunPosition { run: from.run, offset: from.offset + rest });
        }
    }

    /// The sums of the row, from 0, with one occurrence of the number `which` replaced by `y`. Pieces may span
    /// positions of other numbers.
    pub fn sums_with_one_replaced(&self, values: &[f64], which: usize, y: f64) -> Vec<Piece> {
        let end = RunPosition { run: self.runs.len(), offset: 0 };
        let mut all = Paths::new();
        let mut base = 0.0;
        let mut at = RunPosition { run: 0, offset: 0 };
        while at != end {
            // A number that crosses the next power of two in any case does not fit in a block.
            let room = if base + y < next_power(base) { Some((base, base)) } else { None };
            match room.and_then(|bounds| self.block(values, bounds, at, end)) {
                Some(block) if self.pass(&mut all, values, base, at, &block, (which, y)) => {
                    base += block.by;
                    at = block.end;
                }
                _ => {
                    let (value, count) = self.runs[at.run];
                    let replaced = (value == which).then_some(y);
                    let run = Run { value: values[value], count: count - at.offset, replaced };
                    let steps = step(&mut all, &mut base, run, self.position(at));
                    at = self.normal(RunPosition { run: at.run, offset: at.offset + steps });
                }
            }
        }
        all.finish()
    }

    /// Takes all paths over a block, and starts the path on which a number in the block is replaced. Returns false if
    /// the position of the replacement in the block matters.
    fn pass(
        &self,
        all: &mut Paths,
        values: &[f64],
        base: f64,
        at: RunPosition,
        block: &AdditionBlock,
        (which, y): (usize, f64),
    ) -> bool {
        let mut replaced = None;
        if block.counts[which] > 0 {
            let (Some(old), Some(new)) = (constant_step(base, values[which]), constant_step(base, y)) else {
                return false;
            };
            let end = base + block.by - old + new;
            if !(y >= 0.0 && end < block.top && base + block.by + new < block.top) {
                return false;
            }
            replaced = Some(end);
        }
        if !all.shift_like(base, block.by) {
            self.advance_all(all, values, at, block.end);
        }
        if let Some(sum) = replaced {
            all.start(sum, self.position(at), self.position(block.end));
        }
        true
    }
}
