//! Instances of about the same size, and the lines that bound the deviations after their moves.

use std::collections::HashMap;

use multiversion::multiversion;

use super::SLOTS;
use super::amounts::AmountsBox;
use super::arrival_costs::ArrivalRole;
use super::departure::VarianceReach;
use super::lanes::{LaneRange, NONE, dot, lanewise, most};
use super::online_nodes::{OnlineNodes, Present};
use htools_model::score::interval::U;
use htools_model::score::metrics::Lanes;
use htools_model::{CarriedKeys, ExclusionTags, Instance, TagSet};

/// A range of sizes of instances that are treated as one.
pub(super) struct SizeBox {
    /// Resources that the instances take.
    pub amounts: AmountsBox,
    /// An instance with the smallest value of each resource. If a node refuses it, the node refuses all
    /// instances of this size.
    pub smallest: Instance,
    /// Upper bound of the sum of a move's changes in each lane.
    change: Lanes,
    /// Ranges of the changes of variances: by departures, and by arrivals in each role.
    pub departures: VarianceReach,
    pub arrivals: [LaneRange; 2],
    /// Slopes of the lines, the same for all moves.
    pub slopes: Lanes,
    /// For each slot, the sum of the lines' constants and the rest of the score.
    pub base: [f64; SLOTS],
    /// See [`Present::offset`].
    pub offset: Lanes,
    /// Upper bound of the rounding errors in sums of bounds.
    rounding: f64,
}

impl SizeBox {
    fn of(members: &[&Instance], online: &OnlineNodes) -> SizeBox {
        let amounts = AmountsBox::of(members, online);
        let mut like_first = members[0].clone();
        let smallest = like_first.details_mut();
        for i in members {
            smallest.mem = smallest.mem.min(i.mem);
            smallest.disk = smallest.disk.min(i.disk);
            smallest.vcpus = smallest.vcpus.min(i.vcpus);
            smallest.spindle_use = smallest.spindle_use.min(i.spindle_use);
            smallest.spindles = smallest.spindles.min(i.spindles);
        }
        // These do not depend on the size.
        smallest.exclusion_tags = ExclusionTags::default();
        smallest.needs = TagSet::default();
        smallest.desired_locations = TagSet::default();
        smallest.keys = CarriedKeys::default();
        SizeBox {
            change: amounts.largest_change(online),
            amounts,
            smallest: like_first,
            departures: VarianceReach::empty(),
            arrivals: [LaneRange::empty(); 2],
            slopes: NONE,
            base: [0.0; SLOTS],
            offset: NONE,
            rounding: 0.0,
        }
    }

    /// The maximum over all sizes of the change that one instance can cause in each lane.
    pub(super) fn largest_change(sizes: &[SizeBox]) -> Lanes {
        sizes.iter().fold(NONE, |largest, size| lanewise!(k => most(size.change[k], largest[k])))
    }

    /// Range of the changes of variances that moves of the slot can cause.
    #[inline(always)]
    fn range(&self, departures: &VarianceReach, slot: usize) -> LaneRange {
        let own = departures.range(slot);
        match ArrivalRole::of_target(slot) {
            Some(role) => own.plus(&self.arrivals[role as usize].or_zero(), &role.lanes()),
            None => own,
        }
    }

    /// Chooses new slopes: the chords over all possible changes.
    pub(super) fn choose_slopes(&mut self, present: &Present) {
        let mut all = LaneRange { lo: NONE, hi: NONE };
        for slot in 0..SLOTS {
            all.join(&self.range(&self.departures, slot));
        }
        let offset = present.offset(&present.mean_effect(&self.change));
        self.slopes = present.slopes(&offset, &all);
    }

    /// Computes the constants for the slopes in the present state.
    pub(super) fn settle(&mut self, present: &Present) {
        settle(self, present);
    }

    /// Like `base`, but for one instance whose departures are known, which gives a tighter bound.
    pub(super) fn base_of(&self, present: &Present, departures: &VarianceReach, slot: usize) -> f64 {
        base_of(self, present, departures, slot)
    }

    /// Lower bound of the score without deviations, for bounds that do not use lines.
    pub(super) fn rest(&self, present: &Present) -> f64 {
        present.rest - self.rounding
    }

    /// Value of the lines for changes of the variances.
    pub(super) fn price(&self, change: &Lanes) -> f64 {
        dot(&self.slopes, change)
    }
}

/// Body of [`SizeBox::base_of`]; a free function so that it can be compiled for wider registers.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn base_of(size: &SizeBox, present: &Present, departures: &VarianceReach, slot: usize) -> f64 {
    let range = size.range(departures, slot);
    present.intercept(&size.offset, &size.slopes, &range) + present.rest - size.rounding
}

/// Body of [`SizeBox::settle`]; a free function so that it can be compiled for wider registers.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn settle(size: &mut SizeBox, present: &Present) {
    size.offset = present.offset(&present.mean_effect(&size.change));
    let mut largest = NONE;
    for slot in 0..SLOTS {
        let range = size.range(&size.departures, slot);
        largest = lanewise!(k => most(most(range.lo[k].abs(), range.hi[k].abs()), largest[k]));
        size.base[slot] = present.intercept(&size.offset, &size.slopes, &range);
    }
    let largest_base = size.base.iter().fold(0.0, |m, b| most(m, b.abs()));
    size.rounding = 1024.0 * U * (dot(&size.slopes, &largest) + largest_base);
    for base in &mut size.base {
        *base += present.rest - size.rounding;
    }
}

/// Rounded properties of an instance; instances with equal keys share a box.
#[derive(PartialEq, Eq, Hash)]
struct SizeKey {
    flags: [bool; 7],
    amounts: [u64; 9],
}

/// A number with only the first `bits` bits of its mantissa; 0 if `bits` is negative.
fn rounded(x: f64, bits: i32) -> u64 {
    if bits < 0 { 0 } else { x.to_bits() >> (52 - bits) }
}

impl SizeKey {
    fn of(i: &Instance, bits: i32) -> SizeKey {
        let amounts = [
            i.mem.as_f64(),
            i.disk.as_f64(),
            i.vcpus as f64,
            i.spindle_use as f64,
            i.spindles.map_or(-1.0, |n| n as f64),
            i.util.cpu,
            i.util.mem,
            i.util.disk,
            i.util.net,
        ];
        SizeKey {
            flags: [
                i.status.uses_memory(),
                i.status.is_offline(),
                i.auto_balance,
                i.forthcoming,
                i.template.uses_local_storage(),
                i.template.has_secondary(),
                i.spindles.is_some(),
            ],
            amounts: amounts.map(|x| rounded(x, bits)),
        }
    }
}

/// Bits of the mantissa that tell sizes apart: tried in order while there are too many sizes.
const BITS: [i32; 9] = [52, 8, 6, 4, 3, 2, 1, 0, -1];

/// Sorts instances into sizes. Returns the sizes and, for each instance, the number of its size. There are at
/// most `most` sizes, unless the kinds of instances need more.
pub(super) fn sizes(instances: &[&Instance], online: &OnlineNodes, most: usize) -> (Vec<SizeBox>, Vec<u32>) {
    let mut numbers: HashMap<SizeKey, u32> = HashMap::new();
    let mut size_of = Vec::with_capacity(instances.len());
    for bits in BITS {
        numbers.clear();
        size_of.clear();
        for i in instances {
            let next = numbers.len() as u32;
            size_of.push(*numbers.entry(SizeKey::of(i, bits)).or_insert(next));
            if numbers.len() > most && bits >= 0 {
                break;
            }
        }
        if numbers.len() <= most {
            break;
        }
    }
    let mut members: Vec<Vec<&Instance>> = vec![Vec::new(); numbers.len()];
    for (i, size) in instances.iter().zip(&size_of) {
        members[*size as usize].push(i);
    }
    (members.iter().map(|m| SizeBox::of(m, online)).collect(), size_of)
}

#[cfg(test)]
mod tests {
    use super::super::lanes::amounts;
    use super::*;
    use htools_model::score::Board;
    use htools_testkit::cluster;

    #[test]
    fn boxes_hold_all_their_instances() {
        let nodes: Vec<String> =
            (0..16).map(|n| format!("n{n}|99999|0|90000|9999999|9999999|99|N|u|1")).collect();
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let instance =
            |i: i64| format!("i{i}|{}|{}|{}|running|Y|n{}||plain|", 100 + i, 7 * i, 1 + i % 5, i % 16);
        let instances: Vec<String> = (0..200).map(instance).collect();
        let instances: Vec<&str> = instances.iter().map(String::as_str).collect();
        let cluster = cluster(&nodes, &instances, &[]);
        let online = OnlineNodes::new(&cluster, &Board::new(&cluster, &cluster.all_nodes()));
        let all: Vec<&Instance> = cluster.instances.iter().collect();
        assert_eq!(sizes(&all, &online, 256).0.len(), 200, "no boxes without need");
        let (boxes, size_of) = sizes(&all, &online, 40);
        assert!(boxes.len() <= 40 && boxes.len() > 1, "{} boxes", boxes.len());
        for (i, size) in all.iter().zip(size_of) {
            let (size, amounts) = (&boxes[size as usize], amounts(i, false));
            let box_ = &size.amounts;
            for k in 0..amounts.len() {
                assert!(box_.lo[0][k] <= amounts[k] && amounts[k] <= box_.hi[0][k]);
            }
            assert!(size.smallest.mem <= i.mem && size.smallest.disk <= i.disk);
            let reserved = i.mem_reserved().as_f64();
            assert!(box_.need.0 <= reserved && reserved <= box_.need.1);
        }
    }
}
