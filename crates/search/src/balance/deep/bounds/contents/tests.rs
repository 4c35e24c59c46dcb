//! The bound by whole contents against all placements of small problems, and against the bound by ranges.

use super::super::levels::ItemKind;
use super::super::ranges::{self, Range, RangeCosts, RangePrices, RangeProblem, RoomyNode};
use super::counts::{NodesByLevel, level_counts};
use super::cuts::ContentCut;
use super::grid::ContentGrid;
use super::prices::ContentPrices;
use super::problem::ContentProblem;
use super::search::least;
use crate::Deadline;
use crate::balance::deep::RandomNumbers;

const LANES: usize = 4;

/// One item in one role.
struct ItemRole {
    item: usize,
    is_secondary: bool,
}

/// A problem of equal nodes.
struct EqualCase {
    problem: RangeProblem,
    nodes: usize,
    fixed: Vec<f64>,
    roles: Vec<ItemRole>,
}

/// The cost and the figures of a placement.
struct PlacedFigures {
    deviations: Vec<f64>,
    levels: Vec<u32>,
    cost: f64,
}

/// Two to four nodes, and up to five roles. Secondaries take of the second lane as well, the third lane counts roles, and the
/// fourth one is of primaries alone, as is the first one.
fn case(draws: &mut RandomNumbers) -> EqualCase {
    let nodes = 2 + draws.below(3);
    let (mut items, mut roles): (Vec<ItemKind>, Vec<ItemRole>) = (Vec::new(), Vec::new());
    let most = if nodes < 4 { 5 } else { 4 };
    let has_one_kind = draws.below(4) == 0;
    while roles.len() < 2 || (roles.len() < most && draws.below(4) > 0) {
        let mut units = || (1 + draws.below(4)) as f64;
        let (memory, disk, cpus) = (units(), units(), if has_one_kind { 2.0 } else { units() });
        let level = draws.below(4);
        let is_mirrored = draws.below(4) > 0;
        for is_secondary in [false, true].into_iter().filter(|of| is_mirrored || !of) {
            roles.push(ItemRole { item: items.len(), is_secondary });
        }
        items.push(ItemKind {
            count: 1.0,
            level,
            primary: vec![-0.1 * memory, 0.03 * disk, 0.2, 0.05 * cpus],
            secondary: is_mirrored.then(|| vec![0.0, 0.03 * disk, 0.1, 0.0]),
            stays: true,
        });
    }
    let fixed = vec![0.9, 0.3 * draws.below(2) as f64, 0.0, 0.1];
    let roomy = RoomyNode { fixed: fixed.clone(), rooms: Vec::new(), crowd: None };
    let costs = RangeCosts {
        weights: vec![1.0, 0.5, 0.7, 1.0],
        least: vec![0.0; LANES],
        levels: vec![0.8, 0.4, 0.1, 0.0],
        of_sum: 0.25,
        of_deviation: f64::min(1.0, 0.25 * nodes as f64 / (nodes as f64 - 1.0).sqrt()),
    };
    let problem = RangeProblem::new(costs, vec![roomy; nodes], items, 0);
    EqualCase { problem, nodes, fixed, roles }
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt()
}

impl EqualCase {
    /// Calls `see` for all placements.
    fn visit(&self, see: &mut impl FnMut(&PlacedFigures)) {
        for mut code in 0..self.nodes.pow(self.roles.len() as u32) {
            let mut at = Vec::with_capacity(self.roles.len());
            for _ in &self.roles {
                at.push(code % self.nodes);
                code /= self.nodes;
            }
            see(&self.figures(&at));
        }
    }

    fn figures(&self, at: &[usize]) -> PlacedFigures {
        let costs = &self.problem.costs;
        let mut values: Vec<Vec<f64>> = self.fixed.iter().map(|fixed| vec![*fixed; self.nodes]).collect();
        let mut levels = vec![costs.levels.len() - 1; self.nodes];
        for (role, node) in self.roles.iter().zip(at) {
            let item = &self.problem.items[role.item];
            let amounts = if role.is_secondary { item.secondary.as_ref() } else { Some(&item.primary) };
            for (values, amount) in values.iter_mut().zip(amounts.into_iter().flatten()) {
                values[*node] += amount;
            }
            if role.is_secondary {
                levels[*node] = levels[*node].min(item.level);
            }
        }
        let kept: Vec<f64> = levels.iter().map(|level| costs.levels[*level]).collect();
        let deviations: Vec<f64> = values.iter().map(|values| deviation(values)).collect();
        let parts: f64 = costs.weights.iter().zip(&deviations).map(|(weight, of)| weight * of).sum();
        let count = |level: usize| levels.iter().filter(|own| **own == level).count() as u32;
        PlacedFigures {
            deviations,
            levels: (0..costs.levels.len()).map(count).collect(),
            cost: costs.of_sum * kept.iter().sum::<f64>() + costs.of_deviation * deviation(&kept) + parts,
        }
    }

    fn least(&self) -> f64 {
        let mut least = f64::INFINITY;
        self.visit(&mut |figures| least = least.min(figures.cost));
        least
    }
}

fn counts_of<'a>(all: &'a [NodesByLevel], figures: &PlacedFigures) -> &'a NodesByLevel {
    all.iter().find(|counts| counts.nodes == figures.levels).expect("the numbers of nodes are among all")
}

#[test]
fn no_placement_is_below_the_bound() {
    let mut draws = RandomNumbers::stream(31);
    let (mut seen, mut raised, mut met) = (0, 0, 0);
    while seen < 120 {
        let case = case(&mut draws);
        let optimum = case.least();
        for known in [optimum + 1e-6, 1.3 * optimum + 0.02] {
            let floor = ranges::least(&case.problem, known, &Deadline::never());
            let bound = least(&case.problem, floor, known, &Deadline::never());
            assert!(bound <= optimum + 2e-6, "{bound} {optimum} {known} {:?}", case.problem);
            assert!(bound >= floor, "{bound} {floor}");
            raised += usize::from(bound > floor + 1e-3);
            met += usize::from(bound > optimum - 1e-3);
        }
        seen += 1;
    }
    assert!(raised > seen && met > seen / 20, "{raised} {met} of {seen}");
}

#[test]
fn any_prices_give_a_bound() {
    let mut draws = RandomNumbers::stream(32);
    let (mut checked, mut compared) = (0, 0);
    while checked < 20_000 {
        let case = case(&mut draws);
        let problem = ContentProblem::of(&case.problem).expect("the amounts fit the grid");
        let all = level_counts(&case.problem.costs, case.nodes, f64::INFINITY).expect("few ways");
        let mut below = |most: usize| draws.below(10 * most + 1) as f64 / 10.0;
        let levels = case.problem.costs.levels.len();
        let lane_prices = RangePrices {
            variances: (0..=LANES).map(|_| below(6)).collect(),
            mean: 0.0,
            shares: vec![0.0; levels - 1],
            slopes: (0..LANES).map(|_| (0..levels).map(|_| below(4) - 2.0).collect()).collect(),
        };
        let by_lane = ContentCut::by_ranges(&problem, &lane_prices);
        let mut pays = |count: usize| -> Vec<f64> { (0..count).map(|_| below(4) - 2.0).collect() };
        let prices = ContentPrices {
            primaries: pays(problem.primaries.len()),
            secondaries: pays(problem.secondaries.len()),
            variances: by_lane.prices.variances.clone(),
        };
        let mut seen = 0;
        case.visit(&mut |figures| {
            seen += 1;
            if seen > 20 {
                return;
            }
            let mut around = |x: f64| Range { low: (x - 0.1 * below(4)).max(0.0), high: x + 0.1 * below(4) };
            let within: Vec<Range> = figures.deviations.iter().map(|x| around(*x)).collect();
            let counts = counts_of(&all, figures);
            let bound = by_lane.bound(&problem, counts, &within);
            assert!(bound <= figures.cost + 1e-9, "{bound} {} {:?}", figures.cost, case.problem);
            let Some(grid) = ContentGrid::of(&problem, &within) else { return };
            let cut =
                |prices: &ContentPrices| ContentCut::by_contents(&problem, grid.clone(), prices.clone()).0;
            let by_contents = cut(&prices).bound(&problem, counts, &within);
            assert!(by_contents <= figures.cost + 1e-9, "{by_contents} {} {:?}", figures.cost, case.problem);
            // With what the items pay by ranges, whole contents are no weaker.
            let same = cut(&by_lane.prices).bound(&problem, counts, &within);
            assert!(same >= bound - 1e-5, "{same} {bound} {:?}", case.problem);
            compared += usize::from(same > bound + 1e-3);
            checked += 1;
        });
    }
    assert!(compared > checked / 10, "{compared} of {checked}");
}
