//! Proof of a bound: for any prices, no placement costs less than what this module computes. Prices that are far from
//! the best ones give a weak bound, not a wrong one, so the solver that finds them need not be trusted.

use super::super::ROUNDING;
use super::super::careful::CarefulSum;
use super::problem::{ItemKind, LevelProblem, NodeClass};

/// Nodes of a class that keep at least a certain level and less than the next higher one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeGroup {
    /// Index of the class.
    pub class: usize,
    /// Index of the level, or the number of levels for nodes that keep less than the lowest.
    pub level: usize,
    /// Number of nodes; never 0.
    pub nodes: usize,
}

/// A number for each lane and each group of nodes.
pub(super) type ByLaneAndGroup = Vec<Vec<f64>>;

/// Lower bound of the weighted deviations of all lanes, if the nodes are in these groups. `directions` has a number for
/// each lane and group; the bound holds for any numbers.
pub(super) fn bound(problem: &LevelProblem, groups: &[NodeGroup], directions: &ByLaneAndGroup) -> f64 {
    let mut sum = CarefulSum::default();
    let mut slopes = Vec::with_capacity(directions.len());
    for (lane, direction) in directions.iter().enumerate() {
        let (slope, used) = slopes_of(problem.nodes, groups, direction, problem.weights[lane]);
        let rest = (problem.weights[lane] - used).max(0.0) * problem.least[lane];
        sum.add(rest, rest);
        slopes.push(slope);
    }
    for (class, details) in problem.classes.iter().enumerate() {
        fixed_part(&mut sum, groups, &slopes, class, details);
    }
    for item in &problem.items {
        item_part(&mut sum, problem, groups, &slopes, item);
    }
    sum.lower()
}

/// The slopes of one lane's tangent, and the share of the lane's weight that they use.
///
/// A direction has an entry z_j for each group. With z orthogonal to the vector of sqrt(n_j), the weighted deviation is
/// at least the sum of z_j S_j / sqrt(n_j N), as long as the length of z is at most the weight; S_j is the sum of the
/// group's values.
fn slopes_of(nodes: usize, groups: &[NodeGroup], direction: &[f64], weight: f64) -> (Vec<f64>, f64) {
    let n = nodes as f64;
    let root = |group: &NodeGroup| (group.nodes as f64).sqrt();
    let along: f64 = groups.iter().zip(direction).map(|(group, z)| root(group) * z).sum::<f64>() / n;
    let mut centred: Vec<f64> =
        groups.iter().zip(direction).map(|(group, z)| z - along * root(group)).collect();
    let length = centred.iter().map(|z| z * z).sum::<f64>().sqrt() * (1.0 + ROUNDING);
    if !(length.is_finite() && length > 0.0) {
        return (vec![0.0; groups.len()], 0.0);
    }
    let factor = (weight / length).min(1.0);
    centred.iter_mut().for_each(|z| *z *= factor);
    let slopes = groups.iter().zip(&centred).map(|(group, z)| z / (group.nodes as f64 * n).sqrt());
    (slopes.collect(), length * factor)
}

/// Adds what cannot move. The nodes of a class are in any order, so that the largest amounts meet the smallest slopes.
fn fixed_part(
    sum: &mut CarefulSum,
    groups: &[NodeGroup],
    slopes: &ByLaneAndGroup,
    class: usize,
    details: &NodeClass,
) {
    for (lane, fixed) in details.fixed.iter().enumerate() {
        let scale = details.scales[lane];
        let mut own: Vec<(f64, usize)> = groups
            .iter()
            .zip(&slopes[lane])
            .filter(|(group, _)| group.class == class)
            .map(|(group, slope)| (slope * scale, group.nodes))
            .collect();
        own.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut left = fixed.iter();
        for (slope, nodes) in own {
            for amount in left.by_ref().take(nodes) {
                sum.add(slope * amount, (slope * amount).abs());
            }
        }
    }
}

/// Adds the items of a kind, each on the groups where it costs least.
fn item_part(
    sum: &mut CarefulSum,
    problem: &LevelProblem,
    groups: &[NodeGroup],
    slopes: &ByLaneAndGroup,
    item: &ItemKind,
) {
    for (amounts, is_secondary) in [(Some(&item.primary), false), (item.secondary.as_ref(), true)] {
        let Some(amounts) = amounts else { continue };
        let (mut least, mut size) = (f64::INFINITY, 0.0_f64);
        for (at, group) in groups.iter().enumerate() {
            if is_secondary && group.level > item.level {
                continue;
            }
            let scales = &problem.classes[group.class].scales;
            let (mut cost, mut all) = (0.0, 0.0);
            for (lane, amount) in amounts.iter().enumerate() {
                let part = slopes[lane][at] * scales[lane] * amount;
                cost += part;
                all += part.abs();
            }
            least = least.min(cost);
            size = size.max(all);
        }
        if !item.stays {
            least = least.min(0.0);
        }
        sum.add(item.count * least, item.count * size);
    }
}
