//! Proof of a bound after some moves: for any prices, no placement costs less than what this module computes. Prices that
//! are far from the best ones give a weak bound, not a wrong one.

use rayon::prelude::*;

use super::super::ROUNDING;
use super::super::careful::{CarefulCost, CarefulSum};
use super::layout::{LanePrice, PriceLayout, PriceSetting, Prices};
use super::market::ArrivalTable;
use super::problem::{HomeNode, MoveProblem};

/// A proved bound of the cost by the deviations: a deviation y of weight w adds w y less what its price is for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DeviationCut {
    pub lanes: Vec<LanePrice>,
    /// The bound without any move.
    pub value: f64,
    /// By how much each move lowers it.
    pub move_price: f64,
}

/// The prices of a proof, and the costs that follow from them.
struct Proof<'a> {
    problem: &'a MoveProblem,
    setting: &'a PriceSetting,
    slopes: Vec<f64>,
    /// By arrival, the least cost over all places.
    elsewhere: Vec<CarefulCost>,
    move_price: f64,
    shares: &'a [f64],
}

/// The bound that the prices prove.
pub(super) fn prove(problem: &MoveProblem, setting: &PriceSetting, prices: &Prices) -> DeviationCut {
    let layout = PriceLayout::of(problem);
    let slopes = layout.slopes(problem, setting, prices);
    let elsewhere = elsewhere(problem, &slopes);
    let move_price = (prices[layout.move_price()] * setting.move_scale).max(0.0);
    let shares = &prices[layout.shares()];
    let proof = Proof { problem, setting, slopes, elsewhere, move_price, shares };
    let nodes = problem.nodes.par_iter().zip(&setting.reserve);
    let nodes: Vec<CarefulCost> = nodes.map(|(node, reserve)| proof.node(node, *reserve)).collect();
    let mut sum = CarefulSum::default();
    nodes.iter().for_each(|node| sum.add(node.value, node.size));
    DeviationCut { lanes: setting.lanes.clone(), value: sum.lower(), move_price }
}

/// By arrival, the least cost over all states that allow it.
fn elsewhere(problem: &MoveProblem, slopes: &[f64]) -> Vec<CarefulCost> {
    let (table, width) = (ArrivalTable::of(problem), problem.width());
    let mut least = vec![CarefulCost::NEVER; problem.arrivals.len()];
    let (mut costs, mut largest) = (Vec::new(), vec![0.0_f64; width]);
    for (state, slopes) in problem.states.iter().zip(slopes.chunks_exact(width)) {
        costs.clear();
        table.append_costs(slopes, state.opening, &mut costs);
        least.iter_mut().zip(&costs).for_each(|(least, cost)| least.value = least.value.min(*cost));
        largest.iter_mut().zip(slopes).for_each(|(largest, slope)| *largest = largest.max(slope.abs()));
    }
    for (least, arrival) in least.iter_mut().zip(&problem.arrivals) {
        let amounts = arrival.low.iter().zip(&arrival.high).map(|(low, high)| low.abs().max(high.abs()));
        least.size = amounts.zip(&largest).map(|(amount, slope)| amount * slope).sum();
    }
    least
}

impl Proof<'_> {
    /// The least cost of a node over its states.
    fn node(&self, node: &HomeNode, reserve: f64) -> CarefulCost {
        let states = node.all_states().map(|at| self.state(node, at, reserve));
        states.reduce(CarefulCost::or).unwrap_or_default()
    }

    /// The cost of a node in one of its states.
    fn state(&self, node: &HomeNode, at: usize, reserve: f64) -> CarefulCost {
        let (state, width, lanes) =
            (&self.problem.states[at], self.problem.width(), self.problem.weights.len());
        let slopes = &self.slopes[at * width..][..width];
        let mut sum = CarefulCost::default();
        let mut add = |term: f64| sum = sum.and(CarefulCost::of(term));
        add(reserve.max(0.0) * state.level);
        for ((slope, offset), price) in slopes.iter().zip(&node.offset).zip(&self.setting.lanes) {
            add(slope * offset);
            if let LanePrice::Squared(price) = price {
                add(-slope * slope * self.problem.nodes.len() as f64 / (4.0 * price));
            }
        }
        slopes[lanes..]
            .iter()
            .zip(&state.rooms)
            .filter(|(slope, _)| **slope > 0.0)
            .for_each(|(slope, room)| add(-slope * room));
        for (of, resident) in node.residents.iter().enumerate() {
            let leave = self.leave(node, of);
            let stays = self.problem.roles[resident.role].need < state.next;
            let amounts = &self.problem.roles[resident.role].amounts;
            let cost = if stays { leave.or(CarefulCost::paid(amounts, slopes.iter())) } else { leave };
            sum = sum.and(cost);
        }
        sum
    }

    /// The least cost of a resident that leaves.
    fn leave(&self, node: &HomeNode, of: usize) -> CarefulCost {
        let resident = &node.residents[of];
        let of_primary = self.shares[resident.mobile].clamp(0.0, 1.0);
        let paid = self.move_price * self.problem.share(resident.mobile, resident.is_secondary, of_primary);
        self.elsewhere[self.problem.roles[resident.role].arrival].and(CarefulCost::of(paid))
    }
}

impl DeviationCut {
    /// The bound after a number of moves.
    pub(super) fn after(&self, moves: usize) -> f64 {
        let paid = self.move_price * moves as f64;
        self.value - paid - ROUNDING * paid
    }
}
