//! State of merging: the parts of [`Wishes`](super::wishes::Wishes) that it fills.

use std::collections::HashMap;
use std::rc::Rc;

use super::index::ResourceIdx;
use super::score::AllocationScore;
use super::shift::TableShift;
use super::working_set::WorkingSet;

/// Work of a step in addition to its scores.
const STEP_WORK: usize = 16;
/// Greatest number of host scores in wishes that are split into parts for one resource.
const MOST_RECORDED: usize = 2_000_000;

/// Direction in which colocations are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Towards {
    /// From the dependent to its primary.
    Primaries,
    /// From a resource to its dependents.
    Dependents,
}

/// Share of another resource's scores that counts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Share<'a> {
    /// Position of the colocation behind it; 0 if there is none.
    pub(super) colocation: usize,
    /// Node attribute in which hosts must agree; `None` means the host itself.
    pub(super) attribute: Option<&'a str>,
    /// Factor for the other resource's scores, -1 to 1.
    pub(super) factor: f32,
    /// True if wanted hosts stay wanted.
    pub(super) sparing: bool,
    /// Scores of the other resource below this one count for a negative share; none below 0 does without it.
    pub(super) turned_below: Option<AllocationScore>,
}

impl<'a> Share<'a> {
    /// The share of a colocation, multiplied by the factor of the path to it.
    pub(crate) fn of(set: &'a WorkingSet, at: usize, path: f32) -> Share<'a> {
        let colocation = &set.colocations[at];
        // scores are at most a million, which a 32-bit float holds exactly
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^24")]
        let factor = path * colocation.score.get() as f32 / AllocationScore::INFINITY.get() as f32;
        Share { colocation: at, attribute: colocation.attribute.as_deref(), factor, ..Share::default() }
    }

    /// The share of a score. A negative share of a negative score counts as 0, unless it is turned.
    pub(super) fn part(self, score: AllocationScore) -> AllocationScore {
        let is_turned = self.turned_below.is_some_and(|limit| score < limit);
        if self.factor < 0.0 && score < AllocationScore::ZERO && !is_turned {
            return AllocationScore::ZERO;
        }
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "at most a million")]
        let part = (self.factor * score.get() as f32).round() as i64;
        match part {
            0 if score != AllocationScore::ZERO => {
                AllocationScore::of(if self.factor < 0.0 { -1 } else { 1 })
            }
            _ => AllocationScore::of(part),
        }
    }
}

/// Wishes of all behind a resource, as far as known.
#[derive(Debug, Clone)]
pub(super) enum IndirectWishes {
    /// They are being computed. Coming here again means a circle.
    Begun,
    /// Some of them are in a circle, or the chain is too long.
    Circular,
    /// The shift by these wishes.
    Known(Rc<TableShift>),
}

/// Start of paths of colocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PathStart {
    pub(super) resource: ResourceIdx,
    pub(super) towards: Towards,
    /// True if colocations with negative scores turned wishes into their opposite.
    pub(super) opposite: bool,
    /// Size of the factor of the path so far, as bits; that of 1 if only the last colocation counts.
    pub(super) size: u32,
}

impl PathStart {
    /// The start of paths on which wishes count by this factor so far.
    pub(super) fn of(set: &WorkingSet, resource: ResourceIdx, towards: Towards, factor: f32) -> PathStart {
        let size = if set.release.multiplies_shares() { factor.abs() } else { 1.0 };
        PathStart { resource, towards, opposite: factor < 0.0, size: size.to_bits() }
    }

    /// The factor of the path so far.
    pub(super) fn factor(self) -> f32 {
        let size = f32::from_bits(self.size);
        if self.opposite { -size } else { size }
    }
}

/// Reason for not following paths to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GivenUp {
    /// A chain is too long.
    TooDeep,
    /// There are too many of them.
    TooMany,
}

/// A wish that was added to a table.
#[derive(Debug, Clone)]
pub(super) struct AddedWish {
    pub(super) resource: ResourceIdx,
    /// Position of the colocation through which it counts.
    pub(super) colocation: usize,
    /// True if the resource's scores count in full and not as a share.
    pub(super) is_whole: bool,
    /// Amounts by host.
    pub(super) added: Vec<AllocationScore>,
}

/// Resources being merged, and results so far.
#[derive(Default)]
pub(super) struct MergeState {
    pub(super) marked: Vec<bool>,
    pub(super) depth: usize,
    /// Steps since the last start of paths.
    pub(super) steps: usize,
    /// Work of repeated steps: from each start, as many steps as there are colocations are free.
    pub(super) work: usize,
    /// Reason for giving up paths.
    pub(super) given_up: Option<GivenUp>,
    pub(super) indirect: HashMap<PathStart, IndirectWishes>,
    /// Host scores in all results kept.
    pub(super) kept: usize,
    /// Wishes added so far, if they are recorded. Every path is then followed, as in Pacemaker.
    pub(super) added_wishes: Option<Vec<AddedWish>>,
    /// Number of further wishes that are noted.
    pub(super) wishes_left: usize,
    /// True while a marked resource is left out, so that every path is followed.
    pub(super) leaves_out: bool,
    /// True to follow every path in any case.
    #[cfg(test)]
    pub(super) by_paths: bool,
}

impl MergeState {
    pub(super) fn new(resources: usize) -> MergeState {
        MergeState { marked: vec![false; resources], ..MergeState::default() }
    }

    /// Counts a step. Steps beyond the number of colocations are work, as they repeat some.
    pub(super) fn count_step(&mut self, set: &WorkingSet) {
        self.steps = if self.depth == 0 { 0 } else { self.steps + 1 };
        if self.steps > set.colocations.len() {
            self.work += set.hosts.len() + STEP_WORK;
        }
    }

    /// Forgets results that depend on tables and lists that have changed.
    pub(super) fn forget(&mut self) {
        self.indirect.clear();
        self.kept = 0;
    }

    /// Starts noting the wishes added to tables of `hosts` hosts.
    pub(super) fn start_recording(&mut self, hosts: usize) {
        self.added_wishes = Some(Vec::new());
        self.wishes_left = MOST_RECORDED / hosts.max(1);
    }

    /// Returns the noted wishes; `None` if none were recorded, or too many.
    pub(super) fn stop_recording(&mut self) -> Option<Vec<AddedWish>> {
        self.added_wishes.take()
    }

    pub(super) fn record(&mut self, wish: impl FnOnce() -> AddedWish) {
        let Some(added_wishes) = &mut self.added_wishes else { return };
        match self.wishes_left.checked_sub(1) {
            Some(left) => {
                self.wishes_left = left;
                added_wishes.push(wish());
            }
            None => self.added_wishes = None,
        }
    }
}

/// The paths that end with the same share of the same resource.
#[derive(Debug)]
pub(super) struct PathEnds<'a> {
    pub(super) resource: ResourceIdx,
    pub(super) share: Share<'a>,
    pub(super) count: u128,
}

/// All paths from a resource.
#[derive(Debug)]
pub(super) struct CountedPaths<'a> {
    pub(super) ends: Vec<PathEnds<'a>>,
    pub(super) paths: u128,
    /// Steps it took to count them.
    pub(super) work: usize,
}

/// Counted paths by their start; `None` if they cannot be counted. They are valid while the lists of colocations are.
#[derive(Debug, Default)]
pub(super) struct PathCache<'a> {
    pub(super) known: HashMap<PathStart, Option<Rc<CountedPaths<'a>>>>,
    pub(super) ends: usize,
}

impl PathCache<'_> {
    /// Forgets all, as lists of colocations have changed.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.ends = 0;
    }
}
