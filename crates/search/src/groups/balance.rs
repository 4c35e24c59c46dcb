//! Evening out the load of groups.
//!
//! Every step is the move of one instance to another group with the largest gain; what
//! copies no disks comes before what does, and groups of last resort come last. It ends when
//! no move gains enough. An instance that would move a second time goes directly instead,
//! where that can be.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};

use ordered_float::OrderedFloat;
use rayon::prelude::*;

use super::deep::even_out;
use super::detour::Course;
use super::load::{LoadSource, LoadState, Loads};
use super::{RegroupOptions, Setting, reach};
use crate::{BalanceOptions, Deadline, Stopped};
use htools_model::{
    AllocPolicy, Cluster, DiskTemplate, GroupIdx, Instance, InstanceIdx, KeyIdx, Mib, PoolIdx, Step, TagId,
    TagSet,
};

/// When balancing ends, and what moves count for.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupBalanceOptions {
    /// What is asked of all moves.
    pub regroup: RegroupOptions,
    /// Where loads are from.
    pub loads: LoadSource,
    /// Least gain of a step, its cost taken off (`-g`).
    pub min_gain: f64,
    /// Stop at this score (`-e`).
    pub min_score: f64,
    /// What a GiB that is copied takes off the gain (`--move-cost`).
    pub move_cost: f64,
    /// Whether all moves are sought together (`--deep`).
    pub deep: bool,
    /// How many changes are tried then (`--effort`), if not the usual number.
    pub effort: Option<u64>,
}

impl Default for GroupBalanceOptions {
    fn default() -> Self {
        let within_a_group = BalanceOptions::default();
        GroupBalanceOptions {
            regroup: RegroupOptions::default(),
            loads: LoadSource::InUse,
            min_gain: within_a_group.min_gain,
            min_score: within_a_group.min_score,
            move_cost: 0.0,
            deep: false,
            effort: None,
        }
    }
}

impl GroupBalanceOptions {
    /// Whether a gain, its cost taken off, is enough for a step.
    pub(super) fn is_worth(&self, gain: f64) -> bool {
        gain > 0.0 && gain >= self.min_gain
    }

    /// What the move of an instance has to be worth.
    pub(super) fn price(&self, instance: &Instance) -> f64 {
        self.min_gain.max(0.0) + self.cost(instance)
    }

    /// What the move of an instance takes off its gain.
    pub(super) fn cost(&self, instance: &Instance) -> f64 {
        self.move_cost * copied(instance).as_f64() / 1024.0
    }
}

/// A plan that evens out load.
#[derive(Debug, Clone)]
pub struct Balance {
    /// The loads before.
    pub before: Loads,
    /// The steps, in order; their scores are those of the groups.
    pub steps: Vec<Step>,
    /// The loads afterwards.
    pub loads: Loads,
    /// The cluster afterwards.
    pub after: Cluster,
    /// What ended the search early, if anything did.
    pub stopped: Option<Stopped>,
}

/// Plans how to even out the load of the groups.
pub fn balance(cluster: &Cluster, options: &GroupBalanceOptions) -> Balance {
    balance_until(cluster, options, &Deadline::never())
}

/// The same, with as many steps as there is time for.
pub fn balance_until(cluster: &Cluster, options: &GroupBalanceOptions, deadline: &Deadline) -> Balance {
    let setting = Setting::of(cluster, &options.regroup);
    let shapes = shapes(cluster, &setting);
    let before = Loads::of(cluster, options.loads);
    let (course, stopped) = if options.deep {
        even_out(cluster, &setting, &shapes, options, &before, deadline)
    } else {
        step_by_step(cluster, &setting, &shapes, options, Course::begin(cluster, &setting, options), deadline)
    };
    let Course { steps, loads, after, .. } = course;
    Balance { before, steps, loads, after: after.into_cluster(), stopped }
}

/// Goes on with the best next move again and again; the instances of the steps that there are already stay where they are.
/// `shapes` are those of [`shapes`].
pub(super) fn step_by_step<'s>(
    cluster: &Cluster,
    setting: &'s Setting,
    shapes: &'s [usize],
    options: &'s GroupBalanceOptions,
    course: Course<'s>,
    deadline: &'s Deadline,
) -> (Course<'s>, Option<Stopped>) {
    let settled = course.steps.iter().map(|step| step.instance).collect();
    let refused = HashSet::new();
    let mut search = NextMoveSearch { options, shapes, settled, course, refused, deadline, stopped: None };
    let most = options.regroup.max_moves.unwrap_or(usize::MAX);
    while search.course.steps.len() < most {
        let Some(step) = search.next_step() else { break };
        search.course.steps.push(step);
        while let Some(course) = search.course.without_detour(cluster, setting, options) {
            search.course = course;
            // some groups had less in them meanwhile
            search.refused.clear();
        }
    }
    (search.course, search.stopped)
}

/// Everything about an instance that decides whether a group has a place for it.
type PlaceShape<'c> = (
    (DiskTemplate, Mib, Mib, Mib, Mib),
    (i64, i64, Option<i64>, Vec<Mib>),
    (&'c [TagId], &'c [KeyIdx], &'c TagSet, &'c [String], &'c [PoolIdx]),
);

/// By instance a number that instances of the same shape share. Where nodes have migration
/// tags, it depends on the node where an instance can go, and all are different.
fn shapes(cluster: &Cluster, setting: &Setting) -> Vec<usize> {
    if cluster.nodes.iter().any(|node| node.spec.migration_tags.iter().next().is_some()) {
        return (0..cluster.instances.len()).collect();
    }
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let number = |i: &Instance| {
        let count = known.len();
        *known.entry(format!("{:?}", shape(i, setting))).or_insert(count)
    };
    cluster.instances.iter().map(number).collect()
}

fn shape<'c>(i: &'c Instance, setting: &'c Setting) -> PlaceShape<'c> {
    (
        (i.template, i.mem, i.mem_in_use(), i.mem_reserved(), i.disk),
        (i.vcpus_in_use(), i.spindle_use, i.spindles, i.disks.iter().map(|d| d.size).collect()),
        (
            &i.exclusion_tags[..],
            i.keys.keys(),
            &i.desired_locations,
            &i.networks,
            setting.storage.of_instance(i.idx),
        ),
    )
}

/// A move that could be the next step; the largest is tried first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MoveCandidate {
    /// To a group of last resort only if nothing else is worth it.
    preferred: bool,
    copies_nothing: bool,
    gain: OrderedFloat<f64>,
    instance: Reverse<InstanceIdx>,
    target: Reverse<GroupIdx>,
}

impl MoveCandidate {
    /// A move with what it gains.
    pub(super) fn new(
        cluster: &Cluster,
        instance: InstanceIdx,
        target: GroupIdx,
        gain: f64,
    ) -> MoveCandidate {
        MoveCandidate {
            preferred: cluster.group(target).alloc_policy == AllocPolicy::Preferred,
            copies_nothing: copied(cluster.instance(instance)) == Mib::ZERO,
            gain: OrderedFloat(gain),
            instance: Reverse(instance),
            target: Reverse(target),
        }
    }
}

struct NextMoveSearch<'o> {
    options: &'o GroupBalanceOptions,
    shapes: &'o [usize],
    /// Who does not move any more.
    settled: HashSet<InstanceIdx>,
    course: Course<'o>,
    /// Groups that have no place: for instances of a shape, from a group.
    refused: HashSet<(usize, GroupIdx, GroupIdx)>,
    deadline: &'o Deadline,
    stopped: Option<Stopped>,
}

impl NextMoveSearch<'_> {
    /// Finds the next step and makes it.
    fn next_step(&mut self) -> Option<Step> {
        let outlook = self.course.loads.outlook();
        let score = outlook.score;
        if !(score > self.options.min_score) {
            return None;
        }
        let none = HashSet::new();
        let movable =
            |i: &&Instance| !self.settled.contains(&i.idx) && reach::hold(&self.course.after, i).is_none();
        let best = |i: &Instance| self.best_of(&outlook, i.idx, &none);
        let first: Vec<MoveCandidate> =
            self.course.after.instances.par_iter().filter(movable).filter_map(best).collect();
        let mut heap = BinaryHeap::from(first);
        let mut dull = HashSet::new();
        while let Some(candidate) = heap.pop() {
            // however short the time, there is a step if there can be one
            self.stopped = self.deadline.reached_before(self.course.steps.len());
            if self.stopped.is_some() {
                return None;
            }
            let (instance, target) = (candidate.instance.0, candidate.target.0);
            let source = self.course.loads.home(instance);
            let key = (self.shapes[instance.get()], source, target);
            if !self.refused.contains(&key) {
                let mut loads = self.course.loads.clone();
                loads.relocate(instance, target);
                // the exact score decides
                if !self.options.is_worth(score - loads.score() - self.cost_of(instance)) {
                    dull.insert((instance, target));
                } else if let Some(step) = self.make(instance, target) {
                    // it may be healthy now, and has more room in any case
                    self.course.placing.refresh(&self.course.after, source);
                    self.refused.retain(|(_, _, to)| *to != source && *to != target);
                    self.course.loads = loads;
                    return Some(Step { score: self.course.loads.score(), ..step });
                } else {
                    self.refused.insert(key);
                }
            }
            let outlook = self.course.loads.outlook();
            heap.extend(self.best_of(&outlook, instance, &dull));
        }
        None
    }

    fn make(&mut self, instance: InstanceIdx, target: GroupIdx) -> Option<Step> {
        self.course.placing.place(&mut self.course.after, instance, |group| group == target).ok()
    }

    fn cost_of(&self, instance: InstanceIdx) -> f64 {
        self.options.cost(self.course.after.instance(instance))
    }

    /// The best move of an instance that is not known to be impossible, or not worth it.
    fn best_of(
        &self,
        outlook: &LoadState,
        instance: InstanceIdx,
        dull: &HashSet<(InstanceIdx, GroupIdx)>,
    ) -> Option<MoveCandidate> {
        let home = self.course.loads.home(instance);
        let shape = self.shapes[instance.get()];
        let cost = self.cost_of(instance);
        let targets = self.course.after.groups.iter().map(|g| g.idx);
        let open = targets.filter(|g| {
            *g != home && !self.refused.contains(&(shape, home, *g)) && !dull.contains(&(instance, *g))
        });
        let gain = |target| outlook.gain(&self.course.loads, instance, target) - cost;
        let candidates =
            open.map(|target| MoveCandidate::new(&self.course.after, instance, target, gain(target)));
        candidates.filter(|c| self.options.is_worth(c.gain.0)).max()
    }
}

/// Disk space that is copied when an instance changes its group.
fn copied(instance: &Instance) -> Mib {
    if instance.template.has_secondary() { instance.disk + instance.disk } else { Mib::ZERO }
}
