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

/// A sum under way in which one number was replaced; `result` is where its end will
/// be noted.
#[derive(Clone, Copy)]
struct Path {
    sum: f64,
    result: usize,
}

/// All sums under way.
struct Paths {
    paths: Vec<Path>,
    /// For each result the one that it is equal to, itself to begin with.
    same: Vec<usize>,
    /// Positions and the result that they have.
    pieces: Vec<(usize, usize, usize)>,
}

impl Paths {
    fn start(&mut self, sum: f64, from: usize, to: usize) {
        let result = self.same.len();
        self.same.push(result);
        self.pieces.push((from, to, result));
        self.paths.push(Path { sum, result });
    }

    fn advance(&mut self, x: f64, count: usize) {
        for path in &mut self.paths {
            path.sum = add_repeatedly(path.sum, x, count);
        }
    }

    /// Paths that have met go on as one.
    fn unite(&mut self) {
        self.paths.sort_unstable_by_key(|p| p.sum.to_bits());
        let same = &mut self.same;
        self.paths.dedup_by(|later, earlier| {
            let equal = later.sum.to_bits() == earlier.sum.to_bits();
            if equal {
                same[later.result] = earlier.result;
            }
            equal
        });
    }

    /// The pieces, in order, neighbours with the same result as one.
    fn finish(mut self) -> Vec<Piece> {
        self.unite();
        let mut sums = vec![0.0; self.same.len()];
        for path in &self.paths {
            sums[path.result] = path.sum;
        }
        let resolve = |mut result: usize| {
            while self.same[result] != result {
                result = self.same[result];
            }
            sums[result]
        };
        let mut pieces: Vec<Piece> = Vec::new();
        for &(from, to, result) in &self.pieces {
            let sum = resolve(result);
            match pieces.last_mut() {
                Some(last) if last.to == from && last.sum.to_bits() == sum.to_bits() => last.to = to,
                _ => pieces.push(Piece { from, to, sum }),
            }
        }
        pieces
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
    let mut all = Paths { paths: Vec::new(), same: Vec::new(), pieces: Vec::new() };
    let mut base = 0.0;
    let mut at = 0;
    for run in runs {
        let x = run.value;
        let mut left = run.count;
        while left > 0 {
            let stretch = stretch(base, x, left);
            let steps = stretch.steps;
            all.advance(x, steps);
            if let Some(y) = run.replaced {
                enter(&mut all, base, x, y, &stretch, at);
            }
            base = add_repeatedly(base, x, steps);
            at += steps;
            left -= steps;
        }
        all.unite();
    }
    all.finish()
}

/// Enters the sums in which a number of one stretch is replaced, as they are at its
/// end.
fn enter(all: &mut Paths, base: f64, x: f64, y: f64, stretch: &Stretch, at: usize) {
    let steps = stretch.steps;
    if steps > 1 && is_uniform(base, x, y, stretch) {
        let last = base + (steps - 1) as f64 * stretch.by;
        return all.start(last + y, at, at + steps);
    }
    for step in 0..steps {
        let here = if step == 0 { base } else { base + step as f64 * stretch.by };
        all.start(add_repeatedly(here + y, x, steps - 1 - step), at + step, at + step + 1);
    }
    all.unite();
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
    }
}
