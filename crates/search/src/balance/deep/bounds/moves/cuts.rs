//! The least cost that some cuts allow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ordered_float::OrderedFloat;

use super::super::ROUNDING;
use super::layout::LanePrice;
use super::proof::DeviationCut;

/// Maximum number of boxes that are split.
const MOST_SPLITS: usize = 8_000;

/// Boxes are not split where less than this share of the cost can be gained.
const SMALL_GAIN: f64 = 1e-4;

/// A cut is not split closer to the ends of a range than this share of its width.
const NEAR_THE_END: f64 = 0.1;

/// Ranges of the deviations, lane by lane.
pub(super) type DeviationBox = Vec<(f64, f64)>;

/// Part of the cost that a deviation y adds beside a cut: slope y - curvature y^2. It is concave, so its least value in a range
/// is at one of the ends.
#[derive(Clone, Copy)]
struct Arch {
    slope: f64,
    curvature: f64,
}

impl Arch {
    fn of(weight: f64, price: LanePrice) -> Arch {
        match price {
            LanePrice::Straight(price) => Arch { slope: weight - price, curvature: 0.0 },
            LanePrice::Squared(price) => Arch { slope: weight, curvature: price },
        }
    }

    fn at(self, deviation: f64) -> f64 {
        deviation * (self.slope - self.curvature * deviation)
    }

    fn least(self, (low, high): (f64, f64)) -> f64 {
        self.at(low).min(self.at(high))
    }

    /// The deviation at which it is highest, or the middle of the range for a straight line.
    fn top(self, (low, high): (f64, f64)) -> f64 {
        if self.curvature > 0.0 { self.slope / (2.0 * self.curvature) } else { f64::midpoint(low, high) }
    }

    fn most(self, (low, high): (f64, f64)) -> f64 {
        self.at(low).max(self.at(high)).max(self.at(self.top((low, high)).clamp(low, high)))
    }

    /// A deviation that splits the range: the top, but not close to the ends.
    fn split(self, range: (f64, f64)) -> f64 {
        within_margins(self.top(range), range)
    }
}

/// The number in a range, but not close to its ends, that is nearest to `x`.
pub(super) fn within_margins(x: f64, (low, high): (f64, f64)) -> f64 {
    let margin = NEAR_THE_END * (high - low);
    x.clamp(low + margin, high - margin)
}

/// The least cost that all cuts allow after some moves in any of the boxes, and deviations where it is.
pub(super) fn least_cost(
    cuts: &[DeviationCut],
    weights: &[f64],
    mut boxes: Vec<DeviationBox>,
    moves: usize,
) -> (f64, Vec<f64>) {
    let bounds = boxes.iter().map(|within| OrderedFloat(bounded(cuts, weights, within, moves)));
    let mut open: BinaryHeap<_> = bounds.zip(0..).map(Reverse).collect();
    for _ in 0..MOST_SPLITS {
        let Some(Reverse((bound, at))) = open.pop() else { break };
        let Some((lane, middle)) = best_split(cuts, weights, &boxes[at], (moves, bound.0)) else {
            open.push(Reverse((bound, at)));
            break;
        };
        let (low, high) = boxes[at][lane];
        for range in [(low, middle), (middle, high)] {
            let mut half = boxes[at].clone();
            half[lane] = range;
            let of_half = OrderedFloat(bounded(cuts, weights, &half, moves));
            open.push(Reverse((bound.max(of_half), boxes.len())));
            boxes.push(half);
        }
    }
    let Some(Reverse((bound, at))) = open.pop() else { return (f64::NEG_INFINITY, Vec::new()) };
    (bound.0, boxes[at].iter().map(|(low, high)| f64::midpoint(*low, *high)).collect())
}

/// The bound of a box: what the lower ends cost, or the best cut.
pub(super) fn bounded(cuts: &[DeviationCut], weights: &[f64], within: &DeviationBox, moves: usize) -> f64 {
    let ends = weights.iter().zip(within).map(|(weight, range)| weight * range.0);
    let of_cut = |cut: &DeviationCut| {
        let (mut sum, mut size) = (cut.after(moves), cut.value.abs());
        for (arch, range) in arches(cut, weights, within) {
            sum += arch.least(range);
            size += range.1 * (arch.slope.abs() + arch.curvature * range.1);
        }
        sum - ROUNDING * size
    };
    cuts.iter().map(of_cut).fold(ends.sum::<f64>() * (1.0 - ROUNDING), f64::max)
}

/// The lane in which a box loses most along the cut that can give most, and where to split it; `None` if no cut can give much
/// more than the bound.
fn best_split(
    cuts: &[DeviationCut],
    weights: &[f64],
    within: &DeviationBox,
    (moves, bound): (usize, f64),
) -> Option<(usize, f64)> {
    let most = |cut: &DeviationCut| {
        cut.after(moves) + arches(cut, weights, within).map(|(arch, range)| arch.most(range)).sum::<f64>()
    };
    let all = cuts.iter().map(|cut| (most(cut), cut));
    let (most, cut) = all.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let losses = arches(cut, weights, within)
        .map(|(arch, range)| (arch.most(range) - arch.least(range), arch.split(range)));
    let (lane, (_, middle)) =
        losses.enumerate().max_by(|a, b| a.1.0.total_cmp(&b.1.0).then(b.0.cmp(&a.0)))?;
    (most > bound + SMALL_GAIN * bound.abs()).then_some((lane, middle))
}

/// By lane, the arch beside a cut and the range of the deviation.
fn arches<'a>(
    cut: &'a DeviationCut,
    weights: &'a [f64],
    within: &'a DeviationBox,
) -> impl Iterator<Item = (Arch, (f64, f64))> + 'a {
    let arches = weights.iter().zip(&cut.lanes).map(|(weight, price)| Arch::of(*weight, *price));
    arches.zip(within.iter().copied())
}
