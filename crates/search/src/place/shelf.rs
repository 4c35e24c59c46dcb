//! Finds the best kind of node for instances of one shape, repeatedly, while the nodes change one by one.
//!
//! Lower bounds on the scores are computed once for each kind and sorted. Later all bounds are lowered by the
//! largest possible fall of the scores since, so that only the first few must be checked again; see
//! [`rise`](htools_model::score::rise).

use super::floor::Floor;
use super::kinds::KindIdx;
use super::offers::Offers;
use crate::parallel::note;
use htools_model::Instance;
use htools_model::score::interval::{CountedPart, Interval, Running, counted_score};
use htools_model::score::metrics::{Counted, Lanes};
use htools_model::score::rise::{Span, comparable, rise};

/// A kind whose nodes accept the instance.
struct ShelfEntry {
    kind: KindIdx,
    serial: usize,
    /// The values of a node with the instance.
    after: Lanes,
    counted: Counted,
    /// Lower bound of the score when the bounds were computed.
    least: f64,
}

impl ShelfEntry {
    fn of(floor: &Floor<'_>, offers: &mut Offers<'_>, kind: KindIdx) -> Option<ShelfEntry> {
        let arrived = offers.primary(floor, kind).ok()?;
        let serial = floor.kinds.get(kind).serial;
        let counted = arrived.change.counted();
        Some(ShelfEntry { kind, serial, after: arrived.lanes, counted, least: f64::NEG_INFINITY })
    }
}

/// The state for which the bounds were computed.
struct BoundsSource {
    running: Running,
    counted: Counted,
    span: Span,
}

/// The kinds of a floor, ordered by the score of the instance there.
pub(crate) struct Shelf {
    instance: Instance,
    /// The instance is refused only where it is impossible.
    forced: bool,
    taken: Option<BoundsSource>,
    /// Number of kinds examined so far.
    seen: usize,
    /// By ascending bound.
    sorted: Vec<ShelfEntry>,
    /// Kinds that were added later.
    fresh: Vec<ShelfEntry>,
    /// Number of bounds examined since they were computed.
    looks: usize,
}

/// Maximum number of later kinds before all are sorted again.
const MOST_FRESH: usize = 24;

/// A state near that of the floor.
pub(crate) struct View<'v> {
    pub running: &'v Running,
    pub counted: Counted,
}

impl Shelf {
    /// A shelf for an instance without tags; it serves all instances of the same shape.
    pub(crate) fn new(instance: &Instance, forced: bool) -> Shelf {
        Shelf {
            instance: instance.clone(),
            forced,
            taken: None,
            seen: 0,
            sorted: Vec::new(),
            fresh: Vec::new(),
            looks: 0,
        }
    }

    /// Adds new kinds, and computes all bounds again if the old ones no longer help.
    fn follow(&mut self, floor: &Floor<'_>) {
        let count = floor.kinds.count();
        if self.seen != count {
            self.fresh.retain(|entry| is_there(floor, entry));
            let mut offers =
                if self.forced { Offers::forced(&self.instance) } else { Offers::strict(&self.instance) };
            let new = floor.kinds.since(self.seen).filter(|kind| floor.is_usable(*kind));
            self.fresh.extend(new.filter_map(|kind| ShelfEntry::of(floor, &mut offers, kind)));
            self.seen = count;
        }
        let comparable = self.taken.as_ref().is_some_and(|t| comparable(&t.running, &floor.running));
        if !comparable || self.fresh.len() > MOST_FRESH || self.looks > 2 * floor.kinds.present().len() {
            self.take(floor);
        }
    }

    fn take(&mut self, floor: &Floor<'_>) {
        let (running, counted) = (floor.running.clone(), floor.board.counted());
        let mut span = Span::NONE;
        self.sorted.append(&mut self.fresh);
        self.sorted.retain(|entry| is_there(floor, entry));
        for entry in &mut self.sorted {
            let bounds = interval(floor, &View { running: &running, counted }, entry);
            // A bound that is not a number excludes nothing.
            entry.least = if bounds.lo.is_finite() { bounds.lo } else { f64::NEG_INFINITY };
            span.add(&running, &floor.kinds.get(entry.kind).lanes, &entry.after);
        }
        self.sorted.sort_by(|a, b| a.least.total_cmp(&b.least));
        self.taken = Some(BoundsSource { running, counted, span });
        self.looks = 0;
    }

    /// Returns true if any `open` kind of node accepts the instance.
    pub(crate) fn has_room(&mut self, floor: &Floor<'_>, open: impl Fn(KindIdx) -> bool) -> bool {
        self.follow(floor);
        self.fresh.iter().chain(&self.sorted).any(|entry| is_there(floor, entry) && open(entry.kind))
    }

    /// The kinds that may be the best in a state near that of the floor, with bounds on their scores. Only
    /// `open` kinds that are not worse than `limit` are considered. Returns `None` if scores are not numbers.
    pub(crate) fn near(
        &mut self,
        floor: &Floor<'_>,
        view: &View<'_>,
        mut limit: f64,
        open: impl Fn(KindIdx) -> bool,
    ) -> Option<Vec<(KindIdx, Interval)>> {
        self.follow(floor);
        let taken = self.taken.as_ref()?;
        let mut found: Vec<(KindIdx, Interval)> = Vec::new();
        let mut width = 0f64;
        let mut look = |entry: &ShelfEntry, limit: &mut f64, width: &mut f64| {
            if is_there(floor, entry) && open(entry.kind) {
                let bounds = interval(floor, view, entry);
                if !(bounds.hi - bounds.lo).is_finite() {
                    return None;
                }
                *limit = limit.min(bounds.hi);
                *width = width.max(bounds.hi - bounds.lo);
                found.push((entry.kind, bounds));
            }
            Some(())
        };
        for entry in &self.fresh {
            look(entry, &mut limit, &mut width)?;
        }
        if !self.sorted.is_empty() {
            let counts = counts_rise(floor, &taken.counted, &view.counted);
            let rise = counts + rise(&taken.running, view.running, &taken.span);
            if !rise.is_finite() {
                return None;
            }
            for entry in &self.sorted {
                // The scores and these sums are rounded in about the same way.
                let margin = 1e-9 * entry.least.abs().max(limit.abs().min(1e300)).max(1.0) + 8.0 * width;
                if entry.least + rise - margin > limit {
                    break;
                }
                if !entry.least.is_finite() {
                    return None;
                }
                self.looks += 1;
                look(entry, &mut limit, &mut width)?;
            }
        }
        note(found.len());
        found.retain(|(_, bounds)| bounds.lo <= limit);
        Some(found)
    }
}

/// Returns true if the kind of an entry still has nodes.
fn is_there(floor: &Floor<'_>, entry: &ShelfEntry) -> bool {
    floor.kinds.has_members(entry.kind, entry.serial)
}

/// Rise of the counts' part of a score between two counts.
fn counts_rise(floor: &Floor<'_>, from: &Counted, to: &Counted) -> f64 {
    let score = |counted: &Counted| counted_score(floor.board.weights(), counted, 0);
    score(to) - score(from)
}

fn interval(floor: &Floor<'_>, view: &View<'_>, entry: &ShelfEntry) -> Interval {
    let counts = view.counted + entry.counted;
    let counted = CountedPart::of(floor.board.weights(), &counts, floor.board.spread().surplus());
    view.running.interval_between(&floor.kinds.get(entry.kind).lanes, &entry.after, counted)
}

#[cfg(test)]
mod tests {
    use super::super::{Targets, best_from, best_on};
    use super::*;
    use htools_model::score::Touched;
    use htools_model::{Disk, DiskTemplate, InstanceDetails, Ledger, Mib, Placement};
    use htools_testkit::shared;
    use proptest::prelude::*;

    fn instance(memory: i64, vcpus: i64) -> Instance {
        let disk = Disk { size: Mib(1024), spindles: Some(1) };
        Instance::from(InstanceDetails {
            mem: Mib(memory * 512),
            disk: disk.size,
            disks: [disk].into(),
            spindles: disk.spindles,
            spindle_use: 1,
            vcpus,
            ..InstanceDetails::blank("new".into(), DiskTemplate::Ext)
        })
    }

    /// Checks that no bound is above the present score.
    fn bounds_hold(shelf: &Shelf, floor: &Floor<'_>) -> Result<(), TestCaseError> {
        let Some(taken) = shelf.taken.as_ref().filter(|t| comparable(&t.running, &floor.running)) else {
            return Ok(());
        };
        let counts = counts_rise(floor, &taken.counted, &floor.board.counted());
        let rise = counts + rise(&taken.running, &floor.running, &taken.span);
        for entry in shelf.sorted.iter().filter(|entry| is_there(floor, entry)) {
            let kind = floor.kinds.get(entry.kind);
            let spec = &floor.cluster.node(kind.members[0]).spec;
            let arrived = Offers::strict(&shelf.instance).primary(floor, entry.kind).cloned();
            let after = arrived.expect("it went there before").ledger;
            let score = floor.board.score_with(&[Touched { spec, before: &kind.ledger, after }], 0);
            let bound = entry.least + rise;
            prop_assert!(bound <= score + 1e-9, "{} above {}", bound, score);
        }
        Ok(())
    }

    proptest! {
        /// A shelf that is used repeatedly finds the same places as a search over all nodes.
        #[test]
        fn a_shelf_finds_the_best_of_all(
            nodes in prop::collection::vec((prop::sample::select(vec![16i64, 32, 48]), 8i64..12), 2..24),
            instances in prop::collection::vec((0usize..24, 1i64..16, 1i64..4), 0..120),
            size in (1i64..12, 1i64..4),
            others in prop::collection::vec((1i64..12, 1i64..4, 0u8..4), 1..60),
        ) {
            let cluster = shared(&nodes, &instances);
            let all = cluster.all_nodes();
            let targets = Targets::Singles(all.clone());
            let instance_asked = instance(size.0, size.1);
            let mut floor = Floor::new(&cluster, &all, &targets, &instance_asked);
            let mut shelf = Shelf::new(&instance_asked, false);
            let mut offers = Offers::strict(&instance_asked);
            let mut placed: Vec<(Instance, Placement, Ledger)> = Vec::new();
            for (memory, vcpus, what) in others {
                let from_shelf = best_from(&floor, &mut offers, &mut shelf);
                let best = best_on(&floor, &mut offers).map(|(_, place)| place);
                prop_assert_eq!(&from_shelf, &best);
                prop_assert!(best.is_some() || !placed.is_empty() || !instances.is_empty());
                bounds_hold(&shelf, &floor)?;
                if what == 0 && let Some((last, at, before)) = placed.pop() {
                    floor.take_back(&last, at, before, None);
                    continue;
                }
                let other = if what == 1 { instance(memory, vcpus) } else { instance_asked.clone() };
                let Some((_, place)) = best_on(&floor, &mut Offers::strict(&other)) else { continue };
                let before = floor.ledgers[place.placement.primary.get()];
                floor.place(&other, &place);
                placed.push((other, place.placement, before));
            }
        }
    }
}
