//! Proof of a bound for a box of ranges: for any prices, no placement in the box costs less than what this module
//! computes. Prices that are far from the best ones give a weak bound, not a wrong one.

use super::super::careful::CarefulSum;
use super::super::levels::ItemKind;
use super::problem::{LoadedKind, RangeProblem};

/// Numbers in a range, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    pub low: f64,
    pub high: f64,
}

/// Ranges in which the figures of a placement are.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RangeBox {
    /// The deviation of each lane, none below 0; the last one is that of the reserves' levels.
    pub deviations: Vec<Range>,
    /// The mean of the reserves' levels.
    pub mean: Range,
    /// For each level above 0, the share of the nodes with this level or a higher one.
    pub shares: Vec<Range>,
}

/// The prices of a proof; any numbers give a bound.
#[derive(Debug, Clone, Default)]
pub(super) struct RangePrices {
    /// For each lane, the price of its variance; the last one is that of the reserves' levels.
    pub variances: Vec<f64>,
    /// The price of the mean of the reserves' levels.
    pub mean: f64,
    /// For each level above 0, the price of the share of nodes with this level or a higher one.
    pub shares: Vec<f64>,
    /// For each lane and place (a level of a class), the distance from the mean at which the square is replaced by its tangent.
    pub tangents: Vec<Vec<f64>>,
    /// For each limit and place, the price of what is taken.
    pub limits: Vec<Vec<f64>>,
}

/// Lower bound of the cost of the placements in a box.
pub(super) fn bound(problem: &RangeProblem, within: &RangeBox, prices: &RangePrices) -> f64 {
    let mut sum = CarefulSum::default();
    let lanes = problem.weights.len();
    let weights = problem.weights.iter().chain([&problem.of_deviation]);
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
    let levels: Vec<f64> = (0..problem.levels.len())
        .map(|at| {
            let level = problem.levels[at];
            let shares: f64 = prices.shares[at.min(prices.shares.len())..].iter().sum();
            level * (problem.of_sum * problem.nodes + prices.mean + of_reserves * (level - low - high))
                + shares
        })
        .collect();
    let placing = PricedPlaces::of(problem, prices, levels);
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
fn add_chord(sum: &mut CarefulSum, weight: f64, Range { low, high }: Range, price: f64) {
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

/// A cost, and the size of the terms that it was computed from.
#[derive(Debug, Clone, Copy)]
struct Cost {
    value: f64,
    size: f64,
}

/// A cost that is never the least.
const NEVER: Cost = Cost { value: f64::INFINITY, size: 0.0 };

/// The costs of nodes and items at each level, by some prices.
struct PricedPlaces<'a> {
    problem: &'a RangeProblem,
    prices: &'a RangePrices,
    /// By level, what a node costs with it, apart from its values and rooms.
    levels: Vec<f64>,
    /// By item, for its primary and its secondary, the costs at each place; infinite where the level is too low.
    items: Vec<[Vec<Cost>; 2]>,
}

impl<'a> PricedPlaces<'a> {
    fn of(problem: &'a RangeProblem, prices: &'a RangePrices, levels: Vec<f64>) -> PricedPlaces<'a> {
        let lanes = problem.weights.len();
        // By place, the price of each amount.
        let of_place = |place: usize| -> Vec<f64> {
            let slope = |lane: usize| 2.0 * prices.variances[lane].max(0.0) * prices.tangents[lane][place];
            let limits = prices.limits.iter().map(|limit| limit[place].max(0.0));
            (0..lanes).map(slope).chain(limits).collect()
        };
        let by_place: Vec<Vec<f64>> = (0..problem.places()).map(of_place).collect();
        let cost = |amounts: &[f64], slopes: &Vec<f64>| {
            let parts = || amounts.iter().zip(slopes).map(|(amount, slope)| amount * slope);
            Cost { value: parts().sum(), size: parts().map(f64::abs).sum() }
        };
        let of_item = |item: &ItemKind| {
            let mut costs = [Vec::new(), Vec::new()];
            for (amounts, is_secondary) in RangeProblem::roles(item) {
                let of_place = |(place, slopes)| {
                    let is_too_low = is_secondary && problem.level(place) > item.level;
                    if is_too_low { NEVER } else { cost(amounts, slopes) }
                };
                costs[usize::from(is_secondary)] = by_place.iter().enumerate().map(of_place).collect();
            }
            costs
        };
        let items = problem.items.iter().map(of_item).collect();
        PricedPlaces { problem, prices, levels, items }
    }

    /// Adds the nodes of a kind, each at the level where it costs least.
    fn add_nodes(&self, sum: &mut CarefulSum, kind: &LoadedKind) {
        let mut least = self.node(kind, &kind.rooms, None);
        if let Some(crowd) = &kind.crowd {
            for limit in (0..crowd.beyond.len()).filter(|limit| crowd.beyond[*limit]) {
                let kept = self.node(kind, &crowd.rooms, Some((limit, &crowd.items)));
                least = Cost { value: least.value.min(kept.value), size: least.size.max(kept.size) };
            }
        }
        let share = kind.count / self.problem.nodes;
        sum.add(share * least.value, share * least.size);
    }

    /// The least cost of a node with these rooms. If it keeps some of its items beyond a limit, that one has no price.
    fn node(&self, kind: &LoadedKind, rooms: &[f64], kept: Option<(usize, &[(usize, bool)])>) -> Cost {
        let mut least = NEVER;
        for (level, of_level) in self.levels.iter().enumerate() {
            let place = kind.class * self.levels.len() + level;
            let (mut cost, mut all) = (*of_level, of_level.abs());
            for (lane, tangents) in self.prices.tangents.iter().enumerate() {
                let (price, z) = (self.prices.variances[lane].max(0.0), tangents[place]);
                let (fixed, mean) = (kind.fixed[lane], self.problem.means[lane]);
                cost += price * z * (2.0 * (fixed - mean) - z);
                all += price * z.abs() * (2.0 * (fixed.abs() + mean.abs()) + z.abs());
            }
            for (limit, room) in rooms.iter().enumerate() {
                if kept.is_none_or(|kept| kept.0 != limit) {
                    let part = self.prices.limits[limit][place].max(0.0) * room;
                    cost -= part;
                    all += part;
                }
            }
            if let Some((limit, items)) = kept {
                for (item, is_secondary) in items {
                    let gain = self.gain(*item, *is_secondary, place, limit);
                    cost += gain.value;
                    all += gain.size;
                }
            }
            least = Cost { value: least.value.min(cost), size: least.size.max(all) };
        }
        least
    }

    /// The cost of an item at a place where a limit has no price, less its least cost. It is never above 0, as the item
    /// may be elsewhere.
    fn gain(&self, item: usize, is_secondary: bool, place: usize, limit: usize) -> Cost {
        let none = Cost { value: 0.0, size: 0.0 };
        let costs = &self.items[item][usize::from(is_secondary)];
        let Some(here) = costs.get(place).filter(|here| here.value.is_finite()) else { return none };
        let least = least_of(costs);
        let kind = &self.problem.items[item];
        let amounts = if is_secondary { kind.secondary.as_ref() } else { Some(&kind.primary) };
        let amount = amounts.map_or(0.0, |amounts| amounts[self.problem.weights.len() + limit]);
        let without = self.prices.limits[limit][place].max(0.0) * amount;
        Cost { value: (here.value - without - least.value).min(0.0), size: least.size + here.size }
    }

    /// Adds the items, each at the level where it costs least.
    fn add_items(&self, sum: &mut CarefulSum) {
        for (item, roles) in self.problem.items.iter().zip(&self.items) {
            for costs in roles.iter().filter(|costs| !costs.is_empty()) {
                let least = least_of(costs);
                let share = item.count / self.problem.nodes;
                sum.add(share * least.value, share * least.size);
            }
        }
    }
}

/// The least of some costs, with the size of the largest.
fn least_of(costs: &[Cost]) -> Cost {
    costs.iter().fold(NEVER, |least, cost| Cost {
        value: least.value.min(cost.value),
        size: least.size.max(cost.size),
    })
}
