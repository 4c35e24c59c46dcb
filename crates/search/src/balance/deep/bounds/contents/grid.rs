//! The part of the grid that contents of nodes can be on, if the deviations are in known ranges.

use super::super::ranges::Range;
use super::problem::{ContentLane, ContentProblem, LaneSource, OWN};

/// Maximum number of cells of the table of primaries, and of steps to fill it.
const MOST_CELLS: usize = 8_000_000;
const MOST_STEPS: usize = 300_000_000;

/// The grid reaches farther than one part needs, so that cuts hold for other parts, too.
pub(super) const WIDER: f64 = 1.1;

/// A lane has fewer units than this.
const MOST_UNITS: f64 = 1e6;

/// Margin for what is rounded, in units of the grid.
const ROUNDED: f64 = 1e-6;

/// A stretch of whole numbers, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WholeRange {
    pub low: usize,
    pub high: usize,
}

/// Contents that nodes can have, on a grid of whole amounts.
#[derive(Debug, Clone)]
pub(super) struct ContentGrid {
    /// For each lane, how far a value can be from the mean.
    pub reach: Vec<f64>,
    pub own: [WholeRange; OWN],
    pub shared: WholeRange,
    /// The most primaries and secondaries.
    pub most: [usize; 2],
    /// Number of steps to fill the table of primaries.
    pub steps: usize,
}

impl ContentGrid {
    /// The grid for placements whose deviations are not above the given ones; `None` if it is too large.
    pub(super) fn of(problem: &ContentProblem<'_>, ranges: &[Range]) -> Option<ContentGrid> {
        // One value can be sqrt(N - 1) deviations from the mean.
        let far = (problem.nodes as f64 - 1.0).sqrt() * (1.0 + ROUNDED) * WIDER;
        let reach: Vec<f64> = ranges.iter().map(|range| far * range.high).collect();
        let unlimited = WholeRange { low: 0, high: usize::MAX };
        let (mut own, mut shared, mut most) = ([unlimited; OWN], unlimited, [usize::MAX; 2]);
        for (lane, reach) in problem.lanes.iter().zip(&reach) {
            match lane.source {
                LaneSource::Own(dimension, unit) => own[dimension].meet(lane.units(*reach, unit)?),
                LaneSource::Shared(unit) => shared.meet(lane.units(*reach, unit)?),
                LaneSource::Roles(primary, secondary) => {
                    for (most, unit) in most.iter_mut().zip([primary, secondary]).filter(|of| of.1 != 0.0) {
                        *most = (*most).min(lane.most_units(*reach, unit)?);
                    }
                }
            }
        }
        let fewest = |amounts: &mut dyn Iterator<Item = usize>| amounts.min().filter(|least| *least > 0);
        for (dimension, range) in own.iter().enumerate() {
            if let Some(least) = fewest(&mut problem.primaries.iter().map(|of| of.own[dimension])) {
                most[0] = most[0].min(range.high / least);
            }
        }
        if let Some(least) = fewest(&mut problem.primaries.iter().map(|of| of.shared)) {
            most[0] = most[0].min(shared.high / least);
        }
        if let Some(least) = fewest(&mut problem.secondaries.iter().map(|of| of.shared)) {
            most[1] = most[1].min(shared.high / least);
        }
        for range in own.iter_mut().chain([&mut shared]).filter(|range| **range == unlimited) {
            range.high = 0;
        }
        let sides = [most[0], own[0].high, own[1].high, shared.high];
        let cells = sides.iter().try_fold(1, |cells: usize, side| cells.checked_mul(side.checked_add(1)?))?;
        let steps = cells.checked_mul(problem.primaries.len())?;
        let is_small =
            cells <= MOST_CELLS && steps <= MOST_STEPS && most[1] <= MOST_CELLS / (shared.high + 1);
        is_small.then_some(ContentGrid { reach, own, shared, most, steps })
    }

    /// Returns true if deviations up to these keep nodes on the grid.
    pub(super) fn covers(&self, problem: &ContentProblem<'_>, ranges: &[Range]) -> bool {
        let far = (problem.nodes as f64 - 1.0).sqrt();
        self.reach.iter().zip(ranges).all(|(reach, range)| far * range.high <= *reach)
    }
}

impl WholeRange {
    fn meet(&mut self, other: WholeRange) {
        self.low = self.low.max(other.low);
        self.high = self.high.min(other.high);
    }

    pub(super) fn contains(self, number: usize) -> bool {
        self.low <= number && number <= self.high
    }
}

impl ContentLane {
    /// The square of the difference of the mean and the value with what arrives.
    pub(super) fn square(&self, arrives: f64) -> f64 {
        (self.fixed + arrives - self.mean).powi(2)
    }

    /// Returns true if a value with these arrivals can be so far from the mean.
    pub(super) fn allows(&self, arrives: f64, reach: f64) -> bool {
        let margin = ROUNDED * (arrives.abs() + reach);
        let Range { low, high } = self.arrivals;
        self.square(arrives).sqrt() <= reach + margin && arrives >= low - margin && arrives <= high + margin
    }

    /// The numbers of units that may arrive; `None` if there are none.
    fn units(&self, reach: f64, unit: f64) -> Option<WholeRange> {
        let middle = self.mean - self.fixed;
        let least = (self.arrivals.low / unit).min(self.arrivals.high / unit);
        let low = (middle / unit - reach / unit.abs()).max(least) - ROUNDED;
        let range = WholeRange { low: low.ceil().max(0.0) as usize, high: self.most_units(reach, unit)? };
        (low.is_finite() && range.low <= range.high).then_some(range)
    }

    /// The most units that may arrive; `None` if none may.
    fn most_units(&self, reach: f64, unit: f64) -> Option<usize> {
        let middle = self.mean - self.fixed;
        let most = (self.arrivals.low / unit).max(self.arrivals.high / unit);
        let high = (middle / unit + reach / unit.abs()).min(most) + ROUNDED;
        (0.0..MOST_UNITS).contains(&high).then(|| high.floor() as usize)
    }
}
