//! The figures of a node in the bound by ranges: its lanes, and those limits that no lane stands for.

use super::super::levels::ItemKind;
use crate::balance::deep::terrain::Terrain;

/// Number of limits: disk, virtual CPUs and spindles.
pub(in super::super) const LIMITS: usize = 3;

/// Amounts of a lane and of a limit are proportional if their ratios differ by less than this share.
const EQUAL_RATIOS: f64 = 1e-9;

/// Factor for sums of amounts, since they are rounded.
const ROUNDED_UP: f64 = 1.0 + 1e-9;

/// A range is not split closer to its ends than this share of its width.
const NEAR_THE_END: f64 = 0.05;

/// Numbers in a range, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    /// The error of the chord of the square root over the range at a variance, and the deviation there.
    pub(in super::super) fn chord_error(self, variance: f64) -> (f64, f64) {
        let Range { low, high } = self;
        let square = variance.clamp(low * low, high * high);
        let chord = (square + low * high) / (low + high).max(f64::MIN_POSITIVE);
        (square.sqrt() - chord, square.sqrt())
    }

    /// The number in the range, but not close to its ends, that is nearest to `at`.
    pub(in super::super) fn inside(self, at: f64) -> f64 {
        let margin = NEAR_THE_END * (self.high - self.low);
        at.clamp(self.low + margin, self.high - margin)
    }
}

/// The figure of a limit.
#[derive(Debug, Clone, Copy)]
struct Tie {
    figure: usize,
    /// Most of the figure, by its size, for each unit of the limit.
    most: f64,
}

/// The figures of a problem: all lanes, and after them the limits whose amounts are not proportional to those of a lane.
#[derive(Debug, Clone)]
pub(super) struct NodeFigures {
    /// For each limit, its figure, if any item takes of it.
    ties: Vec<Option<Tie>>,
    /// For each figure, the sum of the negative amounts of all items, and that of the positive ones.
    totals: Vec<Range>,
    lanes: usize,
}

impl NodeFigures {
    /// The amounts of `items` are values of the lanes, and after them what they take of each limit.
    pub(super) fn of(items: &[ItemKind], lanes: usize, limits: usize) -> NodeFigures {
        let mut figures = NodeFigures { ties: Vec::new(), totals: Vec::new(), lanes };
        figures.totals = (0..lanes).map(|lane| total(items, lane)).collect();
        for limit in (0..limits).map(|limit| lanes + limit) {
            let all = total(items, limit);
            let proportional = |lane: &usize| Some((*lane, ratio(items, *lane, limit)?));
            let tie = if all.high <= 0.0 {
                None
            } else if let Some((figure, most)) = (0..lanes).find_map(|lane| proportional(&lane)) {
                Some(Tie { figure, most })
            } else {
                figures.totals.push(all);
                Some(Tie { figure: figures.totals.len() - 1, most: 1.0 })
            };
            figures.ties.push(tie);
        }
        figures
    }

    /// Number of limits that no lane stands for.
    pub(super) fn others(&self) -> usize {
        self.totals.len() - self.lanes
    }

    /// The items with an amount for each figure.
    pub(super) fn of_items(&self, items: Vec<ItemKind>) -> Vec<ItemKind> {
        let own = (0..)
            .zip(&self.ties)
            .filter_map(|(limit, tie)| (tie.as_ref()?.figure >= self.lanes).then_some(self.lanes + limit));
        let own: Vec<usize> = own.collect();
        let chosen = |amounts: &[f64]| -> Vec<f64> {
            amounts[..self.lanes].iter().copied().chain(own.iter().map(|limit| amounts[*limit])).collect()
        };
        let of_item = |item: ItemKind| ItemKind {
            primary: chosen(&item.primary),
            secondary: item.secondary.as_deref().map(chosen),
            ..item
        };
        items.into_iter().map(of_item).collect()
    }

    /// For each figure, the least and the most that movable items add to a node with these rooms, by limit.
    pub(super) fn arrivals(&self, rooms: &[f64]) -> Vec<Range> {
        let mut arrivals = self.totals.clone();
        for (tie, room) in self.ties.iter().zip(rooms) {
            let Some(tie) = tie else { continue };
            let (range, most) = (&mut arrivals[tie.figure], tie.most * room * ROUNDED_UP);
            range.low = range.low.max(-most);
            range.high = range.high.min(most);
        }
        arrivals
    }

    /// The figures of some limits.
    pub(super) fn of_limits(&self, chosen: &[bool]) -> Vec<usize> {
        let all = self.ties.iter().zip(chosen).filter(|(_, is_chosen)| **is_chosen);
        let mut figures: Vec<usize> = all.filter_map(|(tie, _)| Some(tie.as_ref()?.figure)).collect();
        figures.sort_unstable();
        figures.dedup();
        figures
    }
}

/// The amounts of an item in each of its roles; true for the secondary.
pub(in super::super) fn roles(item: &ItemKind) -> impl Iterator<Item = (&[f64], bool)> {
    let secondary = item.secondary.as_deref().map(|amounts| (amounts, true));
    [(item.primary.as_slice(), false)].into_iter().chain(secondary)
}

/// The amounts of each limit that a mobile takes, as a primary and as a secondary.
pub(super) fn taken(terrain: &Terrain<'_>, mobile: u32) -> [[f64; LIMITS]; 2] {
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

/// The sums of the negative and of the positive amounts of all items, rounded away from 0.
fn total(items: &[ItemKind], figure: usize) -> Range {
    let mut total = Range { low: 0.0, high: 0.0 };
    for item in items {
        for (amounts, _) in roles(item) {
            let amount = item.count * amounts[figure];
            if amount < 0.0 { total.low += amount } else { total.high += amount }
        }
    }
    Range { low: total.low * ROUNDED_UP, high: total.high * ROUNDED_UP }
}

/// The amount of a figure that all items bring to one of `nodes` nodes on average, as the unit of the figure; 1 if they bring
/// none.
pub(in super::super) fn average(items: &[ItemKind], figure: usize, nodes: f64) -> f64 {
    let of_item = |item: &ItemKind| item.count * roles(item).map(|(amounts, _)| amounts[figure]).sum::<f64>();
    let all: f64 = items.iter().map(of_item).sum();
    if all > 0.0 { all / nodes } else { 1.0 }
}

/// The largest amount of a lane, by its size, for one unit of a limit; `None` if they are not proportional.
fn ratio(items: &[ItemKind], lane: usize, limit: usize) -> Option<f64> {
    let (mut least, mut most, mut signs) = (f64::INFINITY, 0.0_f64, [false; 2]);
    for (amounts, _) in items.iter().flat_map(roles) {
        let (of_lane, of_limit) = (amounts[lane], amounts[limit]);
        if (of_lane == 0.0) != (of_limit == 0.0) {
            return None;
        }
        if of_lane != 0.0 {
            let ratio = of_lane.abs() / of_limit;
            (least, most) = (least.min(ratio), most.max(ratio));
            signs[usize::from(of_lane < 0.0)] = true;
        }
    }
    (signs != [true; 2] && most.is_finite() && least >= most * (1.0 - EQUAL_RATIOS)).then_some(most)
}
