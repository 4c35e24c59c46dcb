//! Loops over all nodes in one lane, written so that the compiler can use the widest registers of the
//! processor. The results are used in bounds only.

use multiversion::multiversion;

use super::lanes::{least, most};
use super::online_nodes::Column;

/// Number of values processed at once.
const WIDTH: usize = 8;

/// One lane and the slope of its line.
pub(super) struct LaneOf<'a> {
    pub column: &'a Column,
    pub slope: f64,
    pub inv_n: f64,
}

/// Running minimum and maximum of many numbers and 0.
struct Extremes([f64; WIDTH], [f64; WIDTH]);

impl Extremes {
    fn new() -> Extremes {
        Extremes([0.0; WIDTH], [0.0; WIDTH])
    }

    #[inline(always)]
    fn take(&mut self, k: usize, value: f64) {
        self.0[k] = least(value, self.0[k]);
        self.1[k] = most(value, self.1[k]);
    }

    fn ends(self) -> (f64, f64) {
        (self.0.into_iter().fold(0.0, least), self.1.into_iter().fold(0.0, most))
    }
}

/// A chunk of the list, starting at `at`.
#[inline(always)]
fn some(values: &[f64], at: usize) -> &[f64; WIDTH] {
    values[at..].first_chunk().expect("as many as asked for")
}

/// The smallest change of the sum of squares when an amount from `lo` to `hi`,
/// times `scale`, is added to `y`.
#[inline(always)]
pub(super) fn smallest_growth(lo: f64, hi: f64, scale: f64, y: f64) -> f64 {
    let (a, b) = (lo * scale, hi * scale);
    // d (2 y + d) is smallest at d = -y.
    let d = least(most(-y, least(a, b)), most(a, b));
    d * (2.0 * y + d)
}

/// Adds a price to each cost. The block computes the price from the values of the lists at the same position;
/// the first name is the position in the register.
macro_rules! sweep {
    ($costs:ident, $($list:expr),+; |$k:ident, $($value:ident),+| $price:block) => {{
        let n = $costs.len();
        let whole = n - n % WIDTH;
        for at in (0..whole).step_by(WIDTH) {
            for $k in 0..WIDTH {
                $(let $value = some($list, at)[$k];)+
                $costs[at + $k] += $price;
            }
        }
        for at in whole..n {
            let $k = 0;
            $(let $value = $list[at];)+
            $costs[at] += $price;
        }
    }};
}

/// Adds the price of an arrival in one lane to the cost of each node. Returns the range of the changes of the
/// variance on nodes that do not refuse; the range includes 0.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub(super) fn add_arrivals(lo: f64, hi: f64, lane: &LaneOf, fixed: &[f64], costs: &mut [f64]) -> (f64, f64) {
    let mut ends = Extremes::new();
    sweep!(costs, &lane.column.y, &lane.column.scale, fixed; |k, y, scale, fixed| {
        let change = smallest_growth(lo, hi, scale, y) * lane.inv_n;
        ends.take(k, if fixed < f64::INFINITY { change } else { 0.0 });
        lane.slope * change
    });
    ends.ends()
}

/// Growth of the reserves by an arrival.
pub(super) struct ReserveNeed {
    /// Reserve for one more node, in MiB.
    pub least: f64,
    /// Upper bound of the further reserve of a node, in MiB; 0 if more reserve cannot lower the score.
    pub further: f64,
    /// Weight of the sum of the reserves in the score.
    pub weight: f64,
}

/// Does the same as [`add_arrivals`] for the reserve.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub(super) fn add_reserves(
    need: &ReserveNeed,
    reserved: &[f64],
    lane: &LaneOf,
    fixed: &[f64],
    costs: &mut [f64],
) -> (f64, f64) {
    let mut ends = Extremes::new();
    let ReserveNeed { least, further, weight } = *need;
    sweep!(costs, &lane.column.y, &lane.column.scale, fixed, reserved; |k, y, scale, fixed, reserved| {
        let more = most(least - reserved, 0.0);
        let change = smallest_growth(more, most(more, further), scale, y) * lane.inv_n;
        ends.take(k, if fixed < f64::INFINITY { change } else { 0.0 });
        lane.slope * change + weight * (more * scale)
    });
    ends.ends()
}

/// The smallest of the values.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub(super) fn smallest(values: &[f64]) -> f64 {
    let mut found = [f64::INFINITY; WIDTH];
    let whole = values.len() - values.len() % WIDTH;
    for at in (0..whole).step_by(WIDTH) {
        for k in 0..WIDTH {
            found[k] = least(some(values, at)[k], found[k]);
        }
    }
    values[whole..].iter().chain(&found).copied().fold(f64::INFINITY, least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_goes_where_it_lowers_the_sum_of_squares_most() {
        // -3 + 2 is better than -3 + 1, and -3 + 3 is best of all.
        assert_eq!(smallest_growth(1.0, 2.0, 1.0, -3.0), 1.0 - 9.0);
        assert_eq!(smallest_growth(1.0, 5.0, 1.0, -3.0), -9.0);
        assert_eq!(smallest_growth(-2.0, -1.0, 0.5, 3.0), 4.0 - 9.0);
        assert_eq!(smallest_growth(2.0, 2.0, 1.0, 1.0), 9.0 - 1.0);
    }

    #[test]
    fn whole_registers_and_the_rest_are_treated_alike() {
        for n in [1, 7, 8, 19] {
            let y: Vec<f64> = (0..n).map(|k| k as f64 - 5.0).collect();
            let column = Column { scale: vec![2.0; n], y };
            let lane = LaneOf { column: &column, slope: 3.0, inv_n: 0.25 };
            let mut fixed = vec![1.0; n];
            fixed[n - 1] = f64::INFINITY;
            let mut costs = fixed.clone();
            let (lo, hi) = add_arrivals(1.0, 1.0, &lane, &fixed, &mut costs);
            let changes: Vec<f64> = column.y.iter().map(|y| ((y + 2.0) * (y + 2.0) - y * y) / 4.0).collect();
            let expected: Vec<f64> = changes.iter().zip(&fixed).map(|(e, fixed)| fixed + 3.0 * e).collect();
            assert_eq!(costs, expected);
            let counted = &changes[..n - 1];
            assert_eq!(lo, counted.iter().copied().fold(0.0, f64::min));
            assert_eq!(hi, counted.iter().copied().fold(0.0, f64::max));
            assert_eq!(smallest(&costs), expected.iter().copied().fold(f64::INFINITY, f64::min));
        }
    }
}
