//! The data of the bound by levels: classes of equal nodes, and kinds of equal items.

use std::collections::BTreeMap;

use super::super::{LaneFloor, rising_weight, stays_online};
use crate::balance::deep::terrain::Terrain;

/// Maximum number of levels. Needs in between count as the next lower level, which makes the bound weaker, not wrong.
const MOST_LEVELS: usize = 24;

/// Maximum number of classes of nodes. Clusters with more of them do without this bound.
const MOST_CLASSES: usize = 12;

/// Nodes with the same factors and the same memory.
#[derive(Debug, Clone)]
pub(super) struct NodeClass {
    /// Number of nodes.
    pub nodes: usize,
    /// For each lane, the factor from amounts to values.
    pub scales: Vec<f64>,
    /// Reserve of a node that keeps one MiB, as a share of its memory.
    pub of_one_mib: f64,
    /// For each lane, the amounts on the nodes that cannot move, ascending.
    pub fixed: Vec<Vec<f64>>,
}

/// Movable instances that are equal for the bound.
#[derive(Debug, Clone)]
pub(in super::super) struct ItemKind {
    /// Number of instances.
    pub count: f64,
    /// The lowest level of a node with one of the secondaries: an index into the levels, or their number if the
    /// secondary needs no reserve.
    pub level: usize,
    /// For each lane, the amount on the primary node.
    pub primary: Vec<f64>,
    /// For each lane, the amount on the secondary node, if there is one.
    pub secondary: Option<Vec<f64>>,
    /// True if both roles stay on online nodes of the set.
    pub stays: bool,
}

/// The lower bound of the deviations and of the reserves, as a problem of its own.
#[derive(Debug, Clone)]
pub(in super::super) struct LevelProblem {
    /// Number of nodes.
    pub nodes: usize,
    pub(super) classes: Vec<NodeClass>,
    /// For each lane, the weight of its deviation.
    pub weights: Vec<f64>,
    /// For each lane, its least deviation.
    pub least: Vec<f64>,
    /// The levels of the reserves in MiB, descending.
    pub levels: Vec<f64>,
    pub(super) items: Vec<ItemKind>,
    /// Weight of the sum of the reserves.
    pub of_sum: f64,
    /// Weight of the deviation of the reserves; so small that the cost rises with every reserve.
    pub of_deviation: f64,
}

impl LevelProblem {
    /// Reads the terrain; `None` if the bound does not apply: without movable mirrored instances, and with nodes of too many
    /// sizes.
    pub(in super::super) fn of(terrain: &Terrain<'_>, lanes: &[LaneFloor]) -> Option<LevelProblem> {
        terrain.lanes.reserve?;
        let first = *terrain.online.first()?;
        let nodes = terrain.online.len();
        let equal_storage =
            |slot: &u32| terrain.spec(*slot).exclusive_storage == terrain.spec(first).exclusive_storage;
        if nodes < 2 || lanes.is_empty() || !terrain.online.iter().all(equal_storage) {
            return None;
        }
        let levels = levels(terrain);
        let classes = classes(terrain, lanes)?;
        if levels.is_empty() || classes.len() > MOST_CLASSES {
            return None;
        }
        Some(LevelProblem {
            nodes,
            classes,
            weights: lanes.iter().map(|lane| terrain.lanes.weight[lane.lane]).collect(),
            least: lanes.iter().map(|lane| lane.least).collect(),
            items: items(terrain, first, lanes, &levels),
            levels,
            of_sum: terrain.weights.reserved,
            of_deviation: rising_weight(terrain),
        })
    }

    /// Number of levels.
    pub(super) fn heights(&self) -> usize {
        self.levels.len()
    }
}

/// The different needs of movable secondaries, descending, thinned out to [`MOST_LEVELS`].
pub(in super::super) fn levels(terrain: &Terrain<'_>) -> Vec<f64> {
    let needs = (0..)
        .zip(&terrain.mobiles)
        .filter(|(mobile, details)| details.mirrored && details.need > 0 && stays_online(terrain, *mobile));
    let mut needs: Vec<i64> = needs.map(|(_, details)| details.need).collect();
    needs.sort_unstable_by(|a, b| b.cmp(a));
    needs.dedup();
    let every = needs.len().div_ceil(MOST_LEVELS).max(1);
    // The smallest need of each stretch stands for all of them.
    needs.chunks(every).filter_map(<[i64]>::last).map(|need| *need as f64).collect()
}

/// The nodes by class; `None` if a number of them is not positive and finite.
fn classes(terrain: &Terrain<'_>, lanes: &[LaneFloor]) -> Option<Vec<NodeClass>> {
    let mut classes: BTreeMap<Vec<u64>, NodeClass> = BTreeMap::new();
    for (at, slot) in terrain.online.iter().enumerate() {
        let scale = terrain.scale(*slot);
        let scales: Vec<f64> = lanes.iter().map(|lane| scale[lane.lane]).collect();
        let of_one_mib = 1.0 / terrain.spec(*slot).mem_total;
        if scales.iter().chain([&of_one_mib]).any(|x| !x.is_finite())
            || of_one_mib <= 0.0
            || lanes.iter().any(|lane| !lane.fixed[at].is_finite())
        {
            return None;
        }
        let key = scales.iter().chain([&of_one_mib]).map(|x| x.to_bits()).collect();
        let class = classes.entry(key).or_insert_with(|| {
            let fixed = vec![Vec::new(); lanes.len()];
            NodeClass { nodes: 0, scales, of_one_mib, fixed }
        });
        class.nodes += 1;
        for (of_lane, lane) in class.fixed.iter_mut().zip(lanes) {
            of_lane.push(lane.fixed[at]);
        }
    }
    let mut classes: Vec<NodeClass> = classes.into_values().collect();
    for fixed in classes.iter_mut().flat_map(|class| &mut class.fixed) {
        fixed.sort_by(f64::total_cmp);
    }
    Some(classes)
}

/// The movable instances by kind.
fn items(terrain: &Terrain<'_>, first: u32, lanes: &[LaneFloor], levels: &[f64]) -> Vec<ItemKind> {
    let mut counts: BTreeMap<(u32, usize, bool), f64> = BTreeMap::new();
    for (mobile, details) in (0..).zip(&terrain.mobiles) {
        let stays = stays_online(terrain, mobile);
        let need = if details.mirrored && stays { details.need as f64 } else { 0.0 };
        let level = levels.iter().position(|level| *level <= need).unwrap_or(levels.len());
        *counts.entry((terrain.kinds[mobile as usize], level, stays)).or_default() += 1.0;
    }
    let of_kind = |((kind, level, stays), count)| {
        let sample: u32 = terrain.samples[kind as usize];
        let amounts = |secondary| {
            let all = terrain.amounts(sample, first, secondary);
            lanes.iter().map(|lane| all[lane.lane]).collect()
        };
        let mirrored = terrain.mobiles[sample as usize].mirrored;
        ItemKind { count, level, primary: amounts(false), secondary: mirrored.then(|| amounts(true)), stays }
    };
    counts.into_iter().map(of_kind).collect()
}
