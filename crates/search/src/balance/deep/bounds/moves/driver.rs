//! Finds prices for the bound after some moves, and raises the line of bounds by what they prove.

use super::super::ranges::RangeProblem;
use super::super::tangent::MoveLine;
use super::super::vectors::reserve_prices;
use super::super::{LaneFloor, ROUNDING};
use super::ascent::ascend;
use super::cover::cover;
use super::cuts::{DeviationBox, least_cost};
use super::layout::{LanePrice, PriceLayout, PriceSetting};
use super::problem::{HomeNode, MoveProblem};
use super::proof::{DeviationCut, prove};
use super::smooth::value;
use crate::Deadline;
use crate::balance::deep::terrain::Terrain;

/// In each stage, the smooth function may be below the least of some costs by about this share of the average cost of a role.
const BLURS: [f64; 3] = [0.1, 0.03, 0.01];

/// Number of evaluations in each stage. Large problems have fewer: this number over the costs that are computed in each.
const MOST_EVALUATIONS: usize = 300;
const FEWEST_EVALUATIONS: usize = 30;
const OVER_COSTS: usize = 60_000_000;

/// Each further cut has this share of the evaluations of a stage.
const SHARE_OF_A_CUT: usize = 3;

/// Numbers of lanes whose variances have prices, and of cuts by them. The lanes with the largest deviations come first.
const SQUARED: [(usize, usize); 3] = [(1, 2), (2, 5), (usize::MAX, 2)];

/// Factors of the weight of one lane in further tangents, and the number of lanes that have some.
const OTHER_WEIGHTS: [f64; 2] = [2.0, 0.5];
const MOST_VARIED: usize = 2;

/// Number of different numbers of moves for which the least cost is computed.
const TARGETS: usize = 12;

/// Natural size of the slopes, as a share of that at the deviations of a cut.
const OF_SLOPE: f64 = 0.3;

/// A deviation of a cut is at least this share of that of the first cut.
const LEAST_SHARE: f64 = 0.25;

/// Raises the bounds for up to `most` moves. `rest` is what the score has at least beside deviations and reserves.
/// If nodes share states, this needs `known`, the score of a placement after at most `most` moves; else that must be `None`.
pub(in super::super) fn tighten(
    terrain: &Terrain<'_>,
    (lanes, ranges): (&[LaneFloor], &RangeProblem),
    (rest, known): (f64, Option<f64>),
    line: &mut MoveLine,
    most: usize,
    deadline: &Deadline,
) {
    let problem = MoveProblem::of(terrain, lanes, ranges).filter(|of| of.shared == known.is_some());
    let Some(problem) = problem else { return };
    let least: Vec<f64> = lanes.iter().map(|lane| lane.least).collect();
    let Some(mut search) = PriceSearch::of(&problem, line.after(most) - rest, most) else { return };
    if let Some(known) = known {
        search.highest = search.highest.min(known - rest);
    }
    let (cuts, boxes) = if problem.shared {
        cover(&mut search, &least, deadline)
    } else {
        (search.cuts(&least, deadline), vec![search.ranges(&least)])
    };
    for target in 1..=TARGETS {
        let moves = most * target / TARGETS;
        let (bound, _) = least_cost(&cuts, &problem.weights, boxes.clone(), moves);
        let bound = bound.min(search.highest);
        line.raise_up_to(moves, rest + bound - ROUNDING * (rest.abs() + bound.abs()));
    }
}

/// The search for good prices.
pub(super) struct PriceSearch<'a> {
    pub problem: &'a MoveProblem,
    layout: PriceLayout,
    setting: PriceSetting,
    pub prices: Vec<f64>,
    pub most: usize,
    /// Average cost of a role.
    unit: f64,
    /// Cost of the start or of a better placement; no bound is above it.
    pub highest: f64,
    /// Number of evaluations in each stage.
    evaluations: usize,
}

impl<'a> PriceSearch<'a> {
    /// `cost` is about the cost after at most `most` moves.
    pub(super) fn of(problem: &'a MoveProblem, cost: f64, most: usize) -> Option<PriceSearch<'a>> {
        let layout = PriceLayout::of(problem);
        let nodes = problem.nodes.len() as f64;
        let deviations = problem.deviations();
        let reserves = problem.reserves();
        let highest = problem.cost(&deviations, &reserves);
        let unit = cost.min(highest) / (2 * problem.mirrored.len()) as f64;
        if !(unit > 0.0 && highest.is_finite()) {
            return None;
        }
        let costs = problem.states.len() * problem.arrivals.len();
        let evaluations = (OVER_COSTS / costs.max(1)).clamp(FEWEST_EVALUATIONS, MOST_EVALUATIONS);
        let slopes = problem.weights.iter().map(|weight| OF_SLOPE * weight / nodes);
        let mut prices = vec![0.0; layout.len()];
        prices[layout.move_price()] = 1.0;
        prices[layout.shares()].fill(0.5);
        let setting = PriceSetting {
            lanes: Vec::new(),
            reserve: vec![problem.of_sum; problem.nodes.len()],
            moves: most as f64,
            scale: slopes.chain(std::iter::repeat_n(unit, problem.limits)).collect(),
            move_scale: unit,
            blur: unit,
        };
        let mut search = PriceSearch { problem, layout, setting, prices, most, unit, highest, evaluations };
        search.layout.point_at(&mut search.prices, &problem.distances());
        search.set_straight(&problem.weights);
        Some(search)
    }

    /// The ranges in which deviations are that cost no more than the highest cost.
    pub(super) fn ranges(&self, least: &[f64]) -> DeviationBox {
        let range = |(weight, least): (&f64, &f64)| {
            let low = least * (1.0 - ROUNDING);
            (low, (self.highest / weight * (1.0 + ROUNDING)).max(low))
        };
        self.problem.weights.iter().zip(least).map(range).collect()
    }

    /// Proved cuts. The first one is a tangent of all deviations; then come tangents for which one of the deviations counts more
    /// or less than its weight. They leave small ranges for the deviations. There, prices of the variances give more.
    fn cuts(&mut self, least: &[f64], deadline: &Deadline) -> Vec<DeviationCut> {
        let found = self.first_climb(deadline);
        let mut cuts = vec![prove(self.problem, &self.setting, &self.prices)];
        let cost = |lane: &usize| self.problem.weights[*lane] * found[*lane];
        let mut lanes: Vec<usize> = (0..found.len()).collect();
        lanes.sort_by(|a, b| cost(b).total_cmp(&cost(a)).then(a.cmp(b)));
        if self.add_tangents(&mut cuts, &lanes, deadline).is_some() {
            self.add_squared(&mut cuts, &lanes, (least, &found), deadline);
        }
        cuts
    }

    /// Prices the variances of all lanes so that the deviations in `aim` cost their weights.
    pub(super) fn set_squared(&mut self, aim: &[f64]) {
        let prices = self.problem.weights.iter().zip(aim);
        self.setting.lanes =
            prices.map(|(weight, aim)| LanePrice::Squared(weight / (2.0 * aim.max(SMALL)))).collect();
    }

    /// Raises the prices in all stages. Returns the deviations where the smooth function has its value.
    pub(super) fn first_climb(&mut self, deadline: &Deadline) -> Vec<f64> {
        let mut found = Vec::new();
        for blur in BLURS {
            self.setting.blur = blur * self.unit;
            found = self.climb(self.evaluations, deadline);
        }
        found
    }

    /// Adds a tangent for each other weight of one of the first lanes, and returns to the first tangent; `None` at the
    /// deadline.
    fn add_tangents(
        &mut self,
        cuts: &mut Vec<DeviationCut>,
        lanes: &[usize],
        deadline: &Deadline,
    ) -> Option<()> {
        let weights = &self.problem.weights;
        let first = self.prices.clone();
        for (lane, factor) in
            lanes.iter().take(MOST_VARIED).flat_map(|lane| OTHER_WEIGHTS.map(|by| (*lane, by)))
        {
            let mut others = weights.clone();
            others[lane] *= factor;
            self.prices.clone_from(&first);
            self.set_straight(&others);
            self.add_cut(cuts, deadline)?;
        }
        self.prices = first;
        self.set_straight(weights);
        Some(())
    }

    /// Adds cuts by prices of the variances of the first lanes, each at the deviations where those before allow the least
    /// cost; `None` at the deadline. `least` has the least deviations, and `found` those of the first cut.
    fn add_squared(
        &mut self,
        cuts: &mut Vec<DeviationCut>,
        lanes: &[usize],
        (least, found): (&[f64], &[f64]),
        deadline: &Deadline,
    ) -> Option<()> {
        let weights = &self.problem.weights;
        self.layout.spread(self.problem, &self.setting, &mut self.prices);
        let mut aim = found.to_vec();
        for (squared, times) in SQUARED {
            for _ in 0..times {
                self.set_straight(weights);
                for lane in lanes.iter().take(squared) {
                    self.setting.lanes[*lane] = LanePrice::Squared(weights[*lane] / (2.0 * aim[*lane]));
                }
                self.add_cut(cuts, deadline)?;
                aim = least_cost(cuts, weights, vec![self.ranges(least)], self.most).1;
                aim.iter_mut().zip(found).for_each(|(x, first)| *x = x.max(LEAST_SHARE * first).max(SMALL));
            }
        }
        Some(())
    }

    /// Raises the prices, and adds the cut that they prove; `None` at the deadline. Returns the deviations where the smooth
    /// function has its value.
    pub(super) fn add_cut(&mut self, cuts: &mut Vec<DeviationCut>, deadline: &Deadline) -> Option<Vec<f64>> {
        let found = self.climb(self.evaluations / SHARE_OF_A_CUT, deadline);
        if deadline.reached().is_some() {
            return None;
        }
        cuts.push(prove(self.problem, &self.setting, &self.prices));
        Some(found)
    }

    /// Prices the deviations by tangents with these weights.
    fn set_straight(&mut self, weights: &[f64]) {
        self.setting.lanes = weights.iter().map(|price| LanePrice::Straight(*price)).collect();
    }

    /// Raises the prices, and fits the prices of the reserves to them. Returns the deviations where the smooth function has
    /// its value.
    fn climb(&mut self, evaluations: usize, deadline: &Deadline) -> Vec<f64> {
        let PriceSearch { problem, layout, setting, prices, .. } = self;
        let range = |at: usize| {
            if at == layout.move_price() {
                (0.0, f64::INFINITY)
            } else if layout.shares().contains(&at) {
                (0.0, 1.0)
            } else {
                (f64::NEG_INFINITY, f64::INFINITY)
            }
        };
        let mut point = prices.clone();
        ascend(&mut point, evaluations, range, |prices, gradient| {
            if deadline.reached().is_some() {
                f64::NEG_INFINITY
            } else {
                value(problem, setting, prices, gradient).0
            }
        });
        *prices = point;
        let mut gradient = vec![0.0; prices.len()];
        let (_, blurred) = value(problem, setting, prices, &mut gradient);
        setting.reserve = problem.reserve_prices(&blurred.levels);
        blurred.variances.iter().map(|variance| variance.sqrt()).collect()
    }
}

/// Deviations are not taken as smaller than this.
const SMALL: f64 = 1e-6;

impl MoveProblem {
    /// For each lane and node, the distance from the mean at the start.
    fn distances(&self) -> Vec<Vec<f64>> {
        let away = |node: &HomeNode, lane: usize| {
            let residents = node.residents.iter().map(|of| self.roles[of.role].amounts[lane]);
            node.offset[lane] + residents.sum::<f64>()
        };
        let of_lane = |lane: usize| self.nodes.iter().map(|node| away(node, lane)).collect();
        (0..self.weights.len()).map(of_lane).collect()
    }

    /// The deviation of each lane at the start.
    pub(super) fn deviations(&self) -> Vec<f64> {
        let squares = |away: &Vec<f64>| away.iter().map(|x| x * x).sum::<f64>() / self.nodes.len() as f64;
        self.distances().iter().map(|away| squares(away).sqrt()).collect()
    }

    /// The level of the reserve of each node at the start, in MiB.
    pub(super) fn reserves(&self) -> Vec<f64> {
        let of_node =
            |node: &HomeNode| node.residents.iter().map(|of| self.roles[of.role].need).fold(0.0, f64::max);
        self.nodes.iter().map(of_node).collect()
    }

    pub(super) fn cost(&self, deviations: &[f64], reserves: &[f64]) -> f64 {
        let lanes: f64 =
            self.weights.iter().zip(deviations).map(|(weight, deviation)| weight * deviation).sum();
        let prices = self.reserve_prices(reserves);
        lanes + prices.iter().zip(reserves).map(|(price, kept)| price * kept).sum::<f64>()
    }

    /// The price of the reserve of each node, for each MiB, by the tangent of their deviation at these reserves.
    pub(super) fn reserve_prices(&self, reserves: &[f64]) -> Vec<f64> {
        reserve_prices(reserves.to_vec(), (self.of_sum, self.of_deviation), 1e-6)
    }
}
