//! Cuts for nodes that share states. The slopes of a tangent differ by node, so all cuts are by prices of the variances.
//! Each is good near the deviations that it is for. So the ranges of the deviations are split, and each part gets its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ordered_float::OrderedFloat;

use super::cuts::{DeviationBox, bounded, within_margins};
use super::driver::PriceSearch;
use super::layout::Prices;
use super::proof::DeviationCut;
use crate::Deadline;

/// Maximum number of boxes that get a cut.
const MOST_BOXES: usize = 64;

/// Share of the deviations of the start where the first cut is.
const FIRST_AIM: f64 = 0.4;

/// All ranges are split first at this multiple of what the first cut finds. Beyond it, a deviation costs too much.
const OUTER: f64 = 2.0;

/// Proved cuts, and boxes that together hold all deviations that cost less than the highest cost.
pub(super) fn cover(
    search: &mut PriceSearch<'_>,
    least: &[f64],
    deadline: &Deadline,
) -> (Vec<DeviationCut>, Vec<DeviationBox>) {
    let aim: Vec<f64> = search.problem.deviations().iter().map(|start| FIRST_AIM * start).collect();
    search.set_squared(&aim);
    let found = search.first_climb(deadline);
    let all = search.ranges(least);
    let mut cover = Cover { search, cuts: Vec::new(), boxes: Vec::new(), open: BinaryHeap::new() };
    cover.add_outer(all, &found);
    for _ in 0..MOST_BOXES {
        if cover.split(deadline).is_none() {
            break;
        }
    }
    let Cover { cuts, boxes, open, .. } = cover;
    (cuts, open.into_iter().map(|Reverse((_, at))| boxes[at].0.clone()).collect())
}

struct Cover<'s, 'p> {
    search: &'s mut PriceSearch<'p>,
    cuts: Vec<DeviationCut>,
    /// The boxes, each with the prices from which its cut starts.
    boxes: Vec<(DeviationBox, Box<Prices>)>,
    /// The boxes that are not split, by what they cost at least.
    open: BinaryHeap<Reverse<(OrderedFloat<f64>, usize)>>,
}

impl Cover<'_, '_> {
    /// Adds a box around the deviations found, and for each lane one beyond it.
    fn add_outer(&mut self, mut rest: DeviationBox, found: &[f64]) {
        for (lane, found) in found.iter().enumerate() {
            let (low, high) = rest[lane];
            let middle = OUTER * found;
            if middle > low && middle < high {
                let mut beyond = rest.clone();
                beyond[lane] = (middle, high);
                self.add(beyond, f64::NEG_INFINITY);
                rest[lane] = (low, middle);
            }
        }
        self.add(rest, f64::NEG_INFINITY);
    }

    /// Adds a box that costs `floor` at least.
    fn add(&mut self, within: DeviationBox, floor: f64) {
        let bound = bounded(&self.cuts, &self.search.problem.weights, &within, self.search.most).max(floor);
        self.open.push(Reverse((OrderedFloat(bound), self.boxes.len())));
        self.boxes.push((within, self.search.prices.clone().into()));
    }

    /// Adds a cut for the box with the least cost, and splits the box where the cut loses most; `None` if that is
    /// of no use, or at the deadline.
    fn split(&mut self, deadline: &Deadline) -> Option<()> {
        let Reverse((bound, at)) = *self.open.peek()?;
        if bound.0 >= self.search.highest {
            return None;
        }
        let (within, prices) = self.boxes[at].clone();
        self.search.prices = prices.into_vec();
        let middles: Vec<f64> = within.iter().map(|(low, high)| f64::midpoint(*low, *high)).collect();
        self.search.set_squared(&middles);
        let found = self.search.add_cut(&mut self.cuts, deadline)?;
        self.open.pop();
        let weights = &self.search.problem.weights;
        let floor = bounded(&self.cuts, weights, &within, self.search.most).max(bound.0);
        // A chord of the square root is below it by this.
        let loss = |(lane, found): (usize, &f64)| {
            let (low, high) = within[lane];
            let y = found.clamp(low, high);
            (weights[lane] * (y - low) * (high - y) / (low + high), lane)
        };
        let losses = found.iter().enumerate().map(loss);
        let (_, lane) = losses.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
        let (low, high) = within[lane];
        let middle = within_margins(found[lane], (low, high));
        for half in [(low, middle), (middle, high)] {
            let mut part = within.clone();
            part[lane] = half;
            self.add(part, floor);
        }
        Some(())
    }
}
