//! What is known of wishes while they are merged: the parts of [`Wishes`](super::wishes::Wishes) that merging fills.

use std::collections::HashMap;
use std::rc::Rc;

use super::index::ResourceIdx;
use super::score::AllocationScore;
use super::shift::TableShift;
use super::working_set::WorkingSet;

/// The work of a step beside its scores.
const STEP_WORK: usize = 16;
/// Most hosts of all wishes of others that are taken apart for one resource.
const MOST_HEARD: usize = 2_000_000;

/// Which way colocations are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Towards {
    /// From the dependent to the one that it wants to be with.
    Primaries,
    /// From a resource to those that want to be with it.
    Dependents,
}

/// What a wish of another resource is worth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share<'a> {
    /// The colocation whose share it is, by its position; 0 where there is none.
    pub(super) colocation: usize,
    /// The attribute in which hosts are to agree; none: the host itself.
    pub(super) attribute: Option<&'a str>,
    /// The part of the other one's scores that counts, -1 to 1.
    pub(super) factor: f32,
    /// Whether it leaves what is wanted wanted.
    pub(super) sparing: bool,
}

impl<'a> Share<'a> {
    /// The share of a colocation, with the sign of another one on top.
    pub(crate) fn of(set: &'a WorkingSet, at: usize, sign: f32) -> Share<'a> {
        let colocation = &set.colocations[at];
        // scores are at most a million, which a 32-bit float holds exactly
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^24")]
        let factor = sign * colocation.score.get() as f32 / AllocationScore::INFINITY.get() as f32;
        Share { colocation: at, attribute: colocation.attribute.as_deref(), factor, sparing: false }
    }

    /// Its part of a score. Where one is not wanted, keeping away from it counts for nothing.
    pub(super) fn part(self, score: AllocationScore) -> AllocationScore {
        if self.factor < 0.0 && score < AllocationScore::ZERO {
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

/// What is known of all behind a resource.
#[derive(Debug, Clone)]
pub(super) enum WishesBehind {
    /// It is being worked out: who comes here again went in a circle.
    Begun,
    /// Some of them are in a circle, or the chain is too long.
    Circular,
    /// What they add.
    Known(Rc<TableShift>),
}

/// The beginning of paths of colocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PathStart {
    pub(super) resource: ResourceIdx,
    pub(super) towards: Towards,
    /// Whether keeping away turned wishes into their opposite.
    pub(super) opposite: bool,
}

/// Why paths are not followed to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GivenUp {
    /// A chain is too long.
    TooDeep,
    /// There are too many of them.
    TooMany,
}

/// What a resource added to a table that was merged.
#[derive(Debug, Clone)]
pub(super) struct HeardWish {
    pub(super) resource: ResourceIdx,
    /// The colocation by which it was heard, by its position.
    pub(super) colocation: usize,
    /// Whether all that the resource is worth counts, and not a share of it.
    pub(super) is_whole: bool,
    /// By host.
    pub(super) added: Vec<AllocationScore>,
}

/// Which resources are being merged, and what is known of them.
#[derive(Default)]
pub(super) struct MergeState {
    pub(super) marked: Vec<bool>,
    pub(super) depth: usize,
    /// The steps since the first resource whose paths are followed.
    pub(super) steps: usize,
    /// The work of all steps so far, but for as many from each first resource as there are colocations.
    pub(super) work: usize,
    /// Why paths were not followed to their end.
    pub(super) given_up: Option<GivenUp>,
    pub(super) behind: HashMap<PathStart, WishesBehind>,
    /// The hosts in all that is known.
    pub(super) kept: usize,
    /// What was added on the way, while somebody listens: then every path is followed, as Pacemaker does.
    pub(super) heard: Option<Vec<HeardWish>>,
    /// How many more wishes are listened to.
    pub(super) patience: usize,
    /// Whether every path is followed all the same.
    #[cfg(test)]
    pub(super) by_paths: bool,
}

impl MergeState {
    pub(super) fn new(resources: usize) -> MergeState {
        MergeState { marked: vec![false; resources], ..MergeState::default() }
    }

    /// Counts a step. With more of them than there are colocations, some are followed again.
    pub(super) fn count_step(&mut self, set: &WorkingSet) {
        self.steps = if self.depth == 0 { 0 } else { self.steps + 1 };
        if self.steps > set.colocations.len() {
            self.work += set.hosts.len() + STEP_WORK;
        }
    }

    /// Forgets what hangs on tables and lists that have changed.
    pub(super) fn forget(&mut self) {
        self.behind.clear();
        self.kept = 0;
    }

    /// Notes what is added to tables of so many hosts from now on.
    pub(super) fn listen(&mut self, hosts: usize) {
        self.heard = Some(Vec::new());
        self.patience = MOST_HEARD / hosts.max(1);
    }

    /// What was added since then; nothing, if nobody listened, or there was too much to listen to.
    pub(super) fn stop_listening(&mut self) -> Option<Vec<HeardWish>> {
        self.heard.take()
    }

    pub(super) fn hear(&mut self, wish: impl FnOnce() -> HeardWish) {
        let Some(heard) = &mut self.heard else { return };
        match self.patience.checked_sub(1) {
            Some(left) => {
                self.patience = left;
                heard.push(wish());
            }
            None => self.heard = None,
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
    /// The number of paths.
    pub(super) paths: u128,
    /// The steps of counting them.
    pub(super) work: usize,
}

/// Paths by where and how they begin, as far as they can be counted. They hold as long as the lists of colocations do.
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
