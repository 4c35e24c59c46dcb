//! Finds good prices for a box of ranges by a second-order cone program.
//!
//! Its variables are, as shares of all nodes: the primaries and secondaries of each bundle of items at each level; the
//! nodes of each place, which is a level of a class of nodes; what arrives at each place, and the squares there; the
//! deviations; and by how much the squares are beyond their ranges, at a high price. It minimises the cost.

use clarabel::solver::SupportedConeT::{NonnegativeConeT, SecondOrderConeT, ZeroConeT};

use super::super::levels::ItemKind;
use super::super::program::{ProgramRows, ProgramSolution};
use super::figures::{Range, average, roles};
use super::nodes::FixedClass;
use super::prices::{RangeBox, RangePrices};
use super::problem::RangeProblem;

/// Price for what is beyond a range, as a multiple of the price along the chord.
const OF_EXCESS: f64 = 20.0;

/// Share of a bundle in one role at one level.
struct LevelShare {
    level: usize,
    bundle: usize,
    is_secondary: bool,
}

/// Prices of a box, and the figures of the placement that they are for.
pub(in super::super) struct Proposal {
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
    shares: Vec<LevelShare>,
    /// Positions of the rows that have prices of interest.
    first_rows: FirstRows,
}

#[derive(Default)]
struct FirstRows {
    /// Two for each deviation: chord and square of the upper end.
    deviations: usize,
    /// Two: below the upper end, and above the lower end; for each level above 0 as well.
    mean: usize,
    /// By figure and level: what the items bring is what arrives.
    arrivals: usize,
}

/// Good prices for a box; `None` if the solver finds none.
pub(in super::super) fn propose(
    problem: &RangeProblem,
    bundles: &[ItemKind],
    within: &RangeBox,
) -> Option<Proposal> {
    let mut shares = Vec::new();
    for level in 0..problem.costs.levels.len() {
        for (bundle, item) in bundles.iter().enumerate() {
            shares.push(LevelShare { level, bundle, is_secondary: false });
            if item.secondary.is_some() && level <= item.level {
                shares.push(LevelShare { level, bundle, is_secondary: true });
            }
        }
    }
    let mut layout = RangeProgram { problem, bundles, shares, first_rows: FirstRows::default() };
    let mut rows = ProgramRows::default();
    layout.everything_is_somewhere(&mut rows);
    layout.items_arrive(&mut rows, within);
    rows.cones.push(ZeroConeT(rows.height()));
    let before = rows.height();
    layout.ranges(&mut rows, within);
    layout.room(&mut rows, within);
    layout.nothing_is_negative(&mut rows);
    rows.cones.push(NonnegativeConeT(rows.height() - before));
    layout.squares(&mut rows, within);
    let mut objective = vec![0.0; layout.width()];
    for (lane, weight) in problem.costs.weights.iter().chain([&problem.costs.of_deviation]).enumerate() {
        let Range { low, high } = within.deviations[lane];
        objective[layout.deviation(lane)] = *weight;
        objective[layout.excess(lane)] =
            OF_EXCESS * weight * unit(high) / (low + high).max(f64::MIN_POSITIVE);
    }
    let price = OF_EXCESS * (problem.costs.of_sum * problem.nodes + problem.costs.of_deviation);
    let steps = problem.costs.levels.windows(2).map(|pair| pair[0] - pair[1]);
    for (figure, size) in [1.0].into_iter().chain(steps).enumerate() {
        objective[layout.out_of_range(figure)] = price * size;
    }
    for place in 0..layout.places() {
        objective[layout.node(place)] = problem.costs.of_sum * problem.nodes * layout.reserve(place);
    }
    let solution = rows.solve(&objective)?;
    Some(layout.proposal(&solution, within))
}

impl RangeProgram<'_> {
    fn lanes(&self) -> usize {
        self.problem.costs.weights.len()
    }

    fn levels(&self) -> usize {
        self.problem.costs.levels.len()
    }

    /// Number of places: each level in each class, those of a class after one another.
    fn places(&self) -> usize {
        self.problem.classes.len() * self.levels()
    }

    fn level(&self, place: usize) -> usize {
        place % self.levels()
    }

    fn class(&self, place: usize) -> &FixedClass {
        &self.problem.classes[place / self.levels()]
    }

    /// The reserve of a node at a place.
    fn reserve(&self, place: usize) -> f64 {
        self.problem.costs.levels[self.level(place)]
    }

    /// The share of nodes of a place.
    fn node(&self, place: usize) -> usize {
        self.shares.len() + place
    }

    /// The amount that arrives at a place, in the unit of the figure.
    fn arrival(&self, figure: usize, place: usize) -> usize {
        self.node(self.places()) + figure * self.places() + place
    }

    /// The mean square of a lane at a place, in units of the square of the lane's largest deviation.
    fn square(&self, lane: usize, place: usize) -> usize {
        self.arrival(self.problem.figures(), 0) + lane * self.places() + place
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
        self.out_of_range(self.levels())
    }

    fn amounts(&self, share: &LevelShare) -> &[f64] {
        let bundle = &self.bundles[share.bundle];
        if share.is_secondary { bundle.secondary.as_deref().unwrap_or_default() } else { &bundle.primary }
    }

    fn everything_is_somewhere(&self, rows: &mut ProgramRows) {
        for (bundle, item) in self.bundles.iter().enumerate() {
            for (_, is_secondary) in roles(item) {
                for (column, share) in self.shares.iter().enumerate() {
                    if share.bundle == bundle && share.is_secondary == is_secondary {
                        rows.put(column, 1.0);
                    }
                }
                rows.end(item.count / self.problem.nodes);
            }
        }
        for (class, details) in self.problem.classes.iter().enumerate() {
            let levels = self.levels();
            (0..levels).for_each(|level| rows.put(self.node(class * levels + level), 1.0));
            rows.end(details.count / self.problem.nodes);
        }
    }

    /// Rows by which the items of a level arrive on its nodes.
    fn items_arrive(&mut self, rows: &mut ProgramRows, within: &RangeBox) {
        self.first_rows.arrivals = rows.height();
        for figure in 0..self.problem.figures() {
            let unit = self.unit_of(figure, within);
            for level in 0..self.levels() {
                for (column, share) in
                    self.shares.iter().enumerate().filter(|(_, share)| share.level == level)
                {
                    let amount = self.amounts(share)[figure];
                    if amount != 0.0 {
                        rows.put(column, amount / unit);
                    }
                }
                for place in (0..self.places()).filter(|place| self.level(*place) == level) {
                    rows.put(self.arrival(figure, place), -1.0);
                }
                rows.end(0.0);
            }
        }
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
                    let is_counted = self.level(place) < figure;
                    let part =
                        if figure == 0 { self.reserve(place) } else { f64::from(u8::from(is_counted)) };
                    rows.put(self.node(place), sign * part);
                }
                rows.put(self.out_of_range(figure), -1.0);
                rows.end(end);
            }
        }
    }

    /// Rows by which no more arrives than there is room for.
    fn room(&self, rows: &mut ProgramRows, within: &RangeBox) {
        for figure in 0..self.problem.figures() {
            let unit = self.unit_of(figure, within);
            for place in 0..self.places() {
                let Range { low, high } = self.class(place).arrivals[figure];
                for (sign, end) in [(1.0, high), (-1.0, low)] {
                    rows.put(self.arrival(figure, place), sign);
                    rows.put(self.node(place), -sign * end / unit);
                    rows.end(0.0);
                }
            }
        }
    }

    /// Unit in which a figure is measured: for a limit, what all items take on average on a node.
    fn unit_of(&self, figure: usize, within: &RangeBox) -> f64 {
        if figure < self.lanes() {
            return unit(within.deviations[figure].high).sqrt();
        }
        average(&self.problem.items, figure, self.problem.nodes)
    }

    fn nothing_is_negative(&self, rows: &mut ProgramRows) {
        for column in (0..self.arrival(0, 0)).chain(self.excess(0)..self.width()) {
            rows.put(column, -1.0);
            rows.end(0.0);
        }
    }

    /// Cones by which the squares are not below those of the means.
    fn squares(&self, rows: &mut ProgramRows, within: &RangeBox) {
        for lane in 0..self.lanes() {
            let unit = self.unit_of(lane, within);
            for place in 0..self.places() {
                let offset = (self.class(place).fixed[lane] - self.problem.means[lane]) / unit;
                let (square, node) = (self.square(lane, place), self.node(place));
                rows.put(square, -1.0);
                rows.put(node, -1.0);
                rows.end(0.0);
                rows.put(self.arrival(lane, place), -2.0);
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
        let mut figures = rows.take(self.levels()).map(|row| row[0] - row[1]);
        prices.mean = figures.next().unwrap_or(0.0);
        prices.shares = figures.collect();
        for figure in 0..self.problem.figures() {
            let (first, unit) =
                (self.first_rows.arrivals + figure * self.levels(), self.unit_of(figure, within));
            prices.slopes.push(duals[first..][..self.levels()].iter().map(|price| price / unit).collect());
        }
        let mut nodes = vec![0.0; self.levels()];
        (0..places).for_each(|place| nodes[self.level(place)] += values[self.node(place)].max(0.0));
        let over = |of: &dyn Fn(f64) -> f64| -> f64 {
            nodes.iter().zip(&self.problem.costs.levels).map(|(share, level)| share * of(*level)).sum()
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
