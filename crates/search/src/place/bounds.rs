//! Lower bounds on the score of a pair of nodes: the sum of a part for the primary and a part for the
//! secondary.
//!
//! With two nodes changed, the variance of a lane is `v = v0 + X(p) + X(s) - 2 a(p) a(s) / n^2`. Here a is the
//! change of the value, and `X = (q - 2 mean a) / n - a^2 / n^2`. Between the smallest and the largest possible
//! v, the root of v is at least the chord, which is linear in v. So the bound is a sum of two parts. The other
//! metrics are sums anyway, and common locations only add to them.

use htools_model::Weights;
use htools_model::score::interval::CountedPart;
use htools_model::score::metrics::{Counted, Lanes, PADDED_LANES, lane};
use htools_model::score::{NodeChange, PairUpdate};

/// Returns true if a node that already backs the primary is never better than one of its kind that does not.
/// With few nodes, the lower deviation by more reserve could outweigh its larger sum.
pub(crate) fn backing_never_helps(weights: &Weights, statistics: &PairUpdate) -> bool {
    // One node fewer, so that rounding cannot decide.
    statistics.n() >= 1.0 && weights.reserves_never_pay(statistics.n() as usize - 1)
}

/// The parts of the bounds for a set of places.
pub(crate) struct Bounds {
    /// The part that all pairs share.
    fixed: f64,
    primaries: Vec<f64>,
    secondaries: Vec<f64>,
    /// Upper bound on the absolute values that a pair's bound adds up; its rounding error is proportional to
    /// it.
    size: f64,
}

/// Range of a number that depends on the place.
#[derive(Clone, Copy)]
struct NumberRange {
    least: f64,
    most: f64,
}

impl NumberRange {
    fn of(values: impl Iterator<Item = f64>) -> NumberRange {
        let start = NumberRange { least: f64::INFINITY, most: f64::NEG_INFINITY };
        values.fold(start, |r, x| NumberRange { least: r.least.min(x), most: r.most.max(x) })
    }
}

/// Ranges of a number of each lane.
struct LaneNumbers {
    least: Lanes,
    most: Lanes,
}

impl LaneNumbers {
    fn empty() -> LaneNumbers {
        LaneNumbers { least: [f64::INFINITY; PADDED_LANES], most: [f64::NEG_INFINITY; PADDED_LANES] }
    }

    /// Extends the ranges; what is not a number is left out.
    fn include(&mut self, values: &Lanes) {
        for k in 0..PADDED_LANES {
            self.least[k] = if values[k] < self.least[k] { values[k] } else { self.least[k] };
            self.most[k] = if values[k] > self.most[k] { values[k] } else { self.most[k] };
        }
    }

    fn get(&self, lane: usize) -> NumberRange {
        NumberRange { least: self.least[lane], most: self.most[lane] }
    }
}

/// Parts X of the variances for the places of one role, by lane.
struct RoleParts {
    /// The parts of each place; zeros for impossible places.
    parts: Vec<Lanes>,
    part_ranges: LaneNumbers,
    /// Ranges of the changes of values.
    change_ranges: LaneNumbers,
}

impl RoleParts {
    fn of<'n>(statistics: &PairUpdate, changes: impl Iterator<Item = Option<&'n NodeChange>>) -> RoleParts {
        let (mut part_ranges, mut change_ranges) = (LaneNumbers::empty(), LaneNumbers::empty());
        let parts = changes.map(|change| {
            let Some(change) = change else { return [0.0; PADDED_LANES] };
            let parts = change.variance_parts(statistics);
            part_ranges.include(&parts);
            change_ranges.include(change.by_lanes());
            parts
        });
        RoleParts { parts: parts.collect(), part_ranges, change_ranges }
    }
}

impl Bounds {
    /// Computes the parts for places, some of which are impossible as a primary or as a secondary. `surplus` is
    /// the surplus of the spread for each primary.
    pub(crate) fn of(
        weights: &Weights,
        statistics: &PairUpdate,
        places: &[(Option<&NodeChange>, Option<&NodeChange>)],
        surplus: &[i64],
    ) -> Bounds {
        let reserved_weight = weights.reserved_sum();
        // Most places do not differ in any count.
        let mut last: Option<((Counted, i64), CountedPart)> = None;
        let mut size: f64 = 0.0;
        let mut count = |arrived: Option<&NodeChange>, surplus: i64| match arrived {
            None => f64::INFINITY,
            Some(a) => {
                let total = reserved_weight * a.by(lane::RESERVED_MEM);
                let counts = (a.counted(), surplus);
                let counted = match last {
                    Some((known, part)) if known == counts => part,
                    _ => CountedPart::of(weights, &counts.0, counts.1),
                };
                last = Some((counts, counted));
                size = size.max(counted.size + total.abs());
                counted.score + total
            }
        };
        let common = statistics.counted_part(weights);
        let primaries = places.iter().zip(surplus).map(|(p, surplus)| count(p.0, *surplus)).collect();
        let secondaries = places.iter().map(|p| count(p.1, 0)).collect();
        let size = common.size + 2.0 * size;
        let mut bounds = Bounds { fixed: common.score, primaries, secondaries, size };
        bounds.add_deviations(weights, statistics, places);
        bounds
    }

    fn add_deviations(
        &mut self,
        weights: &Weights,
        statistics: &PairUpdate,
        places: &[(Option<&NodeChange>, Option<&NodeChange>)],
    ) {
        let firsts = RoleParts::of(statistics, places.iter().map(|place| place.0));
        let seconds = RoleParts::of(statistics, places.iter().map(|place| place.1));
        let mut slopes = Vec::new();
        for (lane, weight) in weights.deviations().into_iter().enumerate() {
            // In the running sums, a variance that is not a number counts as 0.
            if weight > 0.0 && !statistics.variance(lane).is_nan() {
                slopes.push((lane, self.add_chord(statistics, [&firsts, &seconds], lane, weight)));
            }
        }
        for (bounds, role) in [(&mut self.primaries, firsts), (&mut self.secondaries, seconds)] {
            for (bound, parts) in bounds.iter_mut().zip(role.parts) {
                *bound += slopes.iter().map(|(lane, slope)| slope * parts[*lane]).sum::<f64>();
            }
        }
    }

    /// Adds the constant of a lane's chord and returns its slope.
    fn add_chord(
        &mut self,
        statistics: &PairUpdate,
        roles: [&RoleParts; 2],
        lane: usize,
        weight: f64,
    ) -> f64 {
        let (n, variance) = (statistics.n(), statistics.variance(lane));
        let mean = statistics.sum(lane) / n;
        let [x, y] = roles.map(|role| role.part_ranges.get(lane));
        let [a, b] = roles.map(|role| role.change_ranges.get(lane));
        let products = [a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most];
        let product = NumberRange::of(products.into_iter());
        let cross = |product: f64| -2.0 * product / (n * n);
        let floor = |v: f64| v.max(0.0);
        let least = floor(variance + x.least + y.least + cross(product.most));
        let most = floor(variance + x.most + y.most + cross(product.least));
        // Upper bound of the rounding errors of these operations and of the exact score.
        let size = variance + [x.least, x.most, y.least, y.most].map(f64::abs).iter().sum::<f64>();
        let error = 1e-13 * (1.0 + n / 64.0) * (size + mean * mean);
        let (low, high) = (least.sqrt(), most.sqrt());
        let slope = if low + high > 0.0 { weight / (low + high) } else { 0.0 };
        let slack = weight * error / low.max(error.sqrt()).max(f64::MIN_POSITIVE);
        self.size += weight * high;
        self.fixed += weight * low + slope * (variance + cross(product.most) - least) - slack;
        slope
    }

    /// The part for a place as the primary, including the shared part.
    pub(crate) fn primary(&self, at: usize) -> f64 {
        self.known(self.fixed + self.primaries[at])
    }

    /// The part for a place as the secondary.
    pub(crate) fn secondary(&self, at: usize) -> f64 {
        self.known(self.secondaries[at])
    }

    /// Lowers a bound by its rounding error; a bound that is not a number becomes minus infinity.
    fn known(&self, bound: f64) -> f64 {
        let rounding = 1e-12 * (self.size + bound.abs());
        if bound.is_nan() || rounding.is_nan() { f64::NEG_INFINITY } else { bound - rounding }
    }
}
