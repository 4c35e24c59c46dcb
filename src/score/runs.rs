//! Sums over long rows in which the same few numbers stand again and again,
//! rounded as if they were added up one by one; and the same sums with one of the
//! numbers replaced, for every position at once.
//!
//! While a sum stays between two powers of two, adding the same number advances
//! it by the same amount, a multiple of its last bit: many additions are one
//! multiplication. Two sums that differ in *where* a number was replaced are
//! equal as soon as both positions lie in one such stretch. So, although each
//! position has a rounding error of its own, there are only a few results.

/// The same number several times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// The number.
    pub value: f64,
    /// How often it stands there.
    pub count: usize,
    /// What may stand in its place, once in all runs.
    pub replaced: Option<f64>,
}

/// Positions with the same result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    /// The first position.
    pub from: usize,
    /// The position after the last one.
    pub to: usize,
    /// The sum if the number at one of them is replaced.
    pub sum: f64,
}

/// Additions of one number that each advance a sum by the same amount.
struct Stretch {
    steps: usize,
    by: f64,
}

fn exponent(x: f64) -> u64 {
    (x.to_bits() >> 52) & 0x7ff
}

/// The next power of two above a positive number.
fn next_power(x: f64) -> f64 {
    f64::from_bits((exponent(x) + 1) << 52)
}

/// How the next additions of `x` to `sum` go; at least one step, at most `most`.
fn stretch(sum: f64, x: f64, most: usize) -> Stretch {
    let one = sum + x;
    let by = one - sum;
    let alone = Stretch { steps: 1, by };
    if x == 0.0 {
        return Stretch { steps: most, by: 0.0 };
    }
    if most < 3 || !(sum > 0.0 && x >= 0.0 && one.is_finite()) || exponent(sum) == 0 {
        return alone;
    }
    // where a sum lies exactly between two doubles, the first rounding goes one way and all
    // later ones the other; the second step tells
    let two = one + x;
    if exponent(two) != exponent(sum) || two - one != by {
        return alone;
    }
    if by == 0.0 {
        return Stretch { steps: most, by };
    }
    // short of the power of two, where the last bit changes its meaning
    let room = ((next_power(sum) - two) / by) as usize;
    Stretch { steps: (1 + room).min(most), by }
}

/// `sum` after `count` additions of `x`.
pub fn add_repeatedly(mut sum: f64, x: f64, mut count: usize) -> f64 {
    while count > 0 {
        let stretch = stretch(sum, x, count);
        sum = if stretch.steps == 1 { sum + x } else { sum + stretch.steps as f64 * stretch.by };
        count -= stretch.steps;
    }
    sum
}

/// The sum of all runs, from 0, with nothing replaced.
pub fn sum(runs: &[Run]) -> f64 {
    runs.iter().fold(0.0, |sum, run| add_repeatedly(sum, run.value, run.count))
}

/// The sums under way in which one number was replaced, by position: sums and
/// positions apart, so that many sums are advanced at once.
#[derive(Default)]
struct Paths {
    sums: Vec<f64>,
    rows: Vec<(usize, usize)>,
}

impl Paths {
    /// Adds positions behind all others.
    fn start(&mut self, sum: f64, from: usize, to: usize) {
        match (self.sums.last(), self.rows.last_mut()) {
            (Some(last), Some(rows)) if rows.1 == from && last.to_bits() == sum.to_bits() => rows.1 = to,
            _ => {
                self.sums.push(sum);
                self.rows.push((from, to));
            }
        }
    }

    /// Advances all sums, together if they are all between the same two powers of
    /// two as `sum` and stay there: by `by`. Else each by `singly`.
    fn advance_all(&mut self, sum: f64, by: Option<f64>, singly: impl Fn(f64) -> f64) {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for path in &self.sums {
            least = if *path < least { *path } else { least };
            most = if *path > most { *path } else { most };
        }
        match by {
            Some(by) if least > 0.0 && exponent(least) == exponent(sum) && most + by < next_power(sum) => {
                self.sums.iter_mut().for_each(|path| *path += by);
            }
            _ => self.sums.iter_mut().for_each(|path| *path = singly(*path)),
        }
        self.unite();
    }

    fn advance(&mut self, x: f64, count: usize) {
        let Some(first) = self.sums.first().copied() else { return };
        let steady = first > 0.0 && first.is_finite() && x >= 0.0;
        let by = if steady { constant_step(first, x) } else { None };
        self.advance_all(first, by.map(|by| count as f64 * by), |sum| add_repeatedly(sum, x, count));
    }

    /// Neighbours that have met go on as one.
    fn unite(&mut self) {
        let mut kept = 0;
        for at in 1..self.sums.len() {
            let meets =
                self.rows[kept].1 == self.rows[at].0 && self.sums[kept].to_bits() == self.sums[at].to_bits();
            if meets {
                self.rows[kept].1 = self.rows[at].1;
            } else {
                kept += 1;
                self.sums[kept] = self.sums[at];
                self.rows[kept] = self.rows[at];
            }
        }
        self.sums.truncate(kept + 1);
        self.rows.truncate(kept + 1);
    }

    fn finish(mut self) -> Vec<Piece> {
        self.unite();
        let pieces = self.sums.into_iter().zip(self.rows);
        pieces.map(|(sum, (from, to))| Piece { from, to, sum }).collect()
    }
}

/// Whether all positions of a stretch of additions of `x` to `sum` lead to the same
/// end if `y` is added there instead: if that advances the sum by the same amount
/// each time, and the sum goes on as before from there.
fn is_uniform(sum: f64, x: f64, y: f64, stretch: &Stretch) -> bool {
    let Stretch { steps, by } = *stretch;
    let last = sum + (steps - 1) as f64 * by;
    let (first_end, second_end, last_end) = (sum + y, (sum + by) + y, last + y);
    let binade = exponent(sum);
    exponent(last) == binade
        && exponent(first_end) == binade
        && exponent(last_end + x) == binade
        && second_end - first_end == by
        && (first_end + x) - first_end == by
        && last_end - first_end == last - sum
}

/// The sums of all runs, from 0, with one number replaced: for every position at
/// which that may be, in order.
pub fn sums_with_one_replaced(runs: &[Run]) -> Vec<Piece> {
    let mut all = Paths::default();
    let mut base = 0.0;
    let mut at = 0;
    for run in runs {
        let mut left = run.count;
        while left > 0 {
            let steps = step(&mut all, &mut base, Run { count: left, ..*run }, at);
            at += steps;
            left -= steps;
        }
    }
    all.finish()
}

/// Goes one stretch on, at most to the end of `run`, which begins at position `at`.
/// Returns the number of positions passed.
fn step(all: &mut Paths, base: &mut f64, run: Run, at: usize) -> usize {
    let x = run.value;
    let stretch = stretch(*base, x, run.count);
    all.advance(x, stretch.steps);
    if let Some(y) = run.replaced {
        enter(all, *base, x, y, &stretch, at);
    }
    *base = add_repeatedly(*base, x, stretch.steps);
    stretch.steps
}

/// Enters the sums in which a number of one stretch is replaced, as they are at its
/// end.
fn enter(all: &mut Paths, base: f64, x: f64, y: f64, stretch: &Stretch, at: usize) {
    let steps = stretch.steps;
    if steps > 1 && is_uniform(base, x, y, stretch) {
        let last = base + (steps - 1) as f64 * stretch.by;
        return all.start(last + y, at, at + steps);
    }
    // where the replaced number is much larger than the sum so far, every position has
    // its own rounding; what comes after it advances by the same steps again
    let first = |step: usize| if step == 0 { base + y } else { (base + step as f64 * stretch.by) + y };
    let (low, high) = (first(0), first(steps - 1));
    let steady = low > 0.0 && high.is_finite() && x >= 0.0 && exponent(low) == exponent(high);
    let by = if steady && low <= high { constant_step(low, x) } else { None };
    // no sum is larger than the largest beginning with the most additions
    let by = by.filter(|by| high + (steps - 1) as f64 * by < next_power(low));
    for step in 0..steps {
        let rest = steps - 1 - step;
        let end = match by {
            Some(by) => first(step) + rest as f64 * by,
            None => add_repeatedly(first(step), x, rest),
        };
        all.start(end, at + step, at + step + 1);
    }
}

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

/// By how much an addition of `x` advances all sums between the same two powers of
/// two as `sum`; nothing if that is not so.
fn constant_step(sum: f64, x: f64) -> Option<f64> {
    let next = sum + x;
    let by = next - sum;
    let rest = (x - by).abs();
    let half_of_last_bit = f64::EPSILON / 4.0 * next_power(sum);
    (exponent(next) == exponent(sum) && rest != half_of_last_bit).then_some(by)
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plainly(numbers: &[f64]) -> f64 {
        numbers.iter().fold(0.0, |sum, x| sum + x)
    }

    fn numbers(runs: &[Run]) -> Vec<f64> {
        runs.iter().flat_map(|r| std::iter::repeat_n(r.value, r.count)).collect()
    }

    /// Compares every position with plain addition.
    fn check(runs: &[Run]) {
        let numbers = numbers(runs);
        assert_eq!(sum(runs).to_bits(), plainly(&numbers).to_bits(), "{runs:?}");
        let mut expected = Vec::new();
        let mut at = 0;
        for run in runs {
            for position in at..at + run.count {
                if let Some(y) = run.replaced {
                    let mut changed = numbers.clone();
                    changed[position] = y;
                    expected.push((position, plainly(&changed)));
                }
            }
            at += run.count;
        }
        let pieces = sums_with_one_replaced(runs);
        let found: Vec<(usize, f64)> =
            pieces.iter().flat_map(|p| (p.from..p.to).map(|at| (at, p.sum))).collect();
        assert_eq!(found, expected, "{runs:?}");
    }

    #[test]
    fn long_rows_have_few_results() {
        let runs = [
            Run { value: 0.1f64 * 0.1, count: 3000, replaced: Some(0.81) },
            Run { value: 0.9f64 * 0.9, count: 500, replaced: None },
            Run { value: 0.1f64 * 0.1, count: 1500, replaced: Some(0.81) },
        ];
        check(&runs);
        assert!(sums_with_one_replaced(&runs).len() < 100);
    }

    /// Squares of distances from a mean, as the score adds them up, and others.
    fn value() -> impl Strategy<Value = f64> {
        prop_oneof![
            (0i32..400).prop_map(|k| f64::from(k) / 16.0),
            (0u32..1 << 20).prop_map(|k| { (f64::from(k) / f64::from(1 << 20) - 0.3).powi(2) }),
            (0u32..100, 1u32..1000).prop_map(|(a, b)| (f64::from(a) / f64::from(b)).powi(2)),
            Just(0.0),
            (-40i32..40).prop_map(|e| 2f64.powi(e)),
            (-1000i32..1000).prop_map(|k| f64::from(k) / 7.0),
            // few significant bits: sums lie exactly between two doubles
            (1u64..8, -60i32..-45).prop_map(|(k, e)| k as f64 * 2f64.powi(e)),
        ]
    }

    proptest! {
        #[test]
        fn every_position_has_the_sum_of_plain_addition(
            runs in prop::collection::vec(
                (value(), 1usize..60, prop::option::of(value()))
                    .prop_map(|(value, count, replaced)| Run { value, count, replaced }),
                1..6,
            )
        ) {
            check(&runs);
        }

        #[test]
        fn two_values_in_any_order(a in value(), b in value(), counts in prop::collection::vec(1usize..200, 1..5)) {
            let run = |(at, count): (usize, &usize)| match at % 2 {
                0 => Run { value: a, count: *count, replaced: Some(b) },
                _ => Run { value: b, count: *count, replaced: None },
            };
            let runs: Vec<Run> = counts.iter().enumerate().map(run).collect();
            check(&runs);
        }

        #[test]
        fn mixes_have_the_sums_of_their_runs(
            values in prop::collection::vec(value(), 1..=MOST_VALUES),
            runs in prop::collection::vec((0usize..MOST_VALUES, 1usize..80), 1..40),
            y in value(),
        ) {
            let mut runs: Vec<(usize, usize)> = runs.iter().map(|r| (r.0 % values.len(), r.1)).collect();
            runs.dedup_by_key(|r| r.0);
            let which = runs[0].0;
            let plain: Vec<Run> = runs
                .iter()
                .map(|(k, count)| Run { value: values[*k], count: *count, replaced: (*k == which).then_some(y) })
                .collect();
            let mix = Mix::new(runs.iter().copied());
            let found = mix.sums_with_one_replaced(&values, which, y);
            let mut at = 0;
            let expected = sums_with_one_replaced(&plain);
            for (k, count) in &runs {
                for position in at..at + count {
                    if *k == which {
                        let sum_of = |pieces: &[Piece]| {
                            pieces.iter().find(|p| (p.from..p.to).contains(&position)).map(|p| p.sum.to_bits())
                        };
                        prop_assert_eq!(sum_of(&found), sum_of(&expected), "position {}", position);
                    }
                }
                at += count;
            }
        }
    }
}
