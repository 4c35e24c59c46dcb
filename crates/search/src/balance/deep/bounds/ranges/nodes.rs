//! The nodes of the bound by ranges: what cannot move, how much may arrive, and nodes that are beyond a limit.

use std::collections::BTreeMap;

use super::super::LaneFloor;
use super::figures::{LIMITS, NodeFigures, Range, taken};
use crate::balance::deep::terrain::Terrain;

/// Maximum number of classes of nodes.
const MOST_CLASSES: usize = 24;

/// Classes with values in a range below this, times their number of nodes, are not halved.
const SMALL_WIDTH: f64 = 1e-6;

/// Stands for no limit.
const MOST: f64 = 1e15;

/// Factor for rooms, since the rules compare ratios that are rounded.
const ROUNDED_UP: f64 = 1.0 + 1e-9;

/// A node with its rooms.
#[derive(Debug, Clone)]
pub(in super::super) struct RoomyNode {
    /// For each lane, the value of what cannot move.
    pub fixed: Vec<f64>,
    /// For each limit, the amount of movable items for which there is room.
    pub rooms: Vec<f64>,
    /// The items that the node may keep instead, if it has more than a limit allows at the start.
    pub crowd: Option<RoomyCrowd>,
}

/// The movable items of a node that has more than its limits allow. It can keep them as long as nothing arrives.
#[derive(Debug, Clone)]
pub(in super::super) struct RoomyCrowd {
    /// For each limit, true if the node has more than it allows.
    pub beyond: Vec<bool>,
    /// For each limit, the amount that the items take, or the room if there is more.
    pub rooms: Vec<f64>,
    /// The items: their index, and true for a secondary.
    pub items: Vec<(usize, bool)>,
}

/// Nodes that hold the same amounts that cannot move, and have the same rooms.
#[derive(Debug, Clone)]
pub(in super::super) struct LoadedKind {
    /// Number of nodes.
    pub count: f64,
    /// Index of its class.
    pub class: usize,
    /// For each lane, the value of what cannot move.
    pub fixed: Vec<f64>,
    /// For each figure, the least and the most that movable items add.
    pub arrivals: Vec<Range>,
    /// The items that the node may keep instead, if it has more than a limit allows at the start.
    pub crowd: Option<Crowd>,
}

/// The movable items of a node that has more than its limits allow.
#[derive(Debug, Clone)]
pub(in super::super) struct Crowd {
    /// The figures of the limits that the node exceeds.
    pub beyond: Vec<usize>,
    /// For each figure, the least and the most that movable items add, if the node keeps them.
    pub arrivals: Vec<Range>,
    /// The items: their index, and true for a secondary.
    pub items: Vec<(usize, bool)>,
}

/// Nodes that hold similar amounts that cannot move.
#[derive(Debug, Clone)]
pub(super) struct FixedClass {
    /// Number of nodes.
    pub count: f64,
    /// For each lane, the mean value of what cannot move.
    pub fixed: Vec<f64>,
    /// For each figure, the means of the least and the most that movable items add.
    pub arrivals: Vec<Range>,
}

/// The amounts of a node's limits that its mobiles take at the start.
#[derive(Default, Clone)]
struct AtHome {
    taken: [f64; LIMITS],
    items: Vec<(usize, bool)>,
}

/// The online nodes; `None` if a value is not a number.
pub(in super::super) fn roomy_nodes(
    terrain: &Terrain<'_>,
    lanes: &[LaneFloor],
    scales: &[f64],
    item_of: &[usize],
) -> Option<Vec<RoomyNode>> {
    let mut at_home = vec![AtHome::default(); terrain.nodes.len()];
    for ((mobile, details), item) in (0..).zip(&terrain.mobiles).zip(item_of) {
        let homes = [details.home.primary, details.home.secondary];
        for ((slot, taken), is_secondary) in homes.into_iter().zip(taken(terrain, mobile)).zip([false, true])
        {
            if let Some(home) = at_home.get_mut(slot as usize) {
                home.taken.iter_mut().zip(taken).for_each(|(sum, amount)| *sum += amount);
                home.items.push((*item, is_secondary));
            }
        }
    }
    let node = |(at, slot): (usize, &u32)| {
        let fixed: Vec<f64> = lanes.iter().zip(scales).map(|(lane, scale)| lane.fixed[at] * scale).collect();
        let (rooms, crowd) = rooms(terrain, *slot, std::mem::take(&mut at_home[*slot as usize]));
        fixed.iter().chain(&rooms).all(|x| x.is_finite()).then_some(RoomyNode { fixed, rooms, crowd })
    };
    terrain.online.iter().enumerate().map(node).collect()
}

/// Room of a node for movable items, by limit, and its crowd. An arrival keeps to the limits, so a node has more than one
/// of them allows only if it has it at the start, and nothing arrives.
fn rooms(terrain: &Terrain<'_>, slot: u32, home: AtHome) -> (Vec<f64>, Option<RoomyCrowd>) {
    let spec = terrain.spec(slot);
    let ledger = &terrain.cluster.node(terrain.nodes[slot as usize]).state.ledger;
    let is_strict = !terrain.rules.ignore_soft_errors;
    let cpus = if is_strict && spec.vcpu_ratio >= 0.0 { spec.vcpu_ratio * spec.cpu_total } else { MOST };
    let spindles = if is_strict { spec.spindle_limit } else { MOST };
    let free = [ledger.disk_free.0 as f64, cpus - ledger.vcpus as f64, spindles - ledger.spindles_used];
    let sums = || home.taken.iter().zip(free);
    let rooms: Vec<f64> =
        sums().map(|(taken, free)| ((taken + free) * ROUNDED_UP).clamp(0.0, MOST)).collect();
    let beyond: Vec<bool> = free.iter().map(|free| *free < 0.0).collect();
    let crowd = beyond.contains(&true).then(|| RoomyCrowd {
        beyond,
        rooms: rooms.iter().zip(home.taken).map(|(room, taken)| room.max(taken * ROUNDED_UP)).collect(),
        items: home.items,
    });
    (rooms, crowd)
}

/// The nodes by kind. Nodes with crowds are not compared.
pub(super) fn kinds(nodes: Vec<RoomyNode>, figures: &NodeFigures) -> Vec<LoadedKind> {
    let mut kinds: BTreeMap<(Vec<u64>, usize), LoadedKind> = BTreeMap::new();
    for (at, node) in nodes.into_iter().enumerate() {
        let arrivals = figures.arrivals(&node.rooms);
        let ends = arrivals.iter().flat_map(|range| [range.low, range.high]);
        let key: Vec<u64> = node.fixed.iter().copied().chain(ends).map(f64::to_bits).collect();
        let number = if node.crowd.is_some() { 1 + at } else { 0 };
        let crowd = node.crowd.map(|crowd| Crowd {
            beyond: figures.of_limits(&crowd.beyond),
            arrivals: figures.arrivals(&crowd.rooms),
            items: crowd.items,
        });
        let kind = LoadedKind { count: 0.0, class: 0, fixed: node.fixed, arrivals, crowd };
        kinds.entry((key, number)).or_insert(kind).count += 1.0;
    }
    kinds.into_values().collect()
}

/// Sorts the nodes into classes: the class with the widest range of values is halved until there are [`MOST_CLASSES`].
pub(super) fn classes(kinds: &mut [LoadedKind]) -> Vec<FixedClass> {
    let mut classes: Vec<Vec<usize>> = vec![(0..kinds.len()).collect()];
    while classes.len() < MOST_CLASSES {
        let width = |class: &Vec<usize>, lane: usize| {
            let values = || class.iter().map(|kind| kinds[*kind].fixed[lane]);
            values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
        };
        let lanes = kinds[0].fixed.len();
        let all = classes.iter().enumerate().flat_map(|(at, class)| {
            let size: f64 = class.iter().map(|kind| kinds[*kind].count).sum();
            (0..lanes).map(move |lane| (width(class, lane) * size, at, lane))
        });
        let Some((_, at, lane)) = all
            .filter(|widest| widest.0 > SMALL_WIDTH)
            .max_by(|a, b| a.0.total_cmp(&b.0).then((b.1, b.2).cmp(&(a.1, a.2))))
        else {
            break;
        };
        let mut below = std::mem::take(&mut classes[at]);
        let value = |kind: &usize| kinds[*kind].fixed[lane];
        below.sort_by(|a, b| value(a).total_cmp(&value(b)));
        let middle = f64::midpoint(value(&below[0]), value(&below[below.len() - 1]));
        let above = below.split_off(below.partition_point(|kind| value(kind) <= middle));
        classes[at] = below;
        classes.push(above);
    }
    for (at, class) in classes.iter().enumerate() {
        class.iter().for_each(|kind| kinds[*kind].class = at);
    }
    classes.iter().map(|class| FixedClass::of(class.iter().map(|kind| &kinds[*kind]))).collect()
}

impl FixedClass {
    fn of<'a>(kinds: impl Iterator<Item = &'a LoadedKind> + Clone) -> FixedClass {
        let count: f64 = kinds.clone().map(|kind| kind.count).sum();
        let mean = |of: &dyn Fn(&LoadedKind) -> f64| {
            kinds.clone().map(|kind| kind.count * of(kind)).sum::<f64>() / count
        };
        let first = kinds.clone().next();
        let (lanes, figures) = first.map_or((0, 0), |kind| (kind.fixed.len(), kind.arrivals.len()));
        let arrivals = |at: usize| Range {
            low: mean(&|kind| kind.arrivals[at].low),
            high: mean(&|kind| kind.arrivals[at].high),
        };
        FixedClass {
            count,
            fixed: (0..lanes).map(|lane| mean(&|kind| kind.fixed[lane])).collect(),
            arrivals: (0..figures).map(arrivals).collect(),
        }
    }
}
