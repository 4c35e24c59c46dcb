//! Proof of a bound after some moves: for any prices, no placement costs less than what this module computes. Prices that
//! are far from the best ones give a weak bound, not a wrong one.

use rayon::prelude::*;

use super::super::ROUNDING;
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

/// A cost, and the size of the terms that it was computed from.
#[derive(Debug, Clone, Copy, Default)]
struct Sized {
    value: f64,
    size: f64,
}

impl Sized {
    fn add(&mut self, other: Sized) {
        self.value += other.value;
        self.size += other.size;
    }

    fn or(self, other: Sized) -> Sized {
        Sized { value: self.value.min(other.value), size: self.size.max(other.size) }
    }
}

/// What a proof knows of the prices.
struct Proof<'a> {
    problem: &'a MoveProblem,
    setting: &'a PriceSetting,
    slopes: Vec<f64>,
    /// By arrival, the least cost over all places.
    elsewhere: Vec<Sized>,
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
    let nodes: Vec<Sized> = nodes.map(|(node, reserve)| proof.node(node, *reserve)).collect();
    let mut sum = Sized::default();
    nodes.into_iter().for_each(|node| sum.add(node));
    DeviationCut { lanes: setting.lanes.clone(), value: sum.value - ROUNDING * sum.size, move_price }
}

/// By arrival, the least cost over all states that allow it.
fn elsewhere(problem: &MoveProblem, slopes: &[f64]) -> Vec<Sized> {
    let (table, width) = (ArrivalTable::of(problem), problem.width());
    let mut least = vec![Sized { value: f64::INFINITY, size: 0.0 }; problem.arrivals.len()];
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
    fn node(&self, node: &HomeNode, reserve: f64) -> Sized {
        let states =
            (node.first_state..node.first_state + node.states).map(|at| self.state(node, at, reserve));
        states.reduce(Sized::or).unwrap_or_default()
    }

    /// The cost of a node in one of its states.
    fn state(&self, node: &HomeNode, at: usize, reserve: f64) -> Sized {
        let (state, width, lanes) =
            (&self.problem.states[at], self.problem.width(), self.problem.weights.len());
        let slopes = &self.slopes[at * width..][..width];
        let mut sum = Sized::default();
        let mut add = |term: f64| sum.add(Sized { value: term, size: term.abs() });
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
            sum.add(if stays { leave.or(self.stay(node, of, slopes)) } else { leave });
        }
        sum
    }

    /// The cost of a resident that stays.
    fn stay(&self, node: &HomeNode, of: usize, slopes: &[f64]) -> Sized {
        let amounts = &self.problem.roles[node.residents[of].role].amounts;
        let parts = || amounts.iter().zip(slopes).map(|(amount, slope)| amount * slope);
        Sized { value: parts().sum(), size: parts().map(f64::abs).sum() }
    }

    /// The least cost of a resident that leaves.
    fn leave(&self, node: &HomeNode, of: usize) -> Sized {
        let resident = &node.residents[of];
        let of_primary = self.shares[resident.mobile].clamp(0.0, 1.0);
        let paid = self.move_price * self.problem.share(resident.mobile, resident.is_secondary, of_primary);
        let mut cost = self.elsewhere[self.problem.roles[resident.role].arrival];
        cost.add(Sized { value: paid, size: paid });
        cost
    }
}

impl DeviationCut {
    /// The bound after a number of moves.
    pub(super) fn after(&self, moves: usize) -> f64 {
        let paid = self.move_price * moves as f64;
        self.value - paid - ROUNDING * paid
    }
}
