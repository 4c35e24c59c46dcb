//! The data of the bound by ranges: equal nodes, what they can hold, and kinds of equal items.

use std::collections::HashMap;

use super::super::levels::{ItemKind, levels};
use super::super::{LaneFloor, rising_weight, stays_online};
use super::figures::{LIMITS, NodeFigures, Range, roles, taken};
use super::nodes::{FixedClass, LoadedKind, RoomyNode, classes, kinds, roomy_nodes};
use crate::balance::deep::terrain::Terrain;

/// The lower bound of the deviations and of the reserves on nodes of one size, as a problem of its own.
#[derive(Debug, Clone)]
pub(in super::super) struct RangeProblem {
    /// Number of nodes.
    pub(in super::super) nodes: f64,
    pub(in super::super) kinds: Vec<LoadedKind>,
    pub(super) classes: Vec<FixedClass>,
    pub(in super::super) costs: RangeCosts,
    /// For each lane, the mean of its values. It is the same for all placements.
    pub(in super::super) means: Vec<f64>,
    /// The items have an amount for each figure: for each lane, and after them for each limit that no lane stands for.
    pub(in super::super) items: Vec<ItemKind>,
    /// Number of limits that no lane stands for.
    pub(super) limits: usize,
}

/// The weights and the least values of deviations and reserves.
#[derive(Debug, Clone)]
pub(in super::super) struct RangeCosts {
    /// For each lane, the weight of its deviation.
    pub weights: Vec<f64>,
    /// For each lane, its least deviation.
    pub least: Vec<f64>,
    /// The levels of the reserves as shares of a node's memory, descending; the last one is 0.
    pub levels: Vec<f64>,
    /// Weight of the sum of the reserves.
    pub of_sum: f64,
    /// Weight of the deviation of the reserves; so small that the cost rises with every reserve.
    pub of_deviation: f64,
}

impl RangeProblem {
    /// Reads the terrain; `None` if the bound does not apply: without movable mirrored instances, with nodes of several
    /// sizes, or if instances may leave the online nodes or come to them.
    pub(in super::super) fn of(terrain: &Terrain<'_>, lanes: &[LaneFloor]) -> Option<RangeProblem> {
        terrain.lanes.reserve?;
        let first = *terrain.online.first()?;
        let (scale, memory) = (terrain.scale(first), terrain.spec(first).mem_total);
        let is_equal = |slot: &u32| {
            let spec = terrain.spec(*slot);
            let same_scale = lanes.iter().all(|lane| terrain.scale(*slot)[lane.lane] == scale[lane.lane]);
            same_scale && spec.mem_total == memory && !spec.exclusive_storage
        };
        let all_stay = (0..terrain.mobiles.len() as u32).all(|mobile| stays_online(terrain, mobile));
        if terrain.online.len() < 2 || lanes.is_empty() || !all_stay || !terrain.online.iter().all(is_equal) {
            return None;
        }
        let needs = levels(terrain);
        let scales: Vec<f64> = lanes.iter().map(|lane| scale[lane.lane]).collect();
        let usable = |x: &f64| x.is_finite() && *x > 0.0;
        if needs.is_empty() || !scales.iter().chain([&memory]).all(usable) {
            return None;
        }
        let (items, item_of) = items(terrain, first, lanes, &scales, &needs)?;
        let nodes = roomy_nodes(terrain, lanes, &scales, &item_of)?;
        let costs = RangeCosts {
            weights: lanes.iter().map(|lane| terrain.lanes.weight[lane.lane]).collect(),
            least: lanes.iter().map(|lane| lane.least).collect(),
            levels: needs.iter().map(|need| need / memory).chain([0.0]).collect(),
            of_sum: terrain.weights.reserved,
            of_deviation: rising_weight(terrain),
        };
        Some(RangeProblem::new(costs, nodes, items, LIMITS))
    }

    /// Puts a problem together. The amounts of `items` are values of the lanes, and after them what they take of each limit.
    pub(in super::super) fn new(
        costs: RangeCosts,
        nodes: Vec<RoomyNode>,
        items: Vec<ItemKind>,
        limits: usize,
    ) -> RangeProblem {
        let (count, lanes) = (nodes.len() as f64, costs.weights.len());
        let figures = NodeFigures::of(&items, lanes, limits);
        let mut kinds = kinds(nodes, &figures);
        let items = figures.of_items(items);
        let mean = |lane: usize| {
            let fixed = kinds.iter().map(|kind| kind.count * kind.fixed[lane]).sum::<f64>();
            let amount = |item: &ItemKind| {
                item.count * (item.primary[lane] + item.secondary.as_ref().map_or(0.0, |of| of[lane]))
            };
            (fixed + items.iter().map(amount).sum::<f64>()) / count
        };
        let means = (0..lanes).map(mean).collect();
        let classes = classes(&mut kinds);
        RangeProblem { nodes: count, means, limits: figures.others(), costs, items, kinds, classes }
    }

    /// The least and the most that movable items add to a lane of any node.
    pub(in super::super) fn arrivals(&self, lane: usize) -> Range {
        let crowds = self.kinds.iter().filter_map(|kind| kind.crowd.as_ref());
        let all = self.kinds.iter().map(|kind| &kind.arrivals).chain(crowds.map(|crowd| &crowd.arrivals));
        let none = Range { low: f64::INFINITY, high: f64::NEG_INFINITY };
        all.map(|arrivals| arrivals[lane]).fold(none, |widest, range| Range {
            low: widest.low.min(range.low),
            high: widest.high.max(range.high),
        })
    }

    /// Number of figures of a node.
    pub(super) fn figures(&self) -> usize {
        self.means.len() + self.limits
    }
}

/// The movable instances by kind, and the index of each mobile's kind; `None` if an amount is not a number, or one of a
/// limit is negative.
pub(in super::super) fn items(
    terrain: &Terrain<'_>,
    first: u32,
    lanes: &[LaneFloor],
    scales: &[f64],
    needs: &[f64],
) -> Option<(Vec<ItemKind>, Vec<usize>)> {
    let mut samples: HashMap<(u32, usize, [[u64; LIMITS]; 2]), usize> = HashMap::new();
    let (mut items, mut item_of): (Vec<ItemKind>, Vec<usize>) = (Vec::new(), Vec::new());
    for (mobile, details) in (0..).zip(&terrain.mobiles) {
        let need = if details.mirrored { details.need as f64 } else { 0.0 };
        let level = needs.iter().position(|level| *level <= need).unwrap_or(needs.len());
        let taken = taken(terrain, mobile);
        if taken.iter().flatten().any(|amount| *amount < 0.0) {
            return None;
        }
        let key = (terrain.kinds[mobile as usize], level, taken.map(|of| of.map(f64::to_bits)));
        let at = *samples.entry(key).or_insert(items.len());
        if at == items.len() {
            let amounts = |is_secondary: bool| -> Vec<f64> {
                let all = terrain.amounts(mobile, first, is_secondary);
                let values = lanes.iter().zip(scales).map(|(lane, scale)| all[lane.lane] * scale);
                values.chain(taken[usize::from(is_secondary)]).collect()
            };
            let secondary = details.mirrored.then(|| amounts(true));
            items.push(ItemKind { count: 0.0, level, primary: amounts(false), secondary, stays: true });
        }
        items[at].count += 1.0;
        item_of.push(at);
    }
    let is_finite = |item: &ItemKind| roles(item).all(|of| of.0.iter().all(|x| x.is_finite()));
    items.iter().all(is_finite).then_some((items, item_of))
}
