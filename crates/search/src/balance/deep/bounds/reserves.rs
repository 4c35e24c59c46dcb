//! Lower bound of the unevenness of the reserves. A node with a small reserve hosts few secondaries, so their
//! disks are on other nodes.
//!
//! A secondary with need v is on a node that keeps at least v. All secondaries with needs of at least v have so
//! much disk that k nodes must hold it, unless disks are spread badly. So k nodes keep at least v.
//! docs/bounds.md has the proof.

use super::level::LaneColumn;
use super::stays_online;
use crate::balance::deep::terrain::Terrain;

/// Maximum number of different needs. Leaving some out makes the bound weaker, not wrong.
const MOST_SIZES: usize = 48;

/// Number of deviations of the disks that are tried. Clusters of more than `SMALL` nodes get fewer, as each
/// takes longer.
const GRID: usize = 256;
const LEAST_GRID: usize = 48;
const SMALL: usize = 200;

/// Number of steps of the search for the level.
const HALVINGS: usize = 60;

/// Demand of the secondaries for reserves, by size of the need.
struct Demand {
    /// Needs, ascending, in the unit of the reserve's lane on the node with most memory.
    needs: Vec<f64>,
    /// For each need, the amount that secondaries with at least that need add to the other lane.
    amounts: Vec<f64>,
}

/// The other lane: the least amount on k nodes, and the mean.
struct Holders {
    /// For each k, the sum of the k smallest fixed parts.
    fixed: Vec<f64>,
    mean: f64,
    scale: f64,
}

/// Joint lower bound of the score's parts for the deviation of a lane to which secondaries add, and for the sum
/// and the deviation of the reserves. Returns `None` if the bound does not apply.
///
/// `least` is the least deviation of the lane alone. `sum` is the least part of the score for the sum of the
/// reserves.
pub(super) fn together(
    terrain: &Terrain<'_>,
    lane: usize,
    column: &LaneColumn,
    least: f64,
    sum: f64,
) -> Option<f64> {
    let reserve = terrain.lanes.reserve?;
    let scale = column.scales[0];
    if column.optional != 0.0 || column.scales.iter().any(|s| *s != scale) || column.fixed.len() < 2 {
        return None;
    }
    let (demand, holders) = (demand(terrain, lane)?, Holders::of(column, scale));
    let (weight, of_sum, of_deviation) =
        (terrain.lanes.weight[lane], terrain.weights.reserved, terrain.lanes.weight[reserve]);
    let nodes = column.fixed.len();
    let rest = |deviation: f64| {
        let profile = demand.profile(&holders, nodes, deviation);
        least_of(&profile, sum / of_sum.max(f64::MIN_POSITIVE), of_sum, of_deviation)
    };
    // A larger deviation of the lane never makes the reserves worse. So on each interval the lane contributes
    // at least its value at the start, and the reserves at least theirs at the end.
    let most = weight * least + rest(least);
    let points = (GRID * SMALL / nodes).clamp(LEAST_GRID, GRID);
    let step = (most / weight - least) / points as f64;
    if !(weight > 0.0 && step > 0.0 && step.is_finite()) {
        return None;
    }
    let point = |at: usize| least + step * at as f64;
    let of_interval = |at: usize| weight * point(at) + rest(point(at + 1));
    Some((0..points).map(of_interval).fold(weight * point(points), f64::min))
}

/// The demand by size; `None` if there is none, or if secondaries add nothing to the lane.
fn demand(terrain: &Terrain<'_>, lane: usize) -> Option<Demand> {
    let first = terrain.online.first()?;
    let most_memory = terrain.online.iter().map(|slot| terrain.spec(*slot).mem_total).fold(0.0, f64::max);
    let mut all: Vec<(i64, f64)> = (0..)
        .zip(&terrain.mobiles)
        .filter(|(mobile, details)| details.mirrored && details.need > 0 && stays_online(terrain, *mobile))
        .map(|(mobile, details)| (details.need, terrain.amounts(mobile, *first, true)[lane].abs()))
        .collect();
    let weigh = all.iter().any(|(_, amount)| *amount > 0.0);
    if !(weigh && most_memory.is_finite() && most_memory > 0.0) {
        return None;
    }
    all.sort_by_key(|(need, _)| std::cmp::Reverse(*need));
    let (mut sizes, mut amount): (Vec<(i64, f64)>, f64) = (Vec::new(), 0.0);
    for (need, more) in all {
        amount += more;
        match sizes.last_mut().filter(|last| last.0 == need) {
            Some(last) => last.1 = amount,
            None => sizes.push((need, amount)),
        }
    }
    let every = sizes.len().div_ceil(MOST_SIZES);
    sizes.reverse();
    let kept = sizes.iter().step_by(every);
    Some(Demand {
        needs: kept.clone().map(|size| size.0 as f64 / most_memory).collect(),
        amounts: kept.map(|size| size.1).collect(),
    })
}

impl Holders {
    fn of(column: &LaneColumn, scale: f64) -> Holders {
        let mut sorted = column.fixed.clone();
        sorted.sort_by(f64::total_cmp);
        let mut sum = 0.0;
        let sums = sorted.iter().map(|fixed| {
            sum += fixed;
            sum
        });
        let fixed: Vec<f64> = [0.0].into_iter().chain(sums).collect();
        let total = column.fixed.iter().sum::<f64>() + column.items.iter().sum::<f64>();
        Holders { fixed, mean: total / column.fixed.len() as f64, scale }
    }

    /// The fewest nodes that can hold an amount if the deviation is at most `deviation`.
    fn fewest(&self, amount: f64, deviation: f64) -> usize {
        let nodes = self.fixed.len() - 1;
        let holds = |k: &usize| {
            let beyond = self.fixed[*k] + amount - *k as f64 * self.mean;
            // The k nodes have a mean this much above the mean of all nodes, and the others lie below it.
            self.scale * beyond <= deviation * (1.0 + 1e-9) * ((k * (nodes - k)) as f64).sqrt()
        };
        (1..nodes).find(holds).unwrap_or(nodes)
    }
}

impl Demand {
    /// Lower bounds of the reserves of the nodes, descending, if the deviation of the other lane is at most
    /// `deviation`.
    fn profile(&self, holders: &Holders, nodes: usize, deviation: f64) -> Vec<f64> {
        let mut profile = vec![0.0; nodes];
        for (need, amount) in self.needs.iter().zip(&self.amounts) {
            // Needs ascend, so larger needs overwrite smaller ones, and the rest keep theirs.
            profile[..holders.fewest(*amount, deviation)].fill(*need);
        }
        profile.sort_by(|a, b| b.total_cmp(a));
        profile
    }
}

/// The least weighted sum of total and deviation, over values that are at least those of `profile` and whose
/// total is at least `sum`. For a given total, the deviation is least if the lowest values are raised to one
/// level.
fn least_of(profile: &[f64], sum: f64, of_sum: f64, of_deviation: f64) -> f64 {
    let n = profile.len() as f64;
    let at = |level: f64| {
        let raised = || profile.iter().map(|x| x.max(level));
        let total = raised().sum::<f64>();
        let mean = total / n;
        let variance = raised().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        (total, of_sum * total + of_deviation * variance.sqrt())
    };
    let highest = profile.first().copied().unwrap_or(0.0).max(sum / n);
    let (mut low, mut high) = (0.0, highest);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if at(middle).0 < sum { low = middle } else { high = middle }
    }
    let (mut low, mut high) = (low, highest);
    for _ in 0..HALVINGS {
        let third = (high - low) / 3.0;
        if at(low + third).1 < at(high - third).1 { high -= third } else { low += third }
    }
    // The search ends where the values no longer differ.
    at(low).1 * (1.0 - 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_are_raised_while_that_pays() {
        let weights = (0.25, 1.0);
        let by_steps = |profile: &[f64], sum: f64| {
            let mut best = f64::INFINITY;
            for level in 0..=4000 {
                let level = f64::from(level) / 1000.0;
                let raised: Vec<f64> = profile.iter().map(|x| x.max(level)).collect();
                let total: f64 = raised.iter().sum();
                let mean = total / profile.len() as f64;
                let variance = raised.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / profile.len() as f64;
                if total >= sum {
                    best = best.min(weights.0 * total + weights.1 * variance.sqrt());
                }
            }
            best
        };
        for (profile, sum) in [
            (&[3.0, 2.0, 0.0, 0.0][..], 0.0),
            (&[3.0, 2.0, 0.0, 0.0], 9.5),
            (&[1.0, 1.0, 1.0], 0.0),
            (&[0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 0.0),
        ] {
            let (found, stepped) = (least_of(profile, sum, weights.0, weights.1), by_steps(profile, sum));
            assert!(found <= stepped && found > stepped - 0.01, "{profile:?} {sum}: {found} {stepped}");
        }
    }

    #[test]
    fn disks_take_nodes() {
        let column = LaneColumn {
            sign: 1.0,
            fixed: vec![0.0; 4],
            scales: vec![0.5; 4],
            items: vec![1.0; 8],
            optional: 0.0,
        };
        let holders = Holders::of(&column, 0.5);
        // Two for each node: five take three nodes, or two if those have 2.5 each and the others 1.5.
        assert_eq!(holders.fewest(5.0, 0.0), 3);
        assert_eq!(holders.fewest(5.0, 0.25), 2);
        assert_eq!(holders.fewest(8.0, 0.1), 4);
    }
}
