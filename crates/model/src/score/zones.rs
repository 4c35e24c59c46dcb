//! Zones of rows within which the position of a change does not affect the score.
//!
//! Moves of equal instances between equal nodes have scores that differ by rounding only: the sums are the same, except
//! for the rows of the changed values. While a sum stays well between two powers of two, every addition advances it by
//! an amount that does not depend on the sum. So within such a zone the order of additions does not matter, and all
//! positions of a change give the same sum.
//!
//! A search for the best of very many such moves needs only one move for each combination of zones: the first in order.

use std::collections::BTreeSet;

use super::batch::{LaneJob, Scorer};
use super::board::ReplacedRows;
use super::exact_sums::next_power;
use super::metrics::LANES;
use super::trail::PartialSums;

/// Limit on the number of sums of squares. With very many different means, positions are hardly ever equal.
const MOST_TRAILS: usize = 64;

/// The zone of each row.
pub struct Zones(Vec<u32>);

impl Zones {
    /// The number of the zone of a row.
    pub fn of_row(&self, row: usize) -> u32 {
        self.0[row]
    }
}

/// The rows at which zones are known to begin.
pub struct ZoneStarts {
    begins: Vec<bool>,
}

/// Range of changes to one lane.
struct LaneChanges {
    /// Largest change of the sum.
    most: f64,
    /// The new values.
    values: Vec<f64>,
}

impl ZoneStarts {
    /// The zones between the cuts.
    pub fn zones(&self) -> Zones {
        let mut zone = 0;
        let number = |begins: &bool| {
            zone += u32::from(*begins);
            zone
        };
        Zones(self.begins.iter().map(number).collect())
    }

    /// Cuts around every row in which a sum may not be advanced by the same amount.
    fn cut(&mut self, trail: &PartialSums, changes: &LaneChanges) {
        let rows = self.begins.len();
        let mut stops = trail.stops().iter().peekable();
        let (mut binade, mut uniform) = (f64::NAN, false);
        for row in 0..rows {
            let stops_here = stops.next_if_eq(&&row).is_some();
            let (before, after) = (trail.before(row), trail.before(row + 1));
            let mut inner = !stops_here;
            if inner {
                let top = next_power(before);
                let margin = 2.0 * changes.most + rows as f64 * 4.0 * f64::EPSILON * top;
                inner = before - margin >= top / 2.0 && after + margin < top;
                if inner && top != binade {
                    binade = top;
                    uniform = !changes.values.iter().any(|y| is_half_way(*y, top));
                }
                inner &= uniform;
            }
            if !inner {
                self.begins[row] = true;
                if let Some(next) = self.begins.get_mut(row + 1) {
                    *next = true;
                }
            }
        }
    }
}

/// Tells if a number lies exactly between two multiples of the last bit of sums below the power of two `top`.
fn is_half_way(y: f64, top: f64) -> bool {
    let last_bit = f64::EPSILON * (top / 2.0);
    (y / last_bit).fract() == 0.5
}

impl Scorer<'_> {
    /// Cuts such that all positions of a pattern within a zone have the same sums; `None` if a lane has negative
    /// values. `examples` has each pattern in one position.
    pub fn cuts_by_sum(&self, examples: &[ReplacedRows]) -> Option<ZoneStarts> {
        let mut cuts = ZoneStarts { begins: vec![false; self.rows()] };
        *cuts.begins.first_mut()? = true;
        for lane in 0..LANES {
            let jobs = self.jobs(examples, lane);
            if jobs.is_empty() {
                continue;
            }
            let column = self.column(lane);
            let changes = changes(&jobs, column, |value| value);
            if !column.iter().chain(&changes.values).all(|value| *value >= 0.0) {
                return None;
            }
            cuts.cut(self.trail(lane), &changes);
        }
        Some(cuts)
    }

    /// Refines the cuts such that all positions of a pattern within a zone have the same deviations as well. Every
    /// position must have the same sums as one in `replaced`. Returns `None` if there are too many means.
    pub fn cut_by_squares(
        &self,
        cuts: &mut ZoneStarts,
        examples: &[ReplacedRows],
        replaced: &[ReplacedRows],
    ) -> Option<()> {
        let mut trails = 0;
        for lane in 0..LANES {
            let examples = self.jobs(examples, lane);
            if examples.is_empty() {
                continue;
            }
            let column = self.column(lane);
            let trail = self.trail(lane);
            let sum = |job: LaneJob| job.sum(trail, column).to_bits();
            let sums: BTreeSet<u64> = self.jobs(replaced, lane).into_iter().map(sum).collect();
            trails += sums.len();
            if trails > MOST_TRAILS {
                return None;
            }
            for sum in sums {
                let mean = f64::from_bits(sum) / column.len() as f64;
                if !mean.is_finite() {
                    return None;
                }
                let square = |value: f64| (value - mean) * (value - mean);
                let trail = PartialSums::of(column.iter().map(|value| square(*value)));
                cuts.cut(&trail, &changes(&examples, column, square));
            }
        }
        Some(())
    }
}

/// Range of the changes that `jobs` make to the sum of `f` over the values of a column.
fn changes(jobs: &[LaneJob], column: &[f64], f: impl Fn(f64) -> f64) -> LaneChanges {
    let mut changes = LaneChanges { most: 0.0, values: Vec::new() };
    for job in jobs {
        let mut change = 0.0;
        for (row, value) in &job.replaced {
            change += (f(*value) - f(column[*row])).abs();
            changes.values.push(f(*value));
        }
        changes.most = changes.most.max(change);
    }
    changes.values.sort_unstable_by(f64::total_cmp);
    changes.values.dedup();
    changes
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => (0u32..40, 1u32..40).prop_map(|(a, b)| (f64::from(a) / f64::from(b)).powi(2)),
            2 => (0i32..400).prop_map(|k| f64::from(k) / 16.0),
            1 => Just(0.0),
            // Few significant bits make sums lie exactly between two doubles.
            1 => (1u64..8, -60i32..-45).prop_map(|(k, e)| k as f64 * 2f64.powi(e)),
        ]
    }

    /// The zones of a column when its first two numbers change to other values.
    fn zones(column: &[f64], few: &[f64], new: (f64, f64)) -> Zones {
        let mut cuts = ZoneStarts { begins: vec![false; column.len()] };
        let most = (new.0 - few[0]).abs() + (new.1 - few[1]).abs();
        cuts.cut(&PartialSums::of(column.iter().copied()), &LaneChanges { most, values: vec![new.0, new.1] });
        cuts.zones()
    }

    proptest! {
        #[test]
        fn places_in_the_same_zones_have_the_same_sum(
            few in prop::collection::vec(value(), 2..4),
            which in prop::collection::vec(0usize..3, 2..80),
            new in (value(), value()),
        ) {
            let column: Vec<f64> = which.iter().map(|k| few[k % few.len()]).collect();
            let zones = zones(&column, &few, new);
            let mut sums: HashMap<(u32, u32), u64> = HashMap::new();
            for p in (0..column.len()).filter(|p| column[*p] == few[0]) {
                for t in (0..column.len()).filter(|t| column[*t] == few[1] && *t != p) {
                    let mut changed = column.clone();
                    (changed[p], changed[t]) = new;
                    let sum = changed.iter().fold(0.0, |sum: f64, x| sum + x).to_bits();
                    let first = *sums.entry((zones.of_row(p), zones.of_row(t))).or_insert(sum);
                    prop_assert_eq!(first, sum, "{} and {} in {:?}", p, t, &zones.0);
                }
            }
        }
    }

    #[test]
    fn long_rows_have_few_zones() {
        let few = [0.81f64 * 0.81, 0.1f64 * 0.1];
        let column: Vec<f64> = (0..1000).map(|row| few[row % 2]).collect();
        let zones = zones(&column, &few, (0.7, 0.02));
        assert!(zones.of_row(999) < 120, "{} zones", zones.of_row(999));
    }
}
