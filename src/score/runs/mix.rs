//! Rows made of a few numbers in many runs: whole blocks of runs are one addition.

use super::paths::Paths;
use super::{Piece, Run, add_repeatedly, constant_step, exponent, next_power, step, stretch};

/// Most numbers that a [`Mix`] can have.
pub const MOST_VALUES: usize = 4;

/// A row made of a few numbers only, each of which stands in many runs: the runs
/// and, at the beginning of each (and at the end), how often each number has stood
/// there before.
#[derive(Debug, Clone, Default)]
pub struct Mix {
    runs: Vec<(usize, usize)>,
    before: Vec<Counts>,
}

type Counts = [usize; MOST_VALUES];

/// A place in a row: so far into a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    run: usize,
    offset: usize,
}

/// Additions of several numbers, in any order, that each advance a sum by an amount
/// of its own.
struct Block {
    end: Place,
    counts: Counts,
    /// All of them together.
    by: f64,
    /// What the sum must stay below for that.
    top: f64,
}

impl Mix {
    /// A row of runs: which number, and how often. There are at most
    /// [`MOST_VALUES`] numbers.
    pub fn new(runs: impl Iterator<Item = (usize, usize)>) -> Mix {
        let mut mix = Mix { runs: runs.collect(), before: Vec::new() };
        let mut counts = [0; MOST_VALUES];
        mix.before.reserve(mix.runs.len() + 1);
        for (value, count) in &mix.runs {
            mix.before.push(counts);
            counts[*value] += count;
        }
        mix.before.push(counts);
        mix
    }

    /// How often each number stands in the row.
    pub fn totals(&self) -> [usize; MOST_VALUES] {
        self.before[self.runs.len()]
    }

    /// The sum of the row, from 0.
    pub fn sum(&self, values: &[f64]) -> f64 {
        let end = Place { run: self.runs.len(), offset: 0 };
        self.advance(values, 0.0, Place { run: 0, offset: 0 }, end)
    }

    fn counts_at(&self, place: Place) -> Counts {
        let mut counts = self.before[place.run];
        if place.offset > 0 {
            counts[self.runs[place.run].0] += place.offset;
        }
        counts
    }

    fn position(&self, place: Place) -> usize {
        self.counts_at(place).iter().sum()
    }

    /// The longest block from a place to `end`, if there is any.
    fn block(&self, values: &[f64], sum: f64, from: Place, end: Place) -> Option<Block> {
        if !(sum > 0.0 && sum.is_finite()) || exponent(sum) == 0 {
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
        let top = next_power(sum);
        let limit = top - sum - 2.0 * largest;
        let start = self.counts_at(from);
        let by = |counts: &Counts| -> f64 {
            let mut total = 0.0;
            for k in 0..values.len() {
                total += (counts[k] - start[k]) as f64 * steps[k];
            }
            total
        };
        // the last run that begins within the limit
        let (mut low, mut high) = (from.run, end.run + usize::from(end.offset > 0));
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if by(&self.before[middle]) <= limit { low = middle } else { high = middle }
        }
        let (value, count) = self.runs[low];
        let (offset, before) = if low == from.run { (from.offset, 0.0) } else { (0, by(&self.before[low])) };
        let most = if low == end.run { end.offset } else { count } - offset;
        let fits = if before > limit {
            0
        } else if steps[value] == 0.0 {
            most
        } else {
            (((limit - before) / steps[value]) as usize).min(most)
        };
        let reached = self.normal(Place { run: low, offset: offset + fits });
        let mut counts = self.counts_at(reached);
        let total = by(&counts);
        (0..MOST_VALUES).for_each(|k| counts[k] -= start[k]);
        (reached != from && sum + total < top).then_some(Block { end: reached, counts, by: total, top })
    }

    /// The same place, not at the end of a run.
    fn normal(&self, place: Place) -> Place {
        if self.runs.get(place.run).is_some_and(|run| run.1 == place.offset) {
            return Place { run: place.run + 1, offset: 0 };
        }
        place
    }

    /// `sum` after the additions from one place to another.
    fn advance(&self, values: &[f64], mut sum: f64, mut from: Place, end: Place) -> f64 {
        while from != end {
            if let Some(block) = self.block(values, sum, from, end) {
                sum += block.by;
                from = block.end;
                continue;
            }
            let (value, count) = self.runs[from.run];
            let most = if from.run == end.run { end.offset } else { count } - from.offset;
            let stretch = stretch(sum, values[value], most);
            sum = add_repeatedly(sum, values[value], stretch.steps);
            from = self.normal(Place { run: from.run, offset: from.offset + stretch.steps });
        }
        sum
    }

    /// The sums of the row, from 0, with one of the numbers `which` replaced by `y`.
    /// Pieces also span positions where other numbers stand.
    pub fn sums_with_one_replaced(&self, values: &[f64], which: usize, y: f64) -> Vec<Piece> {
        let end = Place { run: self.runs.len(), offset: 0 };
        let mut all = Paths::default();
        let mut base = 0.0;
        let mut at = Place { run: 0, offset: 0 };
        while at != end {
            match self.block(values, base, at, end) {
                Some(block) if self.pass(&mut all, values, base, at, &block, (which, y)) => {
                    base += block.by;
                    at = block.end;
                }
                _ => {
                    let (value, count) = self.runs[at.run];
                    let replaced = (value == which).then_some(y);
                    let run = Run { value: values[value], count: count - at.offset, replaced };
                    let steps = step(&mut all, &mut base, run, self.position(at));
                    at = self.normal(Place { run: at.run, offset: at.offset + steps });
                }
            }
        }
        all.finish()
    }

    /// Takes all paths over a block, and starts the one on which a number in the block
    /// is replaced; false if where it stands makes a difference.
    fn pass(
        &self,
        all: &mut Paths,
        values: &[f64],
        base: f64,
        at: Place,
        block: &Block,
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
        let singly = |sum: f64| self.advance(values, sum, at, block.end);
        all.advance_all(base, Some(block.by), singly);
        if let Some(sum) = replaced {
            all.start(sum, self.position(at), self.position(block.end));
        }
        true
    }
}
