//! The prices of the bound after some moves, as one vector for the ascent, and those that it leaves as they are.

use std::ops::Range;

use super::super::ROUNDING;
use super::super::vectors::{centred, dot};
use super::problem::{HomeNode, MoveProblem};

/// The prices that the ascent changes: see [`PriceLayout`].
pub(super) type Prices = [f64];

/// The price of the deviation of a lane in a cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LanePrice {
    /// By a tangent of this price times the deviation, with one slope for each node.
    Straight(f64),
    /// By this price of the variance, with a slope for each state of a node.
    Squared(f64),
}

impl LanePrice {
    fn is_straight(self) -> bool {
        matches!(self, LanePrice::Straight(_))
    }

    /// The price of the square of a node's distance from the mean; infinite for a tangent, which costs nothing.
    pub(super) fn of_square(self, nodes: f64) -> f64 {
        match self {
            LanePrice::Straight(_) => f64::INFINITY,
            LanePrice::Squared(price) => price / nodes,
        }
    }
}

/// Distances of some nodes from their mean, which are scaled so that they are the slopes of a tangent.
struct Tangent {
    /// With a length of 1.
    direction: Vec<f64>,
    /// Slope of a node with the distance 1 after scaling, and before it.
    price: f64,
    factor: f64,
}

/// The part of the prices that an ascent leaves as it is.
#[derive(Debug, Clone)]
pub(super) struct PriceSetting {
    pub lanes: Vec<LanePrice>,
    /// For each node, the price of its reserve, for each MiB.
    pub reserve: Vec<f64>,
    /// Maximum number of moves.
    pub moves: f64,
    /// For each price of a state, and for the price of a move, their natural size.
    pub scale: Vec<f64>,
    pub move_scale: f64,
    /// The smooth function may be below the least of two costs by about this much.
    pub blur: f64,
}

/// By state, a node that can take it. Tangents are only for states of single nodes.
fn owners(problem: &MoveProblem) -> Vec<usize> {
    let mut owners = vec![0; problem.states.len()];
    for (at, node) in problem.nodes.iter().enumerate() {
        owners[node.all_states()].fill(at);
    }
    owners
}

/// Positions in the prices: first those of each state, as far as they differ from those of their family and from those of
/// all states; then the price of a move, the share of it that each mobile pays for its primary, those of the families,
/// those of all states, and those of the lanes by node.
#[derive(Debug, Clone, Copy)]
pub(super) struct PriceLayout {
    pub width: usize,
    states: usize,
    mobiles: usize,
    families: usize,
    nodes: usize,
    lanes: usize,
}

impl PriceLayout {
    pub(super) fn of(problem: &MoveProblem) -> PriceLayout {
        PriceLayout {
            width: problem.width(),
            states: problem.states.len(),
            mobiles: problem.mirrored.len(),
            families: problem.families,
            nodes: problem.nodes.len(),
            lanes: problem.weights.len(),
        }
    }

    pub(super) fn move_price(&self) -> usize {
        self.states * self.width
    }

    /// The shares of the mobiles.
    pub(super) fn shares(&self) -> Range<usize> {
        self.move_price() + 1..self.move_price() + 1 + self.mobiles
    }

    /// The prices of a family; those of all states come after the last one.
    pub(super) fn family(&self, family: usize) -> usize {
        self.shares().end + family * self.width
    }

    /// The directions of the tangents at a node, by lane.
    pub(super) fn node(&self, node: usize) -> usize {
        self.family(self.families + 1) + node * self.lanes
    }

    /// Number of prices.
    pub(super) fn len(&self) -> usize {
        self.node(self.nodes)
    }

    /// The prices of each state, in one vector: of each lane's values, and of each limit.
    pub(super) fn slopes(&self, problem: &MoveProblem, setting: &PriceSetting, prices: &Prices) -> Vec<f64> {
        let all = &prices[self.family(self.families)..];
        let mut slopes = Vec::with_capacity(self.move_price());
        let tangents: Vec<Option<Tangent>> =
            (0..self.lanes).map(|lane| self.tangent(setting, prices, lane)).collect();
        for (at, (state, node)) in problem.states.iter().zip(owners(problem)).enumerate() {
            let own = &prices[at * self.width..][..self.width];
            let family = &prices[self.family(state.family)..][..self.width];
            for (column, ((own, family), all)) in own.iter().zip(family).zip(all).enumerate() {
                if let Some(tangent) = tangents.get(column).and_then(Option::as_ref) {
                    slopes.push(tangent.price * tangent.direction[node]);
                    continue;
                }
                let slope = (own + family + all) * setting.scale[column];
                slopes.push(match column.checked_sub(self.lanes) {
                    None => slope,
                    Some(limit) if state.has_price(limit) => slope.max(0.0),
                    Some(_) => 0.0,
                });
            }
        }
        slopes
    }

    /// The slopes of a lane as a tangent of its deviation: they add up to 0, and their squares to the square of the price over
    /// the number of nodes. `None` for another price.
    fn tangent(&self, setting: &PriceSetting, prices: &Prices, lane: usize) -> Option<Tangent> {
        let LanePrice::Straight(price) = setting.lanes[lane] else { return None };
        let mut direction = centred((0..self.nodes).map(|node| prices[self.node(node) + lane]).collect());
        let length = dot(&direction, &direction).sqrt();
        let factor = if length > f64::MIN_POSITIVE { 1.0 / length } else { 0.0 };
        direction.iter_mut().for_each(|x| *x *= factor);
        let price = price / (self.nodes as f64).sqrt() * (1.0 - ROUNDING);
        Some(Tangent { direction, price, factor: factor * price })
    }

    /// Sets the directions of the tangents.
    pub(super) fn point_at(&self, prices: &mut Prices, directions: &[Vec<f64>]) {
        for (lane, direction) in directions.iter().enumerate() {
            for (node, x) in direction.iter().enumerate() {
                prices[self.node(node) + lane] = *x;
            }
        }
    }

    /// Sets the slopes of each lane to those of its tangent, for prices of the variances.
    pub(super) fn spread(&self, problem: &MoveProblem, setting: &PriceSetting, prices: &mut Prices) {
        let slopes = self.slopes(problem, setting, prices);
        for state in 0..self.states {
            for lane in 0..self.lanes {
                let at = state * self.width + lane;
                prices[at] = slopes[at] / setting.scale[lane];
            }
        }
        for family in 0..=self.families {
            prices[self.family(family)..][..self.lanes].fill(0.0);
        }
    }

    /// Turns the gradient by slope, which is in the first part, into that by price.
    pub(super) fn by_price(
        &self,
        problem: &MoveProblem,
        setting: &PriceSetting,
        (slopes, prices): (&[f64], &Prices),
        gradient: &mut [f64],
    ) {
        let all = self.family(self.families);
        gradient[self.family(0)..].fill(0.0);
        for (at, (state, node)) in problem.states.iter().zip(owners(problem)).enumerate() {
            let family = self.family(state.family);
            for column in 0..self.width {
                let own = at * self.width + column;
                let change = gradient[own] * setting.scale[column];
                match column.checked_sub(self.lanes) {
                    None if setting.lanes[column].is_straight() => {
                        gradient[self.node(node) + column] += gradient[own];
                        gradient[own] = 0.0;
                        continue;
                    }
                    None => {}
                    // A price below 0 counts as 0, and may rise again.
                    Some(limit) => {
                        let is_at_the_end = slopes[own] <= 0.0 && change <= 0.0;
                        if is_at_the_end || !state.has_price(limit) {
                            gradient[own] = 0.0;
                            continue;
                        }
                    }
                }
                gradient[own] = change;
                gradient[all + column] += change;
                gradient[family + column] += change;
            }
        }
        self.along_tangents(setting, prices, gradient);
    }

    /// Turns the gradient by a node's slope along a tangent into that by the direction of the tangent.
    fn along_tangents(&self, setting: &PriceSetting, prices: &Prices, gradient: &mut [f64]) {
        for lane in 0..self.lanes {
            let Some(tangent) = self.tangent(setting, prices, lane) else { continue };
            let by_node = centred((0..self.nodes).map(|node| gradient[self.node(node) + lane]).collect());
            let along = dot(&by_node, &tangent.direction);
            for (node, (by_node, direction)) in by_node.iter().zip(&tangent.direction).enumerate() {
                gradient[self.node(node) + lane] = (by_node - along * direction) * tangent.factor;
            }
        }
    }

    /// For lanes with a tangent, the variance of the means of the nodes' states, from the gradient by slope.
    pub(super) fn add_variances(
        &self,
        problem: &MoveProblem,
        setting: &PriceSetting,
        gradient: &[f64],
        variances: &mut [f64],
    ) {
        for lane in (0..self.lanes).filter(|lane| setting.lanes[*lane].is_straight()) {
            let away = |node: &HomeNode| -> f64 {
                node.all_states().map(|state| gradient[state * self.width + lane]).sum()
            };
            variances[lane] =
                problem.nodes.iter().map(|node| away(node).powi(2)).sum::<f64>() / self.nodes as f64;
        }
    }
}
