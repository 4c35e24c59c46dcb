//! Sums over long rows in which a few numbers recur, rounded as if the numbers were added one by one. The same sums
//! with one number replaced are computed for every position at once.
//!
//! While a sum stays between two powers of two, adding the same number always advances it by the same amount, a
//! multiple of its last bit. So many additions are one multiplication. Two sums that differ only in the position of the
//! replaced number are equal once both positions lie in one such stretch. So although each position has a rounding
//! error of its own, there are only a few different results.

mod mix;
mod paths;
#[cfg(test)]
mod tests;

pub use mix::{MOST_VALUES, Mix};
use paths::Paths;

/// The same number several times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// The number.
    pub value: f64,
    /// Number of times it occurs.
    pub count: usize,
    /// Value that may replace it, once in all runs.
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

pub(super) fn exponent(x: f64) -> u64 {
    (x.to_bits() >> 52) & 0x7ff
}

/// The next power of two above a positive number.
pub(super) fn next_power(x: f64) -> f64 {
    f64::from_bits((exponent(x) + 1) << 52)
}

/// The next additions of `x` to `sum` that advance it equally; at least one step, at most `most`.
fn stretch(sum: f64, x: f64, most: usize) -> Stretch {
    let one = sum + x;
    let by = one - sum;
    let alone = Stretch { steps: 1, by };
    if x == 0.0 {
        return Stretch { steps: most, by: 0.0 };
    }
    if most < 2 || !(sum > 0.0 && x >= 0.0 && one.is_finite()) || exponent(sum) == 0 {
        return alone;
    }
    if constant_step(sum, x).is_none() {
        // If a sum lies exactly between two doubles, the first rounding goes one way and all later ones the other. The
        // second step shows that.
        let two = one + x;
        if exponent(two) != exponent(sum) || two - one != by {
            return alone;
        }
    }
    if by == 0.0 {
        return Stretch { steps: most, by };
    }
    // Stop at the power of two, where the last bit changes its meaning.
    let top = next_power(sum);
    let fits = |steps: usize| sum + steps as f64 * by <= top;
    if fits(most) {
        return Stretch { steps: most, by };
    }
    let mut steps = (((top - sum) / by) as usize).clamp(1, most);
    while steps > 1 && !fits(steps) {
        steps -= 1;
    }
    Stretch { steps, by }
}

/// `sum` after `count` additions of `x`.
pub(crate) fn add_repeatedly(mut sum: f64, x: f64, mut count: usize) -> f64 {
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

/// Amount by which an addition of `x` advances all sums between the same two powers of two as `sum`; `None` if it is
/// not the same for all.
pub(super) fn constant_step(sum: f64, x: f64) -> Option<f64> {
    let next = sum + x;
    let by = next - sum;
    let rest = (x - by).abs();
    let half_of_last_bit = f64::EPSILON / 4.0 * next_power(sum);
    (exponent(next) == exponent(sum) && rest != half_of_last_bit).then_some(by)
}

/// Tells if all positions of a stretch of additions of `x` to `sum` have the same result when `y` is added there
/// instead. That holds if `y` advances the sum by the same amount each time, and the sum then goes on as before.
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

/// The sums of all runs, from 0, with one number replaced, for every position at which a number may be replaced, in
/// order.
pub fn sums_with_one_replaced(runs: &[Run]) -> Vec<Piece> {
    let mut all = Paths::new();
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

/// Advances by some steps, at most to the end of `run`, which begins at position `at`. Returns the number of steps.
fn step(all: &mut Paths, base: &mut f64, run: Run, at: usize) -> usize {
    let x = run.value;
    let mut stretch = stretch(*base, x, run.count);
    let together = run.replaced.map(|y| together(*base, x, y, &mut stretch));
    all.advance(x, stretch.steps);
    if let (Some(y), Some(together)) = (run.replaced, together) {
        enter(all, (*base, x, y), &stretch, together, at);
    }
    *base = if stretch.steps == 1 { *base + x } else { *base + stretch.steps as f64 * stretch.by };
    stretch.steps
}

/// Property that the positions of a stretch share when `y` replaces one number.
enum Together {
    /// All give the same sum at the end.
    Sum,
    /// The additions after `y` advance all sums by this amount.
    Steps(f64),
    /// No common property.
    Nothing,
}

/// Shortens a stretch of additions of `x` to `sum` to the positions that share a property.
fn together(sum: f64, x: f64, y: f64, stretch: &mut Stretch) -> Together {
    let by = stretch.by;
    if stretch.steps < 2 || !(x >= 0.0 && y >= 0.0) {
        return Together::Nothing;
    }
    // At the end of the stretch, `y` may lead beyond the next power of two.
    let room = ((next_power(sum) - sum - x - y) / by) as usize;
    let steps = room.min(stretch.steps);
    if steps > 1 && is_uniform(sum, x, y, &Stretch { steps, by }) {
        stretch.steps = steps;
        return Together::Sum;
    }
    // If `y` is much larger than the sum so far, every position has its own rounding. The additions after it still
    // advance by equal steps.
    let first = |step: usize| (sum + step as f64 * by) + y;
    let low = first(0);
    let rest = if low > 0.0 && low.is_finite() { constant_step(low, x) } else { None };
    let top = next_power(low);
    let Some(rest) = rest else {
        if low + x >= top {
            stretch.steps = 1;
        }
        return Together::Nothing;
    };
    let room = ((top - low) / (by + rest)) as usize;
    // No sum is larger than the largest start with the most additions.
    let fits = |steps: usize| first(steps - 1) + (steps - 1) as f64 * rest < top;
    let mut steps = room.clamp(1, stretch.steps);
    while steps > 1 && !fits(steps) {
        steps -= 1;
    }
    if !fits(steps) {
        return Together::Nothing;
    }
    stretch.steps = steps;
    Together::Steps(rest)
}

/// Enters the sums in which a number of one stretch is replaced, as they are at its end.
fn enter(all: &mut Paths, (base, x, y): (f64, f64, f64), stretch: &Stretch, together: Together, at: usize) {
    let Stretch { steps, by } = *stretch;
    if let Together::Sum = together {
        let last = base + (steps - 1) as f64 * by;
        return all.start(last + y, at, at + steps);
    }
    let first = |step: usize| if step == 0 { base + y } else { (base + step as f64 * by) + y };
    for step in 0..steps {
        let rest = steps - 1 - step;
        let end = match together {
            Together::Steps(by) => first(step) + rest as f64 * by,
            _ => add_repeatedly(first(step), x, rest),
        };
        all.start(end, at + step, at + step + 1);
    }
}
