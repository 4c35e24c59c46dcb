//! The data of the bound by ranges: equal nodes, what they can hold, and kinds of equal items.

use std::collections::{BTreeMap, HashMap};

use super::super::levels::{ItemKind, levels};
use super::super::{LaneFloor, rising_weight, stays_online};
use crate::balance::deep::terrain::Terrain;

/// Number of limits: disk, virtual CPUs and spindles.
const LIMITS: usize = 3;

/// Maximum number of classes of nodes.
const MOST_CLASSES: usize = 4;

/// Classes with values in a range below this, times their number of nodes, are not halved.
const SMALL_WIDTH: f64 = 1e-6;

/// Stands for no limit.
const MOST: f64 = 1e15;

/// Factor for rooms, since the rules compare ratios that are rounded.
const ROUNDED_UP: f64 = 1.0 + 1e-9;

/// Nodes that hold the same amounts that cannot move.
#[derive(Debug, Clone)]
pub(super) struct LoadedKind {
    /// Number of nodes.
    pub count: f64,
    /// Index of its class.
    pub class: usize,
    /// For each lane, the value of what cannot move.
    pub fixed: Vec<f64>,
    /// For each limit, the amount of movable items for which there is room.
    pub rooms: Vec<f64>,
    /// The items that the node may keep instead, if it has more than a limit allows at the start.
    pub crowd: Option<Crowd>,
}

/// Nodes that hold similar amounts that cannot move.
#[derive(Debug, Clone)]
pub(super) struct FixedClass {
    /// Number of nodes.
    pub count: f64,
    /// For each lane, the mean value of what cannot move.
    pub fixed: Vec<f64>,
    /// For each limit, the mean room.
    pub rooms: Vec<f64>,
}

/// The movable items of a node that has more than its limits allow. It can keep them as long as nothing arrives.
#[derive(Debug, Clone)]
pub(super) struct Crowd {
    /// For each limit, true if the node has more than it allows.
    pub beyond: Vec<bool>,
    /// For each limit, the amount that the items take, or the room if there is more.
    pub rooms: Vec<f64>,
    /// The items: their index, and true for a secondary.
    pub items: Vec<(usize, bool)>,
}

/// The lower bound of the deviations and of the reserves on nodes of one size, as a problem of its own.
#[derive(Debug, Clone)]
pub(in super::super) struct RangeProblem {
    /// Number of nodes.
    pub(super) nodes: f64,
    pub(super) kinds: Vec<LoadedKind>,
    pub(super) classes: Vec<FixedClass>,
    /// For each lane, the weight of its deviation.
    pub(in super::super) weights: Vec<f64>,
    /// For each lane, its least deviation.
    pub(super) least: Vec<f64>,
    /// For each lane, the mean of its values. It is the same for all placements.
    pub(in super::super) means: Vec<f64>,
    /// The levels of the reserves as shares of a node's memory, descending; the last one is 0.
    pub(super) levels: Vec<f64>,
    /// The amounts of the items are values of the lanes, and after them what they take of each limit.
    pub(super) items: Vec<ItemKind>,
    /// Number of limits.
    pub(super) limits: usize,
    /// Weight of the sum of the reserves.
    pub(in super::super) of_sum: f64,
    /// Weight of the deviation of the reserves; so small that the cost rises with every reserve.
    pub(in super::super) of_deviation: f64,
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
        let mut kinds = node_kinds(terrain, lanes, &scales, &item_of)?;
        let classes = classes(&mut kinds);
        let nodes = terrain.online.len() as f64;
        let mean = |lane: usize| {
            let fixed = kinds.iter().map(|kind| kind.count * kind.fixed[lane]).sum::<f64>();
            let amount = |item: &ItemKind| {
                item.count * (item.primary[lane] + item.secondary.as_ref().map_or(0.0, |of| of[lane]))
            };
            (fixed + items.iter().map(amount).sum::<f64>()) / nodes
        };
        Some(RangeProblem {
            nodes,
            weights: lanes.iter().map(|lane| terrain.lanes.weight[lane.lane]).collect(),
            least: lanes.iter().map(|lane| lane.least).collect(),
            means: (0..lanes.len()).map(mean).collect(),
            levels: needs.iter().map(|need| need / memory).chain([0.0]).collect(),
            limits: LIMITS,
            of_sum: terrain.weights.reserved,
            of_deviation: rising_weight(terrain),
            items,
            kinds,
            classes,
        })
    }

    /// Number of places: each level in each class, those of a class after one another.
    pub(super) fn places(&self) -> usize {
        self.classes.len() * self.levels.len()
    }

    /// The level of a place.
    pub(super) fn level(&self, place: usize) -> usize {
        place % self.levels.len()
    }

    /// The class of a place.
    pub(super) fn class(&self, place: usize) -> &FixedClass {
        &self.classes[place / self.levels.len()]
    }

    /// Unit in which each limit is measured: what all items take on average on a node.
    pub(in super::super) fn units(&self) -> Vec<f64> {
        let lanes = self.weights.len();
        let of_limit = |limit: usize| {
            let of_item = |item: &ItemKind| {
                item.count * RangeProblem::roles(item).map(|(amounts, _)| amounts[lanes + limit]).sum::<f64>()
            };
            let all: f64 = self.items.iter().map(of_item).sum();
            if all > 0.0 { all / self.nodes } else { 1.0 }
        };
        (0..self.limits).map(of_limit).collect()
    }

    /// The amounts of an item in each of its roles; true for the secondary.
    pub(super) fn roles(item: &ItemKind) -> impl Iterator<Item = (&[f64], bool)> {
        let secondary = item.secondary.as_deref().map(|amounts| (amounts, true));
        [(item.primary.as_slice(), false)].into_iter().chain(secondary)
    }
}

/// The amounts of each limit that a mobile takes, as a primary and as a secondary.
fn taken(terrain: &Terrain<'_>, mobile: u32) -> [[f64; LIMITS]; 2] {
    let instance = terrain.instance(mobile);
    if instance.forthcoming {
        return [[0.0; LIMITS]; 2];
    }
    let local = instance.template.uses_local_storage();
    let spindles = if local { instance.spindle_use as f64 } else { 0.0 };
    let primary = [instance.local_disk().0 as f64, instance.vcpus_in_use() as f64, spindles];
    let secondary = [instance.disk.0 as f64, 0.0, spindles];
    [primary, if terrain.mobiles[mobile as usize].mirrored { secondary } else { [0.0; LIMITS] }]
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
    let is_finite = |item: &ItemKind| RangeProblem::roles(item).all(|of| of.0.iter().all(|x| x.is_finite()));
    items.iter().all(is_finite).then_some((items, item_of))
}

/// The amounts of a node's limits that its mobiles take at the start.
#[derive(Default, Clone)]
struct AtHome {
    taken: [f64; LIMITS],
    items: Vec<(usize, bool)>,
}

/// By slot, what its mobiles take at the start.
fn at_home(terrain: &Terrain<'_>, item_of: &[usize]) -> Vec<AtHome> {
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
    at_home
}

/// For each online node and each limit, the room for movable items, and true if the node has more at the start.
pub(in super::super) fn rooms_of_nodes(
    terrain: &Terrain<'_>,
    item_of: &[usize],
) -> Vec<(Vec<f64>, Vec<bool>)> {
    let mut at_home = at_home(terrain, item_of);
    let of_node = |slot: &u32| {
        let (rooms, crowd) = rooms(terrain, *slot, std::mem::take(&mut at_home[*slot as usize]));
        (rooms, crowd.map_or(vec![false; LIMITS], |crowd| crowd.beyond))
    };
    terrain.online.iter().map(of_node).collect()
}

/// The online nodes by kind; `None` if a value is not a number.
fn node_kinds(
    terrain: &Terrain<'_>,
    lanes: &[LaneFloor],
    scales: &[f64],
    item_of: &[usize],
) -> Option<Vec<LoadedKind>> {
    let mut at_home = at_home(terrain, item_of);
    let mut kinds: BTreeMap<Vec<u64>, LoadedKind> = BTreeMap::new();
    for (at, slot) in terrain.online.iter().enumerate() {
        let fixed: Vec<f64> = lanes.iter().zip(scales).map(|(lane, scale)| lane.fixed[at] * scale).collect();
        let home = std::mem::take(&mut at_home[*slot as usize]);
        let (rooms, crowd) = rooms(terrain, *slot, home);
        if !fixed.iter().chain(&rooms).all(|x| x.is_finite()) {
            return None;
        }
        let mut key: Vec<u64> = fixed.iter().chain(&rooms).map(|x| x.to_bits()).collect();
        // Nodes with crowds are not compared.
        key.push(if crowd.is_some() { 1 + u64::from(*slot) } else { 0 });
        kinds.entry(key).or_insert(LoadedKind { count: 0.0, class: 0, fixed, rooms, crowd }).count += 1.0;
    }
    Some(kinds.into_values().collect())
}

/// Room of a node for movable items, by limit, and its crowd. An arrival keeps to the limits, so a node has more than one
/// of them allows only if it has it at the start, and nothing arrives.
fn rooms(terrain: &Terrain<'_>, slot: u32, home: AtHome) -> (Vec<f64>, Option<Crowd>) {
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
    let crowd = beyond.contains(&true).then(|| Crowd {
        beyond,
        rooms: rooms.iter().zip(home.taken).map(|(room, taken)| room.max(taken * ROUNDED_UP)).collect(),
        items: home.items,
    });
    (rooms, crowd)
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
    let mean = |class: &Vec<usize>| {
        let count: f64 = class.iter().map(|kind| kinds[*kind].count).sum();
        let over = |of: &dyn Fn(&LoadedKind) -> &[f64]| -> Vec<f64> {
            let sum =
                |at: usize| class.iter().map(|kind| kinds[*kind].count * of(&kinds[*kind])[at]).sum::<f64>();
            (0..of(&kinds[0]).len()).map(|at| sum(at) / count).collect()
        };
        FixedClass { count, fixed: over(&|kind| &kind.fixed), rooms: over(&|kind| &kind.rooms) }
    };
    classes.iter().map(mean).collect()
}
