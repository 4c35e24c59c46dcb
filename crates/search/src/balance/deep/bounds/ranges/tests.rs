//! The bound by ranges against all placements of small problems.

use super::super::levels::ItemKind;
use super::boxes;
use super::figures::Range;
use super::nodes::{RoomyCrowd, RoomyNode};
use super::prices::{RangeBox, RangePrices, bound};
use super::problem::{RangeCosts, RangeProblem};
use crate::Deadline;
use crate::balance::deep::RandomNumbers;

const LANES: usize = 2;
const LIMITS: usize = 2;

/// One item in one role.
struct Role {
    item: usize,
    is_secondary: bool,
}

/// A problem, and what its nodes hold at the start.
struct Case {
    problem: RangeProblem,
    costs: RangeCosts,
    nodes: Vec<RoomyNode>,
    /// The items with the amounts of all limits.
    items: Vec<ItemKind>,
    roles: Vec<Role>,
    /// By role, its node at the start.
    home: Vec<usize>,
}

/// Two to four nodes, some of which hold something that cannot move or more than they should, and up to four instances. In
/// some cases, the amounts of the first limit are proportional to those of a lane.
fn case(draws: &mut RandomNumbers) -> Case {
    let nodes = 2 + draws.below(3);
    let levels = vec![0.8, 0.4, 0.1, 0.0];
    let mut items: Vec<ItemKind> = Vec::new();
    let mut roles = Vec::new();
    let (is_tied, tied_lane) = (draws.below(2) == 0, draws.below(LANES));
    let most = if nodes < 4 { 5 } else { 4 };
    while roles.len() < 2 || (roles.len() < most && draws.below(3) > 0) {
        let mut amounts = |least: u64| -> Vec<f64> {
            let units: Vec<f64> = (0..LANES).map(|_| (least + draws.below(5) as u64) as f64).collect();
            let mut amounts: Vec<f64> = units.iter().zip([0.1, -0.2]).map(|(units, of)| units * of).collect();
            amounts.extend((0..LIMITS).map(|_| draws.below(3) as f64));
            if is_tied {
                amounts[LANES] = units[tied_lane];
            }
            amounts
        };
        let (primary, secondary) = (amounts(1), amounts(0));
        let secondary = (draws.below(4) > 0).then_some(secondary);
        let count = 1 + usize::from(draws.below(3) == 0);
        for _ in 0..count {
            roles.push(Role { item: items.len(), is_secondary: false });
            if secondary.is_some() {
                roles.push(Role { item: items.len(), is_secondary: true });
            }
        }
        items.push(ItemKind { count: count as f64, level: draws.below(4), primary, secondary, stays: true });
    }
    let home: Vec<usize> = roles.iter().map(|_| draws.below(nodes)).collect();
    let node = |node: usize| {
        let fixed = (0..LANES).map(|_| 0.1 * draws.below(4) as f64).collect();
        let rooms: Vec<f64> = (0..LIMITS).map(|_| draws.below(8) as f64).collect();
        let here = || roles.iter().zip(&home).filter(|(_, home)| **home == node).map(|(role, _)| role);
        let taken: Vec<f64> = (0..LIMITS)
            .map(|limit| here().map(|role| amounts_of(&items, role)[LANES + limit]).sum())
            .collect();
        let beyond: Vec<bool> = taken.iter().zip(&rooms).map(|(taken, room)| taken > room).collect();
        let crowd = beyond.contains(&true).then(|| RoomyCrowd {
            beyond,
            rooms: rooms.iter().zip(&taken).map(|(room, taken)| room.max(*taken)).collect(),
            items: here().map(|role| (role.item, role.is_secondary)).collect(),
        });
        RoomyNode { fixed, rooms, crowd }
    };
    let count = nodes as f64;
    let nodes: Vec<RoomyNode> = (0..nodes).map(node).collect();
    let costs = RangeCosts {
        weights: vec![1.0, 0.5],
        least: vec![0.0; LANES],
        levels,
        of_sum: 0.25,
        of_deviation: f64::min(1.0, 0.25 * count / (count - 1.0).sqrt()),
    };
    let problem = RangeProblem::new(costs.clone(), nodes.clone(), items.clone(), LIMITS);
    Case { problem, costs, nodes, items, roles, home }
}

fn amounts_of<'a>(items: &'a [ItemKind], role: &Role) -> &'a [f64] {
    let item = &items[role.item];
    if role.is_secondary { item.secondary.as_deref().unwrap_or_default() } else { &item.primary }
}

/// The figures of a placement.
struct Figures {
    /// By lane, and for the reserves' levels.
    deviations: Vec<f64>,
    mean: f64,
    shares: Vec<f64>,
    cost: f64,
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt()
}

impl Case {
    /// Calls `see` for all placements that keep to the limits.
    fn visit(&self, see: &mut impl FnMut(&Figures)) {
        let nodes = self.nodes.len();
        for mut code in 0..nodes.pow(self.roles.len() as u32) {
            let mut at = Vec::with_capacity(self.roles.len());
            for _ in &self.roles {
                at.push(code % nodes);
                code /= nodes;
            }
            if self.is_allowed(&at) {
                see(&self.figures(&at));
            }
        }
    }

    /// Returns true if each node keeps to each limit, or has only what it had at the start of what takes of the limit.
    fn is_allowed(&self, at: &[usize]) -> bool {
        let count = |places: &[usize], node: usize, of: &Role| {
            let same = |role: &Role| role.item == of.item && role.is_secondary == of.is_secondary;
            self.roles.iter().zip(places).filter(|(role, place)| **place == node && same(role)).count()
        };
        self.nodes.iter().enumerate().all(|(node, roomy)| {
            (0..LIMITS).all(|limit| {
                let amount = |role: &Role| amounts_of(&self.items, role)[LANES + limit];
                let here = || self.roles.iter().zip(at).filter(|(_, place)| **place == node);
                let taken: f64 = here().map(|(role, _)| amount(role)).sum();
                taken <= roomy.rooms[limit]
                    || here()
                        .filter(|(role, _)| amount(role) > 0.0)
                        .all(|(role, _)| count(at, node, role) <= count(&self.home, node, role))
            })
        })
    }

    fn figures(&self, at: &[usize]) -> Figures {
        let costs = &self.costs;
        let mut values: Vec<Vec<f64>> =
            (0..LANES).map(|lane| self.nodes.iter().map(|node| node.fixed[lane]).collect()).collect();
        let mut levels = vec![costs.levels.len() - 1; self.nodes.len()];
        for (role, node) in self.roles.iter().zip(at) {
            let amounts = amounts_of(&self.items, role);
            for (lane, values) in values.iter_mut().enumerate() {
                values[*node] += amounts[lane];
            }
            if role.is_secondary {
                levels[*node] = levels[*node].min(self.items[role.item].level);
            }
        }
        let kept: Vec<f64> = levels.iter().map(|level| costs.levels[*level]).collect();
        let deviations: Vec<f64> = values.iter().chain([&kept]).map(|values| deviation(values)).collect();
        let (sum, nodes) = (kept.iter().sum::<f64>(), self.nodes.len() as f64);
        let weights = costs.weights.iter().chain([&costs.of_deviation]);
        let parts: f64 = weights.zip(&deviations).map(|(weight, deviation)| weight * deviation).sum();
        let share = |level: usize| levels.iter().filter(|own| **own <= level).count() as f64 / nodes;
        Figures {
            deviations,
            mean: sum / nodes,
            shares: (0..costs.levels.len() - 1).map(share).collect(),
            cost: costs.of_sum * sum + parts,
        }
    }
}

#[test]
fn no_placement_is_below_the_bound() {
    let mut draws = RandomNumbers::stream(21);
    let (mut seen, mut tight, mut crowded, mut tied) = (0, 0, 0, 0);
    while seen < 300 {
        let case = case(&mut draws);
        let mut least = f64::INFINITY;
        case.visit(&mut |figures| least = least.min(figures.cost));
        if least == f64::INFINITY {
            continue;
        }
        for known in [least + 1e-6, 2.0 * least + 0.1] {
            let bound = boxes::least(&case.problem, known, &Deadline::never());
            assert!(bound <= least + 2e-6, "{bound} {least} {known} {:?}", case.problem);
            tight += usize::from(known < 2.0 * least && bound > 0.5 * least);
        }
        seen += 1;
        crowded += usize::from(case.nodes.iter().any(|node| node.crowd.is_some()));
        tied += usize::from(case.problem.limits < LIMITS);
    }
    assert!(tight > seen / 10 && crowded > seen / 4 && tied > seen / 4, "{tight} {crowded} {tied} of {seen}");
}

#[test]
fn any_prices_give_a_bound() {
    let mut draws = RandomNumbers::stream(22);
    for _ in 0..3000 {
        let case = case(&mut draws);
        let problem = &case.problem;
        let mut below = |most: usize| draws.below(10 * most + 1) as f64 / 10.0;
        let levels = problem.costs.levels.len();
        let prices = RangePrices {
            variances: (0..=LANES).map(|_| below(6) - 1.0).collect(),
            mean: below(6) - 3.0,
            shares: (1..levels).map(|_| below(2) - 1.0).collect(),
            slopes: (0..problem.figures()).map(|_| (0..levels).map(|_| below(4) - 2.0).collect()).collect(),
        };
        let mut around = |x: f64| Range { low: (x - 0.1 * below(4)).max(0.0), high: x + 0.1 * below(4) };
        let mut checked = 0;
        case.visit(&mut |figures| {
            checked += 1;
            if checked > 40 {
                return;
            }
            let within = RangeBox {
                deviations: figures.deviations.iter().map(|x| around(*x)).collect(),
                mean: around(figures.mean),
                shares: figures.shares.iter().map(|x| around(*x)).collect(),
            };
            let bound = bound(problem, &within, &prices);
            assert!(bound <= figures.cost + 1e-9, "{bound} {} {problem:?} {within:?}", figures.cost);
        });
    }
}
