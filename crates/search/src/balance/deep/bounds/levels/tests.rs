//! The bound by levels against all placements of small problems.

use super::boxes;
use super::prices::{self, NodeGroup};
use super::problem::{ItemKind, LevelProblem, NodeClass};
use crate::Deadline;
use crate::balance::deep::RandomNumbers;

const LANES: usize = 2;

/// One or two classes of nodes, some of which hold something that cannot move, and up to four instances.
fn problem(draws: &mut RandomNumbers) -> LevelProblem {
    let classes = (0..=draws.below(2)).map(|_| {
        let nodes = 1 + draws.below(2);
        let mut fixed = vec![vec![0.0; nodes]; LANES];
        for amounts in &mut fixed {
            amounts.iter_mut().for_each(|amount| *amount = 2.0 * draws.below(5) as f64);
            amounts.sort_by(f64::total_cmp);
        }
        let scale = 1.0 / (10 + draws.below(30)) as f64;
        NodeClass { nodes, scales: vec![scale, 2.0 * scale], of_one_mib: scale, fixed }
    });
    let classes: Vec<NodeClass> = classes.collect();
    let nodes = classes.iter().map(|class| class.nodes).sum();
    let levels = vec![8.0, 4.0, 1.0];
    let items = (0..1 + draws.below(3)).map(|_| ItemKind {
        count: 1.0 + draws.below(2) as f64,
        level: draws.below(4),
        primary: vec![1.0 + draws.below(9) as f64, -(1.0 + draws.below(5) as f64)],
        secondary: (draws.below(4) > 0).then(|| vec![0.0, -(1.0 + draws.below(5) as f64)]),
        stays: draws.below(5) > 0,
    });
    let n = f64::from(u32::try_from(nodes).unwrap());
    LevelProblem {
        nodes,
        classes,
        weights: vec![1.0, 0.5],
        least: vec![0.0; LANES],
        items: items.collect(),
        levels,
        of_sum: 0.25,
        of_deviation: f64::min(1.0, 0.25 * n / (n - 1.0).max(1.0).sqrt()),
    }
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt()
}

/// A placement: for each single item its primary and its secondary node, or no node for items that left.
struct Sight {
    /// By lane, the values of the nodes.
    values: Vec<Vec<f64>>,
    /// By node, the highest level of a secondary.
    levels: Vec<usize>,
}

/// Calls `see` for all placements.
fn visit(problem: &LevelProblem, see: &mut impl FnMut(&Sight)) {
    let mut roles: Vec<(&[f64], usize, bool)> = Vec::new();
    for item in &problem.items {
        for _ in 0..item.count as usize {
            roles.push((&item.primary, problem.heights(), item.stays));
            if let Some(amounts) = &item.secondary {
                roles.push((amounts, item.level, item.stays));
            }
        }
    }
    let scale_of: Vec<&NodeClass> =
        problem.classes.iter().flat_map(|class| std::iter::repeat_n(class, class.nodes)).collect();
    let start = Sight {
        values: (0..LANES)
            .map(|lane| {
                let of_class = |class: &NodeClass| {
                    class.fixed[lane].iter().map(|x| x * class.scales[lane]).collect::<Vec<_>>()
                };
                problem.classes.iter().flat_map(of_class).collect()
            })
            .collect(),
        levels: vec![problem.heights(); problem.nodes],
    };
    let choices = problem.nodes + 1;
    for mut code in 0..choices.pow(roles.len() as u32) {
        let mut sight = Sight { values: start.values.clone(), levels: start.levels.clone() };
        let mut is_allowed = true;
        for (amounts, level, stays) in &roles {
            let node = code % choices;
            code /= choices;
            if node == problem.nodes {
                is_allowed &= !stays;
                continue;
            }
            for lane in 0..LANES {
                sight.values[lane][node] += amounts[lane] * scale_of[node].scales[lane];
            }
            sight.levels[node] = sight.levels[node].min(*level);
        }
        if is_allowed {
            see(&sight);
        }
    }
}

/// The weighted deviations of a placement.
fn deviations(problem: &LevelProblem, sight: &Sight) -> f64 {
    problem.weights.iter().zip(&sight.values).map(|(weight, values)| weight * deviation(values)).sum()
}

fn cost(problem: &LevelProblem, sight: &Sight) -> f64 {
    let shares = problem.classes.iter().flat_map(|class| std::iter::repeat_n(class.of_one_mib, class.nodes));
    let kept: Vec<f64> = shares
        .zip(&sight.levels)
        .map(|(share, level)| share * problem.levels.get(*level).copied().unwrap_or(0.0))
        .collect();
    let reserves = problem.of_sum * kept.iter().sum::<f64>() + problem.of_deviation * deviation(&kept);
    reserves + deviations(problem, sight)
}

/// The groups to which the nodes of a placement belong.
fn groups(problem: &LevelProblem, sight: &Sight) -> Vec<NodeGroup> {
    let mut groups = Vec::new();
    let mut levels = sight.levels.iter();
    for (class, details) in problem.classes.iter().enumerate() {
        let own: Vec<usize> = levels.by_ref().take(details.nodes).copied().collect();
        for level in 0..=problem.heights() {
            let nodes = own.iter().filter(|other| **other == level).count();
            if nodes > 0 {
                groups.push(NodeGroup { class, level, nodes });
            }
        }
    }
    groups
}

#[test]
fn no_placement_is_below_the_bound() {
    let mut draws = RandomNumbers::stream(11);
    let (mut seen, mut tight) = (0, 0);
    for _ in 0..150 {
        let problem = problem(&mut draws);
        if problem.nodes < 2 || problem.items.iter().map(|item| item.count).sum::<f64>() > 4.0 {
            continue;
        }
        let mut least = f64::INFINITY;
        visit(&problem, &mut |sight| least = least.min(cost(&problem, sight)));
        let bound = boxes::least(&problem, f64::INFINITY, &Deadline::never());
        assert!(bound <= least + 1e-9, "{bound} {least} {problem:?}");
        let with_known = boxes::least(&problem, least + 1e-6, &Deadline::never());
        assert!(with_known <= least + 2e-6, "{with_known} {least} {problem:?}");
        seen += 1;
        tight += usize::from(with_known > 0.5 * least);
    }
    assert!(seen > 50 && tight > seen / 4, "{tight} of {seen}");
}

#[test]
fn any_prices_give_a_bound() {
    let mut draws = RandomNumbers::stream(12);
    for _ in 0..60 {
        let problem = problem(&mut draws);
        if problem.items.iter().map(|item| item.count).sum::<f64>() > 3.0 {
            continue;
        }
        visit(&problem, &mut |sight| {
            let groups = groups(&problem, sight);
            let directions: Vec<Vec<f64>> = (0..LANES)
                .map(|_| groups.iter().map(|_| draws.below(21) as f64 / 10.0 - 1.0).collect())
                .collect();
            let bound = prices::bound(&problem, &groups, &directions);
            assert!(bound <= deviations(&problem, sight) + 1e-9, "{bound} {problem:?}");
        });
    }
}
