//! The bound after some moves against all placements of small problems.

use std::collections::BTreeMap;

use super::ascent::ascend;
use super::cover::cover;
use super::cuts::least_cost;
use super::driver::PriceSearch;
use super::layout::{LanePrice, PriceLayout, PriceSetting};
use super::problem::{Arrival, HomeNode, MoveProblem, Resident, Role, StateKeys};
use super::proof::{DeviationCut, prove};
use super::smooth::value;
use crate::Deadline;
use crate::balance::deep::RandomNumbers;

const LANES: usize = 2;
const LIMITS: usize = 2;
const NEEDS: [f64; 3] = [8.0, 4.0, 1.0];

/// A problem with what its nodes hold at the start.
struct Case {
    problem: MoveProblem,
    /// For each mobile, its nodes at the start and its roles.
    homes: Vec<[Option<(usize, usize)>; 2]>,
    rooms: Vec<Vec<f64>>,
}

/// The figures of a placement.
struct Figures {
    moved: usize,
    deviations: Vec<f64>,
    /// By node, in MiB.
    reserves: Vec<f64>,
}

/// Two or three nodes with up to four instances, and rooms that some nodes exceed at the start. In every third case, nodes
/// share states.
fn case(draws: &mut RandomNumbers) -> Case {
    let nodes = 2 + draws.below(2);
    let shared = draws.below(3) == 0;
    let mut problem = MoveProblem {
        weights: vec![1.0, 0.5],
        limits: LIMITS,
        roles: Vec::new(),
        arrivals: Vec::new(),
        nodes: vec![HomeNode::default(); nodes],
        states: Vec::new(),
        openings: Vec::new(),
        families: 0,
        shared,
        mirrored: Vec::new(),
        of_sum: 0.05,
        of_deviation: 0.05,
    };
    let mut homes = Vec::new();
    for mobile in 0..2 + draws.below(3) {
        let is_mirrored = mobile < 3 && draws.below(4) > 0;
        let mut home = [None, None];
        for is_secondary in [false, true] {
            let mut amounts = |most: usize| draws.below(most) as f64;
            let lanes = [0.1 * amounts(5), -0.2 * amounts(5)];
            let amounts: Vec<f64> = lanes.into_iter().chain([amounts(3), amounts(3)]).collect();
            let need = if is_secondary { NEEDS[draws.below(3)] } else { 0.0 };
            problem.roles.push(Role { amounts, need, arrival: 0 });
            let primary = home[0].map_or(nodes, |of: (usize, usize)| of.0);
            let others: Vec<usize> = (0..nodes).filter(|node| *node != primary).collect();
            let node = others[draws.below(others.len())];
            if is_mirrored || !is_secondary {
                home[usize::from(is_secondary)] = Some((node, problem.roles.len() - 1));
                let resident = Resident { role: problem.roles.len() - 1, mobile, is_secondary };
                problem.nodes[node].residents.push(resident);
            }
        }
        problem.mirrored.push(is_mirrored);
        homes.push(home);
    }
    let mut keys = StateKeys::default();
    keys.shared = shared.then(BTreeMap::new);
    let mut rooms = Vec::new();
    let mut nodes = std::mem::take(&mut problem.nodes);
    let alike: Vec<f64> = (0..LIMITS).map(|_| draws.below(7) as f64).collect();
    for node in &mut nodes {
        node.offset = (0..LANES).map(|_| 0.1 * draws.below(4) as f64).collect();
        let mut own: Vec<f64> = (0..LIMITS).map(|_| draws.below(7) as f64).collect();
        if shared && draws.below(4) > 0 {
            own.clone_from(&alike);
        }
        let taken = |limit: usize| -> f64 {
            node.residents.iter().map(|of| problem.roles[of.role].amounts[LANES + limit]).sum()
        };
        let beyond: Vec<bool> = (0..LIMITS).map(|limit| taken(limit) > own[limit]).collect();
        problem.add_states(node, &NEEDS, &own, &beyond, &mut keys);
        rooms.push(own);
    }
    problem.nodes = nodes;
    problem.families = keys.families();
    let arrival = |(at, role): (usize, &mut Role)| {
        role.arrival = at;
        Arrival { low: role.amounts.clone(), high: role.amounts.clone(), need: role.need }
    };
    problem.arrivals = problem.roles.iter_mut().enumerate().map(arrival).collect();
    problem.open(&keys);
    // The values are measured from the mean.
    let count = problem.nodes.len() as f64;
    for lane in 0..LANES {
        let roles = problem.nodes.iter().flat_map(|node| &node.residents);
        let movable: f64 = roles.map(|of| problem.roles[of.role].amounts[lane]).sum();
        let fixed: f64 = problem.nodes.iter().map(|node| node.offset[lane]).sum();
        problem.nodes.iter_mut().for_each(|node| node.offset[lane] -= (movable + fixed) / count);
    }
    Case { problem, homes, rooms }
}

impl Case {
    /// Calls `see` for all placements that keep to the limits.
    fn visit(&self, see: &mut impl FnMut(&Figures)) {
        let nodes = self.problem.nodes.len();
        let roles: Vec<(usize, bool, usize, usize)> = (self.homes.iter().enumerate())
            .flat_map(|(mobile, home)| {
                let role = move |is_secondary: bool| {
                    home[usize::from(is_secondary)].map(|(node, role)| (mobile, is_secondary, node, role))
                };
                [role(false), role(true)].into_iter().flatten()
            })
            .collect();
        for mut code in 0..nodes.pow(roles.len() as u32) {
            let mut at = Vec::new();
            for _ in &roles {
                at.push(code % nodes);
                code /= nodes;
            }
            let primary = |mobile: usize| {
                roles.iter().zip(&at).find(|(role, _)| role.0 == mobile).map_or(0, |role| *role.1)
            };
            let is_split = roles.iter().zip(&at).all(|(role, node)| !role.1 || *node != primary(role.0));
            if is_split && self.is_allowed(&roles, &at) {
                see(&self.figures(&roles, &at));
            }
        }
    }

    /// Returns true if each node keeps to each limit, or nothing came that takes of it.
    fn is_allowed(&self, roles: &[(usize, bool, usize, usize)], at: &[usize]) -> bool {
        (0..self.rooms.len()).all(|node| {
            (0..LIMITS).all(|limit| {
                let amount = |role: usize| self.problem.roles[role].amounts[LANES + limit];
                let here = || roles.iter().zip(at).filter(|(_, at)| **at == node).map(|(role, _)| role);
                let taken: f64 = here().map(|role| amount(role.3)).sum();
                taken <= self.rooms[node][limit] || here().all(|role| role.2 == node || amount(role.3) == 0.0)
            })
        })
    }

    fn figures(&self, roles: &[(usize, bool, usize, usize)], at: &[usize]) -> Figures {
        let problem = &self.problem;
        let nodes = problem.nodes.len();
        let mut values: Vec<Vec<f64>> = problem.nodes.iter().map(|node| node.offset.clone()).collect();
        let mut kept = vec![vec![0.0; nodes]; nodes];
        let mut moved = vec![false; self.homes.len()];
        let mut primary = vec![0; self.homes.len()];
        for ((mobile, is_secondary, home, role), node) in roles.iter().zip(at) {
            let role = &problem.roles[*role];
            values[*node].iter_mut().zip(&role.amounts).for_each(|(sum, amount)| *sum += amount);
            moved[*mobile] |= node != home;
            if *is_secondary {
                kept[*node][primary[*mobile]] += role.need;
            } else {
                primary[*mobile] = *node;
            }
        }
        let square = |lane: usize| values.iter().map(|of| of[lane] * of[lane]).sum::<f64>() / nodes as f64;
        Figures {
            moved: moved.iter().filter(|moved| **moved).count(),
            deviations: (0..LANES).map(|lane| square(lane).sqrt()).collect(),
            reserves: kept.iter().map(|peers| peers.iter().copied().fold(0.0, f64::max)).collect(),
        }
    }

    /// Any prices, and what stays constant with them.
    fn prices(&self, draws: &mut RandomNumbers) -> (PriceSetting, Vec<f64>) {
        let mut any = |most: usize| draws.below(10 * most + 1) as f64 / 10.0;
        let reserves: Vec<f64> = self.problem.nodes.iter().map(|_| any(8)).collect();
        let lane = |any: &mut dyn FnMut(usize) -> f64| match any(1) < 0.5 {
            true if !self.problem.shared => LanePrice::Straight(any(2)),
            _ => LanePrice::Squared(0.1 + any(4)),
        };
        let setting = PriceSetting {
            lanes: (0..LANES).map(|_| lane(&mut any)).collect(),
            reserve: self.problem.reserve_prices(&reserves),
            moves: any(4),
            scale: (0..LANES + LIMITS).map(|_| 0.1 + any(1)).collect(),
            move_scale: 0.1,
            blur: 0.01 + 0.1 * any(1),
        };
        let layout = PriceLayout::of(&self.problem);
        let mut prices: Vec<f64> = (0..layout.len()).map(|_| any(2) - 1.0).collect();
        // The prices of limits are above 0.
        let rows = (0..self.problem.states.len()).map(|state| state * layout.width);
        for row in rows.chain((0..=self.problem.families).map(|family| layout.family(family))) {
            prices[row + LANES..row + layout.width].iter_mut().for_each(|price| *price = 0.01 + price.abs());
        }
        // No tangent is without a direction.
        (0..self.problem.nodes.len()).for_each(|node| prices[layout.node(node)] += 0.03 * node as f64);
        (0..self.problem.nodes.len()).for_each(|node| prices[layout.node(node) + 1] += 0.03 * node as f64);
        prices[layout.move_price()] = any(3);
        prices[layout.shares()].iter_mut().for_each(|share| *share = any(1));
        (setting, prices)
    }
}

/// The bound of a cut at some deviations.
fn priced(setting: &PriceSetting, problem: &MoveProblem, figures: &Figures) -> f64 {
    let lane = |(price, deviation): (&LanePrice, &f64)| match price {
        LanePrice::Straight(price) => price * deviation,
        LanePrice::Squared(price) => price * deviation * deviation,
    };
    let n = problem.nodes.len() as f64;
    let mean = figures.reserves.iter().sum::<f64>() / n;
    let squares: f64 = figures.reserves.iter().map(|kept| (kept - mean) * (kept - mean)).sum();
    let reserves = problem.of_sum * n * mean + problem.of_deviation * (squares / n).sqrt();
    setting.lanes.iter().zip(&figures.deviations).map(lane).sum::<f64>() + reserves
}

#[test]
fn any_prices_give_a_bound() {
    let mut draws = RandomNumbers::stream(31);
    let (mut climbed, mut tight) = (0, 0);
    for round in 0..3_000 {
        let case = case(&mut draws);
        let (setting, mut prices) = case.prices(&mut draws);
        if round % 3 == 0 {
            climbed += 1;
            let layout = PriceLayout::of(&case.problem);
            let range = |at: usize| match at {
                _ if at == layout.move_price() => (0.0, f64::INFINITY),
                _ if layout.shares().contains(&at) => (0.0, 1.0),
                _ => (f64::NEG_INFINITY, f64::INFINITY),
            };
            ascend(&mut prices, 60, range, |prices, gradient| {
                value(&case.problem, &setting, prices, gradient).0
            });
        }
        let cut = prove(&case.problem, &setting, &prices);
        let mut nearest = f64::INFINITY;
        case.visit(&mut |figures| {
            let beyond = priced(&setting, &case.problem, figures) - cut.after(figures.moved);
            nearest = nearest.min(beyond);
            assert!(beyond > -1e-9, "{beyond} {cut:?} {:?}", case.problem);
        });
        tight += usize::from(round % 3 == 0 && nearest < 0.3);
    }
    assert!(tight > climbed / 10, "{tight} of {climbed}");
}

#[test]
fn boxes_with_cuts_of_their_own_give_a_bound() {
    let mut draws = RandomNumbers::stream(34);
    let (mut tried, mut raised) = (0, 0);
    while tried < 200 {
        let case = case(&mut draws);
        let most = draws.below(4);
        let start = case.problem.cost(&case.problem.deviations(), &case.problem.reserves());
        let Some(mut search) = PriceSearch::of(&case.problem, start, most).filter(|_| case.problem.shared)
        else {
            continue;
        };
        tried += 1;
        let (cuts, boxes) = cover(&mut search, &[0.0; LANES], &Deadline::never());
        let weights = &case.problem.weights;
        let bound = least_cost(&cuts, weights, boxes, most).0.min(search.highest);
        let all = |weights: &[f64]| weights.iter().map(|weight| LanePrice::Straight(*weight)).collect();
        let setting = PriceSetting { lanes: all(weights), ..case.prices(&mut draws).0 };
        case.visit(&mut |figures| {
            let cost = priced(&setting, &case.problem, figures);
            assert!(figures.moved > most || bound <= cost + 1e-9, "{bound} {cost} {:?}", case.problem);
        });
        raised += usize::from(bound > 0.5 * start);
    }
    assert!(raised > tried / 4, "{raised}");
}

#[test]
fn the_smooth_bound_is_below_the_proof_and_has_its_gradient() {
    let mut draws = RandomNumbers::stream(32);
    for _ in 0..200 {
        let case = case(&mut draws);
        let (setting, mut prices) = case.prices(&mut draws);
        let mut gradient = vec![0.0; prices.len()];
        let (smooth, _) = value(&case.problem, &setting, &prices, &mut gradient);
        let proved = prove(&case.problem, &setting, &prices);
        let hard = proved.value - proved.move_price * setting.moves;
        assert!(smooth <= hard + 1e-9, "{smooth} {hard}");
        let mut unused = gradient.clone();
        for _ in 0..10 {
            let at = draws.below(prices.len());
            let own = prices[at];
            let mut near = |by: f64| {
                prices[at] = own + by;
                value(&case.problem, &setting, &prices, &mut unused).0
            };
            let (step, above, below) = (1e-6, near(1e-6), near(-1e-6));
            prices[at] = own;
            // The price of a limit has a kink where it is 0, and an arrival where its price is.
            let (left, right) = ((smooth - below) / step, (above - smooth) / step);
            let (low, high) = (left.min(right) - 1e-4, left.max(right) + 1e-4);
            assert!(low <= gradient[at] && gradient[at] <= high, "{at}: {low} {} {high}", gradient[at]);
        }
    }
}

#[test]
fn no_deviations_cost_less_than_the_cuts_allow() {
    let mut draws = RandomNumbers::stream(33);
    for _ in 0..300 {
        let mut any = |most: usize| draws.below(100 * most + 1) as f64 / 100.0;
        let weights = [1.0, 0.5];
        let cut = |any: &mut dyn FnMut(usize) -> f64| DeviationCut {
            lanes: vec![LanePrice::Straight(any(2)), LanePrice::Squared(0.1 + any(3))],
            value: 1.0 + any(1),
            move_price: 0.1 * any(1),
        };
        let cuts: Vec<DeviationCut> = (0..1 + any(4) as usize).map(|_| cut(&mut any)).collect();
        let boxes = vec![vec![(0.1, 2.0), (0.2, 3.0)]];
        let (bound, _) = least_cost(&cuts, &weights, boxes, 3);
        let mut least = f64::INFINITY;
        for a in 0..=100 {
            for b in 0..=100 {
                let (y, z) = (0.1 + 0.019 * f64::from(a), 0.2 + 0.028 * f64::from(b));
                let of_cut = |cut: &DeviationCut| {
                    let (LanePrice::Straight(s), LanePrice::Squared(p)) = (cut.lanes[0], cut.lanes[1]) else {
                        return 0.0;
                    };
                    cut.after(3) + (weights[0] - s) * y + weights[1] * z - p * z * z
                };
                let ends = weights[0] * y + weights[1] * z;
                least = least.min(cuts.iter().map(of_cut).fold(ends, f64::max));
            }
        }
        assert!(bound <= least + 1e-9 && bound > least - 0.1, "{bound} {least} {cuts:?}");
    }
}
