//! A smooth version of the bound after some moves, with its gradient.
//!
//! The least of several costs is replaced by a smooth function that is slightly below it: a logarithm of a sum of
//! exponentials. The weights of its gradient say how far a node is in each state, and where the items go.

use rayon::prelude::*;

use super::super::vectors::dot;
use super::layout::{PriceLayout, PriceSetting, Prices};
use super::market::{Market, NEGLIGIBLE, weight};
use super::problem::{HomeNode, MoveProblem};

/// The relaxed placement where the smooth function has its value.
pub(super) struct Blurred {
    /// For each lane, the variance.
    pub variances: Vec<f64>,
    /// For each node, the level of its reserve in MiB.
    pub levels: Vec<f64>,
}

/// Data of one evaluation.
struct Evaluation<'a> {
    problem: &'a MoveProblem,
    setting: &'a PriceSetting,
    slopes: &'a [f64],
    /// For each role, the price at which it arrives elsewhere.
    elsewhere: Vec<f64>,
    move_price: f64,
    shares: &'a [f64],
    /// For each lane, the price of the square of a node's distance from the mean.
    squares: Vec<f64>,
    /// By state and role, the cost of a resident that stays, if nodes share states.
    staying: Vec<f64>,
}

/// The smooth least cost of one node, with the parts of the gradient and of the placement.
struct NodeAnswer {
    value: f64,
    level: f64,
    variances: Vec<f64>,
    /// For each state, the gradient by slope, apart from arrivals; also apart from residents that stay, if nodes share states.
    gradient: Vec<f64>,
    /// By state and resident, how far it stays.
    stays: Vec<f64>,
    /// For each resident, how far it leaves.
    leaves: Vec<f64>,
}

/// Computes the smooth bound and its gradient, apart from the constants of the deviations.
pub(super) fn value(
    problem: &MoveProblem,
    setting: &PriceSetting,
    prices: &Prices,
    gradient: &mut [f64],
) -> (f64, Blurred) {
    let layout = PriceLayout::of(problem);
    let slopes = layout.slopes(problem, setting, prices);
    let market = Market::of(problem, &slopes, setting.blur);
    let evaluation = Evaluation {
        problem,
        setting,
        slopes: &slopes,
        elsewhere: problem
            .roles
            .iter()
            .map(|role| market.prices.get(role.arrival).copied().unwrap_or(0.0))
            .collect(),
        move_price: prices[layout.move_price()] * setting.move_scale,
        shares: &prices[layout.shares()],
        squares: setting.lanes.iter().map(|lane| lane.of_square(problem.nodes.len() as f64)).collect(),
        staying: if problem.shared { staying(problem, &slopes) } else { Vec::new() },
    };
    let nodes = problem.nodes.par_iter().zip(&setting.reserve).with_min_len(8);
    let answers: Vec<NodeAnswer> = nodes.map(|(node, reserve)| evaluation.node(node, *reserve)).collect();
    let mut value = -evaluation.move_price * setting.moves;
    let mut of_move = -setting.moves;
    let mut left = vec![0.0; problem.arrivals.len()];
    // By state and role, how far residents stay, if nodes share states.
    let mut stay = vec![0.0; evaluation.staying.len()];
    let mut blurred = Blurred { variances: vec![0.0; problem.weights.len()], levels: Vec::new() };
    gradient.fill(0.0);
    for (node, answer) in problem.nodes.iter().zip(&answers) {
        value += answer.value;
        blurred.levels.push(answer.level);
        blurred.variances.iter_mut().zip(&answer.variances).for_each(|(sum, part)| *sum += part);
        let of_states = gradient[node.first_state * layout.width..].iter_mut();
        of_states.zip(&answer.gradient).for_each(|(sum, part)| *sum += part);
        if problem.shared {
            let rows = stay[node.first_state * problem.roles.len()..].chunks_exact_mut(problem.roles.len());
            for (row, stays) in rows.zip(answer.stays.chunks(node.residents.len().max(1))) {
                node.residents.iter().zip(stays).for_each(|(of, stays)| row[of.role] += stays);
            }
        }
        for (resident, leaves) in node.residents.iter().zip(&answer.leaves) {
            left[problem.roles[resident.role].arrival] += leaves;
            let share = layout.shares().start + resident.mobile;
            of_move += leaves * problem.share(resident.mobile, resident.is_secondary, prices[share]);
            if problem.mirrored[resident.mobile] {
                let sign = if resident.is_secondary { -1.0 } else { 1.0 };
                gradient[share] += sign * leaves * evaluation.move_price;
            }
        }
    }
    for (row, gradient) in stay.chunks(problem.roles.len().max(1)).zip(gradient.chunks_mut(layout.width)) {
        let held = row.iter().zip(&problem.roles).filter(|(stays, _)| **stays > 0.0);
        held.for_each(|(stays, role)| add_amounts(gradient, *stays, &role.amounts));
    }
    gradient[layout.move_price()] = of_move * setting.move_scale;
    market.add_gradient(problem, &slopes, setting.blur, &left, &mut gradient[..layout.move_price()]);
    layout.add_variances(problem, setting, gradient, &mut blurred.variances);
    layout.by_price(problem, setting, (&slopes, prices), gradient);
    (value, blurred)
}

impl MoveProblem {
    /// The share of the price of a move that a role pays.
    pub(super) fn share(&self, mobile: usize, is_secondary: bool, of_primary: f64) -> f64 {
        match (self.mirrored[mobile], is_secondary) {
            (false, _) => 1.0,
            (true, false) => of_primary,
            (true, true) => 1.0 - of_primary,
        }
    }
}

impl Evaluation<'_> {
    /// The smooth least cost of a node over its states.
    fn node(&self, node: &HomeNode, reserve: f64) -> NodeAnswer {
        let (problem, width) = (self.problem, self.problem.width());
        let lanes = problem.weights.len();
        let leave: Vec<f64> = node
            .residents
            .iter()
            .map(|of| {
                let share = problem.share(of.mobile, of.is_secondary, self.shares[of.mobile]);
                self.elsewhere[of.role] + self.move_price * share
            })
            .collect();
        let mut stays = vec![0.0; node.states * node.residents.len()];
        let mut costs = Vec::with_capacity(node.states);
        for at in 0..node.states {
            let state = &problem.states[node.first_state + at];
            let slopes = &self.slopes[(node.first_state + at) * width..][..width];
            let mut cost = reserve * state.level;
            for ((slope, offset), square) in slopes.iter().zip(&node.offset).zip(&self.squares) {
                cost += slope * (offset - slope / (4.0 * square));
            }
            for (slope, room) in slopes[lanes..].iter().zip(&state.rooms).filter(|(slope, _)| **slope > 0.0) {
                cost -= slope * room;
            }
            let own = &mut stays[at * node.residents.len()..][..node.residents.len()];
            for (of, resident) in node.residents.iter().enumerate() {
                let role = &problem.roles[resident.role];
                let (least, share) = if role.need < state.next {
                    let of_table =
                        self.staying.get((node.first_state + at) * problem.roles.len() + resident.role);
                    let stay = of_table.copied().unwrap_or_else(|| dot(slopes, &role.amounts));
                    self.least_of_two(stay, leave[of])
                } else {
                    (leave[of], 0.0)
                };
                cost += least;
                own[of] = share;
            }
            costs.push(cost);
        }
        let (value, shares) = blurred_least(&costs, self.setting.blur);
        self.answer(node, value, &shares, stays)
    }

    /// The answer for a node from the shares of its states, and from how far each resident stays in each of them.
    fn answer(&self, node: &HomeNode, value: f64, shares: &[f64], stays: Vec<f64>) -> NodeAnswer {
        let (problem, width, count) = (self.problem, self.problem.width(), node.residents.len());
        let lanes = problem.weights.len();
        let mut answer = NodeAnswer {
            value,
            level: 0.0,
            variances: vec![0.0; lanes],
            gradient: vec![0.0; node.states * width],
            stays,
            leaves: vec![0.0; count],
        };
        for (at, share) in shares.iter().enumerate() {
            let state = &problem.states[node.first_state + at];
            let slopes = &self.slopes[(node.first_state + at) * width..][..width];
            let gradient = &mut answer.gradient[at * width..][..width];
            answer.level += share * state.level;
            let parts = gradient.iter_mut().zip(&mut answer.variances).zip(slopes);
            for (((gradient, variance), slope), (offset, square)) in
                parts.zip(node.offset.iter().zip(&self.squares))
            {
                let away = slope / (2.0 * square);
                *gradient = share * (offset - away);
                *variance += share * away * away / problem.nodes.len() as f64;
            }
            for (slope, room) in gradient[lanes..].iter_mut().zip(&state.rooms) {
                *slope = if room.is_finite() { -share * room } else { 0.0 };
            }
            for (of, resident) in node.residents.iter().enumerate() {
                let stays = &mut answer.stays[at * count + of];
                *stays *= share;
                answer.leaves[of] += share - *stays;
                if *stays > 0.0 && !problem.shared {
                    add_amounts(gradient, *stays, &problem.roles[resident.role].amounts);
                }
            }
        }
        answer
    }

    /// The smooth least of the costs of staying and leaving, and how far it is that of staying.
    fn least_of_two(&self, stay: f64, leave: f64) -> (f64, f64) {
        let least = stay.min(leave);
        let exponent = -(stay - leave).abs() / self.setting.blur;
        if exponent < NEGLIGIBLE {
            return (least, if stay <= leave { 1.0 } else { 0.0 });
        }
        let other = exponent.exp();
        let share = 1.0 / (1.0 + other);
        (least - self.setting.blur * other.ln_1p(), if stay <= leave { share } else { 1.0 - share })
    }
}

/// By state and role, the cost of a resident that stays.
fn staying(problem: &MoveProblem, slopes: &[f64]) -> Vec<f64> {
    let rows = slopes.chunks_exact(problem.width());
    rows.flat_map(|slopes| problem.roles.iter().map(|role| dot(slopes, &role.amounts))).collect()
}

fn add_amounts(to: &mut [f64], factor: f64, amounts: &[f64]) {
    to.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum += factor * amount);
}

/// The smooth least of some costs, and the share of each.
fn blurred_least(costs: &[f64], blur: f64) -> (f64, Vec<f64>) {
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let weights: Vec<f64> = costs.iter().map(|cost| weight(least, *cost, blur)).collect();
    let sum: f64 = weights.iter().sum();
    (least - blur * sum.ln(), weights.into_iter().map(|weight| weight / sum).collect())
}
