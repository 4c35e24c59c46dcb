//! Proof of a bound for a box of ranges: for any prices, no placement in the box costs less than what this module
//! computes. Prices that are far from the best ones give a weak bound, not a wrong one.

use super::super::ROUNDING;
use super::super::careful::{CarefulCost, CarefulSum};
use super::super::levels::ItemKind;
use super::figures::{Range, roles};
use super::nodes::{Crowd, LoadedKind};
use super::problem::RangeProblem;

/// Ranges in which the figures of a placement are.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct RangeBox {
    /// The deviation of each lane, none below 0; the last one is that of the reserves' levels.
    pub deviations: Vec<Range>,
    /// The mean of the reserves' levels.
    pub mean: Range,
    /// For each level above 0, the share of the nodes with this level or a higher one.
    pub shares: Vec<Range>,
}

/// The prices of a proof; any numbers give a bound.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct RangePrices {
    /// For each lane, the price of its variance; the last one is that of the reserves' levels.
    pub variances: Vec<f64>,
    /// The price of the mean of the reserves' levels.
    pub mean: f64,
    /// For each level above 0, the price of the share of nodes with this level or a higher one.
    pub shares: Vec<f64>,
    /// For each figure and level, what an item pays for each unit that it brings to a node with this level.
    pub slopes: Vec<Vec<f64>>,
}

/// Lower bound of the cost of the placements in a box.
pub(super) fn bound(problem: &RangeProblem, within: &RangeBox, prices: &RangePrices) -> f64 {
    let mut sum = CarefulSum::default();
    let costs = &problem.costs;
    let lanes = costs.weights.len();
    let weights = costs.weights.iter().chain([&costs.of_deviation]);
    for ((weight, range), price) in weights.zip(&within.deviations).zip(&prices.variances) {
        add_chord(&mut sum, *weight, *range, price.max(0.0));
    }
    let Range { low, high } = within.mean;
    let of_reserves = prices.variances[lanes].max(0.0);
    // The square of the mean is below its chord.
    sum.add(of_reserves * low * high, of_reserves * low * high);
    add_range(&mut sum, within.mean, prices.mean);
    for (range, price) in within.shares.iter().zip(&prices.shares) {
        add_range(&mut sum, *range, *price);
    }
    let levels: Vec<f64> = (0..costs.levels.len())
        .map(|at| {
            let level = costs.levels[at];
            let shares: f64 = prices.shares[at.min(prices.shares.len())..].iter().sum();
            level * (costs.of_sum * problem.nodes + prices.mean + of_reserves * (level - low - high)) + shares
        })
        .collect();
    let placing = PricedLevels::of(problem, prices, levels);
    for kind in &problem.kinds {
        placing.add_nodes(&mut sum, kind);
    }
    placing.add_items(&mut sum);
    sum.lower()
}

/// Adds what a weighted deviation in a range is at least, apart from the price times the variance.
///
/// Part of the weight is on the chord, and the rest on the lower end of the range. A price beyond that of the chord is for
/// the variance that cannot be above the square of the upper end.
pub(in super::super) fn add_chord(sum: &mut CarefulSum, weight: f64, Range { low, high }: Range, price: f64) {
    let width = low + high;
    let on_chord = (price * width).min(weight);
    let beyond = if width > 0.0 { (price - on_chord / width).max(0.0) } else { price };
    let chord = if width > 0.0 { on_chord * low * high / width } else { 0.0 };
    let rest = (weight - on_chord).max(0.0) * low;
    sum.add(chord + rest - beyond * high * high, chord + rest + (beyond + price) * high * high);
}

/// Adds what a price for a figure in a range takes at most.
fn add_range(sum: &mut CarefulSum, Range { low, high }: Range, price: f64) {
    let most = (price * low).max(price * high);
    sum.add(-most, (price * low).abs() + (price * high).abs());
}

/// The costs of nodes and items at each level, by some prices.
struct PricedLevels<'a> {
    problem: &'a RangeProblem,
    prices: &'a RangePrices,
    /// By level, what a node costs with it, apart from its values.
    levels: Vec<f64>,
    /// By item, for its primary and its secondary, the costs at each level; infinite where the level is too low.
    items: Vec<[Vec<CarefulCost>; 2]>,
    /// By item and role, the least of these costs.
    least: Vec<[CarefulCost; 2]>,
}

impl<'a> PricedLevels<'a> {
    fn of(problem: &'a RangeProblem, prices: &'a RangePrices, levels: Vec<f64>) -> PricedLevels<'a> {
        let cost = |amounts: &[f64], level: usize| {
            CarefulCost::paid(amounts, prices.slopes.iter().map(|slopes| &slopes[level]))
        };
        let of_item = |item: &ItemKind| {
            let mut costs = [Vec::new(), Vec::new()];
            for (amounts, is_secondary) in roles(item) {
                let at_level = |level: usize| {
                    if is_secondary && level > item.level { CarefulCost::NEVER } else { cost(amounts, level) }
                };
                costs[usize::from(is_secondary)] = (0..levels.len()).map(at_level).collect();
            }
            costs
        };
        let items: Vec<[Vec<CarefulCost>; 2]> = problem.items.iter().map(of_item).collect();
        let least = items.iter().map(|roles| [least_of(&roles[0]), least_of(&roles[1])]).collect();
        PricedLevels { problem, prices, levels, items, least }
    }

    /// Adds the nodes of a kind, each at the level where it costs least.
    fn add_nodes(&self, sum: &mut CarefulSum, kind: &LoadedKind) {
        let mut least = CarefulCost::NEVER;
        for level in 0..self.levels.len() {
            least = least.or(self.at_level(kind, level));
        }
        let share = kind.count / self.problem.nodes;
        sum.add(share * least.value, share * least.size);
    }

    /// The least cost of a node at a level, with or without more than its limits.
    fn at_level(&self, kind: &LoadedKind, level: usize) -> CarefulCost {
        let mut least = self.node(kind, &kind.arrivals, level, None);
        if let Some(crowd) = &kind.crowd {
            for figure in &crowd.beyond {
                least = least.or(self.crowded(kind, crowd, level, *figure));
            }
        }
        least
    }

    /// The cost of a node at a level, less what the arrivals pay. Another slope can take the place of that of one figure.
    fn node(
        &self,
        kind: &LoadedKind,
        arrivals: &[Range],
        level: usize,
        other: Option<(usize, f64)>,
    ) -> CarefulCost {
        let of_level = self.levels[level];
        let mut cost = CarefulCost::of(of_level);
        for (figure, range) in arrivals.iter().enumerate() {
            let slope =
                other.filter(|other| other.0 == figure).map_or(self.prices.slopes[figure][level], |o| o.1);
            cost = cost.and(self.response(kind, figure, *range, slope));
        }
        cost
    }

    /// The least of a figure's priced square less what the arrivals pay, if these are in a range.
    fn response(
        &self,
        kind: &LoadedKind,
        figure: usize,
        Range { low, high }: Range,
        slope: f64,
    ) -> CarefulCost {
        let (price, mean, fixed) = match self.problem.means.get(figure) {
            Some(mean) => (self.prices.variances[figure].max(0.0), *mean, kind.fixed[figure]),
            None => (0.0, 0.0, 0.0),
        };
        let lowest = mean - fixed + slope / (2.0 * price);
        let at = if lowest.is_nan() { low } else { lowest.clamp(low, high) };
        let (square, paid) = (price * (fixed + at - mean).powi(2), slope * at);
        let size = price * (fixed.abs() + at.abs() + mean.abs()).powi(2);
        CarefulCost { value: square - paid, size: size + paid.abs() }
    }

    /// The cost of a node that keeps some of its items beyond the limit of a figure. Nothing else adds to the figure, so
    /// any slope gives a bound. The best of some counts.
    fn crowded(&self, kind: &LoadedKind, crowd: &Crowd, level: usize, figure: usize) -> CarefulCost {
        let own = self.prices.slopes[figure][level];
        let steepness = self.problem.means.get(figure).map(|mean| {
            let price = self.prices.variances[figure].max(0.0);
            [kind.arrivals[figure], crowd.arrivals[figure]]
                .map(|range| [range.low, range.high])
                .map(|ends| ends.map(|at| 2.0 * price * (kind.fixed[figure] + at - mean)))
        });
        let ends = steepness.into_iter().flatten().flatten();
        let mut best: Option<CarefulCost> = None;
        for slope in [own, 0.0].into_iter().chain(ends) {
            let mut cost = self.node(kind, &crowd.arrivals, level, Some((figure, slope)));
            for (item, is_secondary) in &crowd.items {
                cost = cost.and(self.gain(*item, *is_secondary, level, (figure, slope)));
            }
            if best.is_none_or(|best| cost.value > best.value) {
                best = Some(cost);
            }
        }
        best.unwrap_or(CarefulCost::NEVER)
    }

    /// The cost of an item at a level with another slope of a figure, less its least cost. It is never above 0, as the item
    /// may be elsewhere.
    fn gain(
        &self,
        item: usize,
        is_secondary: bool,
        level: usize,
        (figure, slope): (usize, f64),
    ) -> CarefulCost {
        let costs = &self.items[item][usize::from(is_secondary)];
        let Some(here) = costs.get(level).filter(|here| here.value.is_finite()) else {
            return CarefulCost::default();
        };
        let least = self.least[item][usize::from(is_secondary)];
        let kind = &self.problem.items[item];
        let amounts = if is_secondary { kind.secondary.as_ref() } else { Some(&kind.primary) };
        let amount = amounts.map_or(0.0, |amounts| amounts[figure]);
        let other = (slope - self.prices.slopes[figure][level]) * amount;
        let size = (slope * amount).abs() + least.size + here.size;
        CarefulCost { value: (here.value + other - least.value).min(0.0), size }
    }

    /// Adds the items, each at the level where it costs least.
    fn add_items(&self, sum: &mut CarefulSum) {
        for (item, roles) in self.problem.items.iter().zip(&self.least) {
            for least in roles.iter().filter(|least| least.value.is_finite()) {
                let share = item.count / self.problem.nodes;
                sum.add(share * least.value, share * least.size);
            }
        }
    }
}

/// The least of some costs, with the size of the largest.
fn least_of(costs: &[CarefulCost]) -> CarefulCost {
    costs.iter().copied().fold(CarefulCost::NEVER, CarefulCost::or)
}

/// The costs of nodes and items by some prices, for any numbers of nodes by level.
pub(in super::super) struct CostsByLevel {
    /// For each level, a number that no node costs less than there, apart from its reserve.
    pub levels: Vec<f64>,
    /// For each item, the least cost of its primary and of its secondary.
    pub items: Vec<[f64; 2]>,
    /// The sum of these costs by node, and the sum of their sizes.
    pub paid: (f64, f64),
}

/// The costs of nodes and items by the prices of the variances and the slopes.
pub(in super::super) fn costs_by_level(problem: &RangeProblem, prices: &RangePrices) -> CostsByLevel {
    let placing = PricedLevels::of(problem, prices, vec![0.0; problem.costs.levels.len()]);
    let of_level = |level: usize| {
        let of_kind = |kind: &LoadedKind| placing.at_level(kind, level);
        let least = problem.kinds.iter().map(of_kind).fold(CarefulCost::NEVER, CarefulCost::or);
        least.value - ROUNDING * least.size
    };
    let (mut items, mut sum, mut size) = (Vec::new(), 0.0, 0.0);
    for (item, roles) in problem.items.iter().zip(&placing.least) {
        for least in roles.iter().filter(|least| least.value.is_finite()) {
            let share = item.count / problem.nodes;
            sum += share * least.value;
            size += share * least.size;
        }
        items.push([0, 1].map(|role| if roles[role].value.is_finite() { roles[role].value } else { 0.0 }));
    }
    CostsByLevel { levels: (0..problem.costs.levels.len()).map(of_level).collect(), items, paid: (sum, size) }
}
