//! Finds good prices for a box of ranges by a second-order cone program.
//!
//! Its variables are, as shares of all nodes: the primaries and secondaries of each bundle of items at each place (a
//! level of a class of nodes), the nodes of each place, and the squares of each lane and place; the deviations; and by how
//! much the squares are beyond their ranges, at a high price. It minimises the cost.

use clarabel::solver::SupportedConeT::{NonnegativeConeT, SecondOrderConeT, ZeroConeT};

use super::super::levels::ItemKind;
use super::super::program::{ProgramRows, ProgramSolution};
use super::prices::{Range, RangeBox, RangePrices};
use super::problem::RangeProblem;

/// Price for what is beyond a range, as a multiple of the price along the chord.
const OF_EXCESS: f64 = 20.0;

/// Share of a bundle in one role at one place.
struct PlaceShare {
    place: usize,
    bundle: usize,
    is_secondary: bool,
}

/// Prices of a box, and the figures of the placement that they are for.
pub(super) struct Proposal {
    pub prices: RangePrices,
    /// For each lane, its variance; the last one is that of the reserves' levels.
    pub variances: Vec<f64>,
    /// The mean of the reserves' levels.
    pub mean: f64,
    /// For each level above 0, the share of nodes with this level or a higher one.
    pub shares: Vec<f64>,
}

/// A cone program: positions of its variables.
struct RangeProgram<'a> {
    problem: &'a RangeProblem,
    bundles: &'a [ItemKind],
    shares: Vec<PlaceShare>,
    /// Positions of the rows that have prices of interest.
    first_rows: FirstRows,
}

#[derive(Default)]
struct FirstRows {
    /// Two for each deviation: chord and square of the upper end.
    deviations: usize,
    /// Two: below the upper end, and above the lower end; for each level above 0 as well.
    mean: usize,
    /// By limit and level.
    limits: usize,
    /// By lane and level, three rows each.
    squares: usize,
}

/// Good prices for a box; `None` if the solver finds none.
pub(super) fn propose(problem: &RangeProblem, bundles: &[ItemKind], within: &RangeBox) -> Option<Proposal> {
    let mut shares = Vec::new();
    for place in 0..problem.places() {
        for (bundle, item) in bundles.iter().enumerate() {
            shares.push(PlaceShare { place, bundle, is_secondary: false });
            if item.secondary.is_some() && problem.level(place) <= item.level {
                shares.push(PlaceShare { place, bundle, is_secondary: true });
            }
        }
    }
    let mut layout = RangeProgram { problem, bundles, shares, first_rows: FirstRows::default() };
    let mut rows = ProgramRows::default();
    layout.everything_is_somewhere(&mut rows);
    let before = rows.height();
    layout.ranges(&mut rows, within);
    layout.limits(&mut rows);
    layout.nothing_is_negative(&mut rows);
    rows.cones.push(NonnegativeConeT(rows.height() - before));
    layout.squares(&mut rows, within);
    let mut objective = vec![0.0; layout.width()];
    for (lane, weight) in problem.weights.iter().chain([&problem.of_deviation]).enumerate() {
        let Range { low, high } = within.deviations[lane];
        objective[layout.deviation(lane)] = *weight;
        objective[layout.excess(lane)] =
            OF_EXCESS * weight * unit(high) / (low + high).max(f64::MIN_POSITIVE);
    }
    let price = OF_EXCESS * (problem.of_sum * problem.nodes + problem.of_deviation);
    let steps = problem.levels.windows(2).map(|pair| pair[0] - pair[1]);
    for (figure, size) in [1.0].into_iter().chain(steps).enumerate() {
        objective[layout.out_of_range(figure)] = price * size;
    }
    for place in 0..problem.places() {
        objective[layout.node(place)] = problem.of_sum * problem.nodes * layout.reserve(place);
    }
    let solution = rows.solve(&objective)?;
    Some(layout.proposal(&solution, within))
}

impl RangeProgram<'_> {
    fn lanes(&self) -> usize {
        self.problem.weights.len()
    }

    fn places(&self) -> usize {
        self.problem.places()
    }

    /// The reserve of a node at a place.
    fn reserve(&self, place: usize) -> f64 {
        self.problem.levels[self.problem.level(place)]
    }

    /// The share of nodes of a place.
    fn node(&self, place: usize) -> usize {
        self.shares.len() + place
    }

    /// The mean square of a lane at a place, in units of the square of the lane's largest deviation.
    fn square(&self, lane: usize, place: usize) -> usize {
        self.node(self.places()) + lane * self.places() + place
    }

    /// The deviation of a lane, or that of the reserves' levels after all lanes.
    fn deviation(&self, lane: usize) -> usize {
        self.square(self.lanes(), 0) + lane
    }

    /// By how much a variance is beyond its range.
    fn excess(&self, lane: usize) -> usize {
        self.deviation(self.lanes()) + 1 + lane
    }

    /// By how much the mean of the levels (0) or the share of nodes with a level is out of its range.
    fn out_of_range(&self, figure: usize) -> usize {
        self.excess(self.lanes()) + 1 + figure
    }

    fn width(&self) -> usize {
        self.out_of_range(self.problem.levels.len())
    }

    fn amounts(&self, share: &PlaceShare) -> &[f64] {
        let bundle = &self.bundles[share.bundle];
        if share.is_secondary { bundle.secondary.as_deref().unwrap_or_default() } else { &bundle.primary }
    }

    fn everything_is_somewhere(&self, rows: &mut ProgramRows) {
        for (bundle, item) in self.bundles.iter().enumerate() {
            for (_, is_secondary) in RangeProblem::roles(item) {
                for (column, share) in self.shares.iter().enumerate() {
                    if share.bundle == bundle && share.is_secondary == is_secondary {
                        rows.put(column, 1.0);
                    }
                }
                rows.end(item.count / self.problem.nodes);
            }
        }
        for class in 0..self.problem.classes.len() {
            let levels = self.problem.levels.len();
            (0..levels).for_each(|level| rows.put(self.node(class * levels + level), 1.0));
            rows.end(self.problem.classes[class].count / self.problem.nodes);
        }
        rows.cones.push(ZeroConeT(rows.height()));
    }

    /// Rows by which the figures are in their ranges, and deviations above their chords.
    fn ranges(&mut self, rows: &mut ProgramRows, within: &RangeBox) {
        self.first_rows.deviations = rows.height();
        let mean = within.mean;
        for (lane, range) in within.deviations.iter().enumerate() {
            let unit = unit(range.high);
            let put_variance = |rows: &mut ProgramRows, factor: f64| {
                for place in 0..self.places() {
                    if lane < self.lanes() {
                        rows.put(self.square(lane, place), factor);
                    } else {
                        let reserve = self.reserve(place);
                        let square = reserve * (reserve - mean.low - mean.high);
                        rows.put(self.node(place), factor * square / unit);
                    }
                }
            };
            // In units of the square of the upper end.
            let known = if lane < self.lanes() { 0.0 } else { mean.low * mean.high / unit };
            let width = (range.low + range.high).max(f64::MIN_POSITIVE);
            put_variance(rows, unit / width);
            rows.put(self.deviation(lane), -1.0);
            rows.end(-(range.low * range.high + known * unit) / width);
            put_variance(rows, 1.0);
            rows.put(self.excess(lane), -1.0);
            rows.end(range.high * range.high / unit - known);
        }
        for (lane, range) in within.deviations.iter().enumerate() {
            rows.put(self.deviation(lane), -1.0);
            rows.end(-range.low);
        }
        self.first_rows.mean = rows.height();
        let figures = [mean].into_iter().chain(within.shares.iter().copied());
        for (figure, range) in figures.enumerate() {
            for (sign, end) in [(1.0, range.high), (-1.0, -range.low)] {
                for place in 0..self.places() {
                    let is_counted = self.problem.level(place) < figure;
                    let part =
                        if figure == 0 { self.reserve(place) } else { f64::from(u8::from(is_counted)) };
                    rows.put(self.node(place), sign * part);
                }
                rows.put(self.out_of_range(figure), -1.0);
                rows.end(end);
            }
        }
    }

    /// Rows by which the items of a level have room on its nodes.
    fn limits(&mut self, rows: &mut ProgramRows) {
        self.first_rows.limits = rows.height();
        let units = self.problem.units();
        for limit in 0..self.problem.limits {
            let unit = units[limit];
            for place in 0..self.places() {
                for (column, share) in
                    self.shares.iter().enumerate().filter(|(_, share)| share.place == place)
                {
                    let amount = self.amounts(share)[self.lanes() + limit];
                    if amount != 0.0 {
                        rows.put(column, amount / unit);
                    }
                }
                rows.put(self.node(place), -self.problem.class(place).rooms[limit] / unit);
                rows.end(0.0);
            }
        }
    }

    fn nothing_is_negative(&self, rows: &mut ProgramRows) {
        for column in (0..self.square(0, 0)).chain(self.excess(0)..self.width()) {
            rows.put(column, -1.0);
            rows.end(0.0);
        }
    }

    /// Cones by which the squares are not below those of the means.
    fn squares(&mut self, rows: &mut ProgramRows, within: &RangeBox) {
        self.first_rows.squares = rows.height();
        for lane in 0..self.lanes() {
            let unit = unit(within.deviations[lane].high).sqrt();
            for place in 0..self.places() {
                let offset = (self.problem.class(place).fixed[lane] - self.problem.means[lane]) / unit;
                let (square, node) = (self.square(lane, place), self.node(place));
                rows.put(square, -1.0);
                rows.put(node, -1.0);
                rows.end(0.0);
                for (column, share) in
                    self.shares.iter().enumerate().filter(|(_, share)| share.place == place)
                {
                    let amount = self.amounts(share)[lane];
                    if amount != 0.0 {
                        rows.put(column, -2.0 * amount / unit);
                    }
                }
                rows.put(node, -2.0 * offset);
                rows.end(0.0);
                rows.put(square, -1.0);
                rows.put(node, 1.0);
                rows.end(0.0);
                rows.cones.push(SecondOrderConeT(3));
            }
        }
    }

    /// The prices and figures of a solution.
    fn proposal(&self, solution: &ProgramSolution, within: &RangeBox) -> Proposal {
        let (values, duals) = (&solution.values, &solution.prices);
        let (places, lanes) = (self.places(), self.lanes());
        let mut variances = Vec::new();
        let mut prices = RangePrices::default();
        for (lane, range) in within.deviations.iter().enumerate() {
            let unit = unit(range.high);
            let [chord, end] = [0, 1].map(|row| duals[self.first_rows.deviations + 2 * lane + row]);
            let width = (range.low + range.high).max(f64::MIN_POSITIVE);
            prices.variances.push((chord / width + end / unit).max(0.0));
            if lane < lanes {
                variances.push((0..places).map(|place| values[self.square(lane, place)]).sum::<f64>() * unit);
            }
        }
        let rows = duals[self.first_rows.mean..].chunks_exact(2);
        let mut figures = rows.take(self.problem.levels.len()).map(|row| row[0] - row[1]);
        prices.mean = figures.next().unwrap_or(0.0);
        prices.shares = figures.collect();
        for lane in 0..lanes {
            let unit = unit(within.deviations[lane].high).sqrt();
            let tangent = |place: usize| {
                let row = self.first_rows.squares + 3 * (lane * places + place);
                let size = duals[row] + duals[row + 2];
                let z = -duals[row + 1] / size * unit;
                if z.is_finite() { z } else { 0.0 }
            };
            prices.tangents.push((0..places).map(tangent).collect());
        }
        let units = self.problem.units();
        for limit in 0..self.problem.limits {
            let first = self.first_rows.limits + limit * places;
            let price = |place: usize| duals[first + place].max(0.0) / units[limit];
            prices.limits.push((0..places).map(price).collect());
        }
        let mut nodes = vec![0.0; self.problem.levels.len()];
        (0..places).for_each(|place| nodes[self.problem.level(place)] += values[self.node(place)].max(0.0));
        let over = |of: &dyn Fn(f64) -> f64| -> f64 {
            nodes.iter().zip(&self.problem.levels).map(|(share, level)| share * of(*level)).sum()
        };
        let mean = over(&|level| level);
        variances.push((over(&|level| level * level) - mean * mean).max(0.0));
        let mut higher = 0.0;
        let shares = nodes[..nodes.len() - 1].iter().map(|share| {
            higher += share;
            higher
        });
        Proposal { shares: shares.collect(), prices, variances, mean }
    }
}

/// The unit of a lane's squares.
fn unit(high: f64) -> f64 {
    (high * high).max(1e-12)
}
