//! Finds good prices for a choice of groups by a second-order cone program.
//!
//! Its variables are the numbers of primaries and secondaries of each bundle of items on each group of nodes, and the
//! deviation and the mean of each lane. It minimises the weighted deviations.

use clarabel::solver::SupportedConeT::{NonnegativeConeT, SecondOrderConeT, ZeroConeT};

use super::super::program::ProgramRows;
use super::prices::{ByLaneAndGroup, NodeGroup};
use super::problem::{ItemKind, LevelProblem};

/// Maximum number of variables of a program. Items are bundled until they fit.
pub(super) const MOST_VARIABLES: usize = 2_000;
/// Number of bundles that are made in any case, if there are so many kinds.
const FEWEST_BUNDLES: usize = 8;
/// Bundles similar kinds of items, so that programs with `groups` groups have no more than about `most` variables. Each
/// bundle has the mean amounts of its items.
pub(in super::super) fn bundled(items: &[ItemKind], groups: usize, most: usize) -> Vec<ItemKind> {
    let bundles = bundles(items, most / (2 * groups.max(1)));
    bundles.iter().map(|bundle| mean(&bundle.iter().map(|at| &items[*at]).collect::<Vec<_>>())).collect()
}

/// Bundles similar kinds of items to about `most` bundles of their indices.
pub(in super::super) fn bundles(items: &[ItemKind], most: usize) -> Vec<Vec<usize>> {
    let most = most.max(FEWEST_BUNDLES);
    let mut bundles: Vec<Vec<usize>> = Vec::new();
    // Only items of one level, and of the same roles, are alike.
    for (at, item) in items.iter().enumerate() {
        let same = |bundle: &&mut Vec<usize>| {
            let first = &items[bundle[0]];
            first.level == item.level
                && first.stays == item.stays
                && first.secondary.is_some() == item.secondary.is_some()
        };
        match bundles.iter_mut().find(same) {
            Some(bundle) => bundle.push(at),
            None => bundles.push(vec![at]),
        }
    }
    while bundles.len() < most {
        let spread = |bundle: &Vec<usize>| {
            let count: f64 = bundle.iter().map(|at| items[*at].count).sum();
            widest(items, bundle).map(|(lane, width)| (width * count, lane))
        };
        let candidates = bundles.iter().enumerate().filter_map(|(at, bundle)| Some((at, spread(bundle)?)));
        let Some((at, (_, lane))) = candidates.max_by(|a, b| a.1.0.total_cmp(&b.1.0).then(b.0.cmp(&a.0)))
        else {
            break;
        };
        let mut parts = bundles.swap_remove(at);
        let amount = |at: &usize| items[*at].primary[lane];
        parts.sort_by(|a, b| amount(a).total_cmp(&amount(b)));
        let middle = f64::midpoint(amount(&parts[0]), amount(&parts[parts.len() - 1]));
        let upper = parts.split_off(parts.partition_point(|at| amount(at) <= middle));
        bundles.extend([parts, upper]);
    }
    bundles
}

/// The lane in which the primaries of a bundle differ most, relative to their size, and by how much; `None` if they
/// are equal.
fn widest(items: &[ItemKind], bundle: &[usize]) -> Option<(usize, f64)> {
    let width = |lane: usize| {
        let of = |at: &usize| items[*at].primary[lane];
        let (low, high) = (
            bundle.iter().map(of).fold(f64::INFINITY, f64::min),
            bundle.iter().map(of).fold(f64::NEG_INFINITY, f64::max),
        );
        (high - low) / high.abs().max(low.abs()).max(f64::MIN_POSITIVE)
    };
    let lanes = 0..items[bundle[0]].primary.len();
    let all = lanes.map(|lane| (lane, width(lane))).filter(|(_, width)| *width > 0.0);
    all.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
}

fn mean(bundle: &[&ItemKind]) -> ItemKind {
    let count: f64 = bundle.iter().map(|item| item.count).sum();
    let over = |amounts: &dyn Fn(&ItemKind) -> Option<Vec<f64>>| {
        let mut mean: Option<Vec<f64>> = None;
        for item in bundle {
            let Some(own) = amounts(item) else { continue };
            let mean = mean.get_or_insert_with(|| vec![0.0; own.len()]);
            mean.iter_mut().zip(own).for_each(|(sum, amount)| *sum += amount * item.count / count);
        }
        mean
    };
    ItemKind {
        count,
        level: bundle[0].level,
        primary: over(&|item| Some(item.primary.clone())).unwrap_or_default(),
        secondary: over(&|item| item.secondary.clone()),
        stays: bundle[0].stays,
    }
}

/// Number of items of one bundle, in one role, on one group.
struct Share {
    group: usize,
    bundle: usize,
    secondary: bool,
}

/// Directions for [`prices::bound`](super::prices::bound) that are good for these groups; `None` if the solver finds
/// none.
pub(super) fn directions(
    problem: &LevelProblem,
    bundles: &[ItemKind],
    groups: &[NodeGroup],
) -> Option<ByLaneAndGroup> {
    let shares = shares(bundles, groups);
    let lanes = problem.weights.len();
    // After the shares come the deviation and the mean of each lane.
    let (deviation, mean) = (shares.len(), shares.len() + lanes);
    let variables = shares.len() + 2 * lanes;
    let mut rows = ProgramRows::default();
    for stays in [true, false] {
        let before = rows.height();
        all_items_are_somewhere(&mut rows, bundles, &shares, stays);
        let all = rows.height() - before;
        rows.cones.push(if stays { ZeroConeT(all) } else { NonnegativeConeT(all) });
    }
    for share in 0..shares.len() {
        rows.put(share, -1.0);
        rows.end(0.0);
    }
    for lane in 0..lanes {
        rows.put(deviation + lane, -1.0);
        rows.end(-problem.least[lane]);
    }
    rows.cones.push(NonnegativeConeT(shares.len() + lanes));
    let cones_begin = rows.height();
    for lane in 0..lanes {
        rows.put(deviation + lane, -1.0);
        rows.end(0.0);
        for (at, group) in groups.iter().enumerate() {
            let class = &problem.classes[group.class];
            let (scale, size) = (class.scales[lane], group.nodes as f64);
            let factor = 1.0 / (size * problem.nodes as f64).sqrt();
            for (column, share) in shares.iter().enumerate().filter(|(_, share)| share.group == at) {
                let amount = amounts(&bundles[share.bundle], share.secondary)[lane];
                if amount != 0.0 {
                    rows.put(column, -scale * amount * factor);
                }
            }
            rows.put(mean + lane, size * factor);
            let fixed = class.fixed[lane].iter().sum::<f64>() / class.nodes as f64;
            rows.end(fixed * scale * size * factor);
        }
        rows.cones.push(SecondOrderConeT(1 + groups.len()));
    }
    let mut objective = vec![0.0; variables];
    objective[deviation..mean].copy_from_slice(&problem.weights);
    let prices = rows.solve(&objective)?.prices;
    let of_lane = |lane: usize| {
        let begin = cones_begin + lane * (1 + groups.len()) + 1;
        prices[begin..][..groups.len()].iter().map(|price| -price).collect()
    };
    Some((0..lanes).map(of_lane).collect())
}

fn amounts(bundle: &ItemKind, secondary: bool) -> &[f64] {
    if secondary { bundle.secondary.as_deref().unwrap_or_default() } else { &bundle.primary }
}

fn shares(bundles: &[ItemKind], groups: &[NodeGroup]) -> Vec<Share> {
    let mut shares = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        for (bundle, items) in bundles.iter().enumerate() {
            shares.push(Share { group: at, bundle, secondary: false });
            if items.secondary.is_some() && group.level <= items.level {
                shares.push(Share { group: at, bundle, secondary: true });
            }
        }
    }
    shares
}

/// ProgramRows by which all items of the bundles that stay, or that need not, are on some group.
fn all_items_are_somewhere(rows: &mut ProgramRows, bundles: &[ItemKind], shares: &[Share], stays: bool) {
    for (bundle, items) in bundles.iter().enumerate().filter(|(_, items)| items.stays == stays) {
        for secondary in [false, true] {
            if secondary && items.secondary.is_none() {
                continue;
            }
            for (column, share) in shares.iter().enumerate() {
                if share.bundle == bundle && share.secondary == secondary {
                    rows.put(column, 1.0);
                }
            }
            rows.end(items.count);
        }
    }
}
