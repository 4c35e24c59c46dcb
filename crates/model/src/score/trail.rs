//! Partial sums of a row of numbers. They give the sum with a few numbers replaced, rounded as if all were added one by
//! one.
//!
//! While two sums lie between the same two powers of two, adding a number advances both by the same amount: the nearest
//! multiple of their last bit. So a sum with a replaced number keeps its distance from the original sum, and many rows
//! can be skipped with one addition. The jump must stop where one of the sums crosses a power of two. It must also stop
//! where a number lies exactly between two multiples, because then the last bit of the sum decides. A row of 10,000
//! numbers has some ten or twenty such places, most of them near the beginning.

use super::exact_sums::{constant_step, exponent, next_power};

/// The partial sums of a row of numbers.
pub(super) struct PartialSums {
    /// Before each row, and at the end.
    sums: Vec<f64>,
    /// Rows that other sums cannot jump over, ascending.
    stops: Vec<usize>,
}

impl PartialSums {
    /// Sums a row of numbers, from 0.
    pub(super) fn of(values: impl ExactSizeIterator<Item = f64>) -> PartialSums {
        let mut sums = Vec::with_capacity(values.len() + 1);
        let mut stops = Vec::new();
        let mut sum = 0.0;
        sums.push(sum);
        for (row, value) in values.enumerate() {
            if !is_passable(sum, value) {
                stops.push(row);
            }
            sum += value;
            sums.push(sum);
        }
        PartialSums { sums, stops }
    }

    pub(super) fn sum(&self) -> f64 {
        self.sums[self.sums.len() - 1]
    }

    /// The sum before a row; the total at the end.
    pub(super) fn before(&self, row: usize) -> f64 {
        self.sums[row]
    }

    /// Rows that other sums cannot jump over, ascending.
    pub(super) fn stops(&self) -> &[usize] {
        &self.stops
    }

    /// The sum with some rows (ascending) replaced. `value` must give the numbers that the trail was made of.
    pub(super) fn sum_with(&self, value: impl Fn(usize) -> f64, replaced: &[(usize, f64)]) -> f64 {
        let Some(&(mut at, _)) = replaced.first() else { return self.sum() };
        let mut sum = self.sums[at];
        for (row, other) in replaced {
            sum = self.advance(&value, sum, at, *row) + other;
            at = row + 1;
        }
        self.advance(&value, sum, at, self.sums.len() - 1)
    }

    /// `sum` after the additions of the rows from `from` to `to`.
    fn advance(&self, value: impl Fn(usize) -> f64, mut sum: f64, mut from: usize, to: usize) -> f64 {
        let mut next_stop = self.stops.partition_point(|stop| *stop < from);
        while from < to {
            if sum.to_bits() == self.sums[from].to_bits() {
                return self.sums[to];
            }
            if self.is_beside(sum, from) {
                while self.stops.get(next_stop).is_some_and(|stop| *stop < from) {
                    next_stop += 1;
                }
                let stop = self.stops.get(next_stop).map_or(to, |stop| (*stop).min(to));
                (sum, from) = self.jump(sum, from, stop);
                if from == to {
                    break;
                }
            }
            sum += value(from);
            from += 1;
        }
        sum
    }

    /// Tells if a sum lies between the same two powers of two as the trail.
    fn is_beside(&self, sum: f64, row: usize) -> bool {
        sum > 0.0 && sum.is_finite() && self.sums[row] > 0.0 && exponent(sum) == exponent(self.sums[row])
    }

    /// Advances from a row to `stop`, or to the last row before it that can be reached below the next power of two.
    fn jump(&self, sum: f64, from: usize, stop: usize) -> (f64, usize) {
        let top = next_power(sum);
        // Nothing is rounded here: all values are multiples of the same last bit.
        let at = |row: usize| sum + (self.sums[row] - self.sums[from]);
        if at(stop) < top {
            return (at(stop), stop);
        }
        let within = self.sums[from..stop].partition_point(|s| sum + (s - self.sums[from]) < top);
        let row = from + within.max(1) - 1;
        (at(row), row)
    }
}

/// Tells if adding `x` advances all sums between the same two powers of two as `sum` equally.
fn is_passable(sum: f64, x: f64) -> bool {
    sum > 0.0 && sum.is_finite() && x >= 0.0 && exponent(sum) != 0 && constant_step(sum, x).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers like those in rows of the score, and unusual ones.
    fn value() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => (0u32..40, 1u32..40).prop_map(|(a, b)| (f64::from(a) / f64::from(b)).powi(2)),
            4 => (0u32..1 << 20).prop_map(|k| (f64::from(k) / f64::from(1 << 20) - 0.3).powi(2)),
            2 => (0i32..400).prop_map(|k| f64::from(k) / 16.0),
            1 => Just(0.0),
            1 => (-40i32..40).prop_map(|e| 2f64.powi(e)),
            // Few significant bits make sums lie exactly between two doubles.
            1 => (1u64..8, -60i32..-45).prop_map(|(k, e)| k as f64 * 2f64.powi(e)),
        ]
    }

    fn odd_value() -> impl Strategy<Value = f64> {
        prop_oneof![
            8 => value(),
            1 => (-1000i32..1000).prop_map(|k| f64::from(k) / 7.0),
            1 => prop_oneof![Just(f64::INFINITY), Just(-0.0), Just(1e308), Just(5e-324), Just(1e-310)],
        ]
    }

    fn check(values: &[f64], replaced: &[(usize, f64)]) {
        let mut replaced: Vec<(usize, f64)> = replaced.iter().map(|r| (r.0 % values.len(), r.1)).collect();
        replaced.sort_unstable_by_key(|r| r.0);
        replaced.dedup_by_key(|r| r.0);
        let mut changed = values.to_vec();
        replaced.iter().for_each(|(row, value)| changed[*row] = *value);
        let plainly = |values: &[f64]| values.iter().fold(0.0, |sum, x| sum + x);
        let trail = PartialSums::of(values.iter().copied());
        let found = trail.sum_with(|row| values[row], &replaced);
        let expected: f64 = plainly(&changed);
        assert!(
            found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()),
            "{found} is not {expected}: {values:?} with {replaced:?}"
        );
        assert_eq!(trail.sum().to_bits(), plainly(values).to_bits());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn replaced_numbers_lead_to_the_sum_of_plain_addition(
            values in prop::collection::vec(value(), 1..300),
            replaced in prop::collection::vec((0usize..300, value()), 0..=3),
        ) {
            check(&values, &replaced);
        }

        #[test]
        fn a_few_numbers_again_and_again(
            few in prop::collection::vec(value(), 1..4),
            which in prop::collection::vec(0usize..4, 1..600),
            replaced in prop::collection::vec((0usize..600, 0usize..4), 1..=3),
        ) {
            let values: Vec<f64> = which.iter().map(|k| few[k % few.len()]).collect();
            let replaced: Vec<(usize, f64)> = replaced.iter().map(|(row, k)| (*row, few[k % few.len()])).collect();
            check(&values, &replaced);
        }

        #[test]
        fn odd_numbers_are_added_plainly(
            values in prop::collection::vec(odd_value(), 1..60),
            replaced in prop::collection::vec((0usize..60, odd_value()), 0..=3),
        ) {
            check(&values, &replaced);
        }
    }

    #[test]
    fn long_rows_have_few_stops() {
        let value = |k: usize| ((k * 7919 % 1009) as f64 / 1009.0 - 0.5).powi(2);
        let trail = PartialSums::of((0..10_000).map(value));
        assert!(trail.stops.len() < 60, "{} stops", trail.stops.len());
    }
}
