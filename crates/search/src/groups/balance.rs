//! Balances the load of groups.
//!
//! Every step moves one instance to another group, with the largest gain. Moves that copy no disks come first,
//! and moves to groups of last resort come last. The search ends when no move gains enough. If an instance
//! would move a second time, its two moves are replaced by a direct one, if possible.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use foldhash::{HashMap, HashSet};
use ordered_float::OrderedFloat;
use rayon::prelude::*;

use super::deep::even_out;
use super::detour::PlanSoFar;
use super::load::{LoadSource, LoadState, Loads};
use super::{RegroupOptions, Setting, reach};
use crate::parallel::{map, note};
use crate::{BalanceOptions, Deadline, Stopped};
use htools_model::{
    AllocPolicy, Cluster, DiskTemplate, GroupIdx, Instance, InstanceIdx, KeyIdx, Mib, PoolIdx, Step, TagId,
    TagSet,
};

/// Number of kinds of alike instances whose best moves a thread finds at a time.
const ALIKE_AT_ONCE: usize = 16;

/// Goal of balancing and cost of moves.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupBalanceOptions {
    /// Conditions for all moves.
    pub regroup: RegroupOptions,
    /// Source of the loads.
    pub loads: LoadSource,
    /// Minimum gain of a step after its cost (`-g`).
    pub min_gain: f64,
    /// Score at which balancing stops (`-e`).
    pub min_score: f64,
    /// Cost of each copied GiB, subtracted from the gain (`--copy-cost`).
    pub move_cost: f64,
    /// Search for all moves together instead of step by step (`--deep`).
    pub deep: bool,
    /// Number of changes to try in a deep search (`--effort`); `None` for the default.
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
    /// Returns true if a gain, after its cost, is enough for a step.
    pub(super) fn is_worth(&self, gain: f64) -> bool {
        gain > 0.0 && gain >= self.min_gain
    }

    /// Minimum gain that the move of an instance needs, including its cost.
    pub(super) fn price(&self, instance: &Instance) -> f64 {
        self.min_gain.max(0.0) + self.cost(instance)
    }

    /// Cost of moving an instance, subtracted from the gain.
    pub(super) fn cost(&self, instance: &Instance) -> f64 {
        self.move_cost * copied(instance).as_f64() / 1024.0
    }
}

/// A plan that balances the load of groups.
#[derive(Debug, Clone)]
pub struct Balance {
    /// Loads before the steps.
    pub before: Loads,
    /// The steps, in order; their scores are those of the groups' loads.
    pub steps: Vec<Step>,
    /// Loads after the steps.
    pub loads: Loads,
    /// The cluster after the steps.
    pub after: Cluster,
    /// Reason for an early end of the search, if there was one.
    pub stopped: Option<Stopped>,
}

/// Plans steps that balance the load of the groups.
pub fn balance(cluster: &Cluster, options: &GroupBalanceOptions) -> Balance {
    balance_until(cluster, options, &Deadline::never())
}

/// Like [`balance`], but stops at the deadline.
pub fn balance_until(cluster: &Cluster, options: &GroupBalanceOptions, deadline: &Deadline) -> Balance {
    let setting = Setting::of(cluster, &options.regroup);
    let shapes = shapes(cluster, &setting);
    let before = Loads::of(cluster, options.loads);
    let (course, stopped) = if options.deep {
        even_out(cluster, &setting, &shapes, options, &before, deadline)
    } else {
        step_by_step(
            cluster,
            &setting,
            &shapes,
            options,
            PlanSoFar::begin(cluster, &setting, options),
            deadline,
        )
    };
    let PlanSoFar { steps, loads, after, .. } = course;
    Balance { before, steps, loads, after: after.into_cluster(), stopped }
}

/// Adds the best next move repeatedly. Instances that the course has moved already stay where they are.
/// `shapes` comes from the function [`shapes`].
pub(super) fn step_by_step<'s>(
    cluster: &Cluster,
    setting: &'s Setting,
    shapes: &'s [usize],
    options: &'s GroupBalanceOptions,
    course: PlanSoFar<'s>,
    deadline: &'s Deadline,
) -> (PlanSoFar<'s>, Option<Stopped>) {
    let settled = course.steps.iter().map(|step| step.instance).collect();
    let refused = HashSet::default();
    let classes = gain_classes(cluster, shapes, &course.loads);
    let mut search =
        NextMoveSearch { options, shapes, classes, settled, course, refused, deadline, stopped: None };
    let most = options.regroup.max_moves.unwrap_or(usize::MAX);
    while search.course.steps.len() < most {
        let Some(step) = search.next_step() else { break };
        search.course.steps.push(step);
        while let Some(course) = search.course.without_detour(cluster, setting, options) {
            search.course = course;
            // Some groups have fewer instances now, so they may have room.
            search.refused.clear();
        }
    }
    (search.course, search.stopped)
}

/// Everything about an instance that determines whether a group has a place for it.
type PlaceShape<'c> = (
    (DiskTemplate, Mib, Mib, Mib, Mib),
    (i64, i64, Option<i64>, Vec<Mib>),
    (&'c [TagId], &'c [KeyIdx], &'c TagSet, &'c [String], &'c [PoolIdx]),
);

/// For each instance, a number shared by instances of the same shape. With migration tags, the possible targets
/// depend on the instance's node, so all numbers differ.
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

/// For each instance, a number shared by instances of the same shape, load and cost. From the same group, these have the
/// same gain in each other group.
fn gain_classes(cluster: &Cluster, shapes: &[usize], loads: &Loads) -> Vec<usize> {
    let mut known: HashMap<_, usize> = HashMap::default();
    let number = |instance: &Instance| {
        let demand = loads.demand(instance.idx).map(f64::to_bits);
        let count = known.len();
        *known.entry((shapes[instance.idx.get()], demand, copied(instance))).or_insert(count)
    };
    cluster.instances.iter().map(number).collect()
}

/// A possible next step; the largest is tried first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MoveCandidate {
    /// False for groups of last resort, which are used only if no other move is worth it.
    preferred: bool,
    copies_nothing: bool,
    gain: OrderedFloat<f64>,
    instance: Reverse<InstanceIdx>,
    target: Reverse<GroupIdx>,
}

impl MoveCandidate {
    /// A candidate with its gain.
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

    /// The same move of an instance of the same class from the same group.
    fn with_instance(self, instance: InstanceIdx) -> MoveCandidate {
        MoveCandidate { instance: Reverse(instance), ..self }
    }
}

struct NextMoveSearch<'o> {
    options: &'o GroupBalanceOptions,
    shapes: &'o [usize],
    /// For each instance, the number from [`gain_classes`].
    classes: Vec<usize>,
    /// Instances that do not move any more.
    settled: HashSet<InstanceIdx>,
    course: PlanSoFar<'o>,
    /// Refusals already seen: instances of a shape from one group find no place in another.
    refused: HashSet<(usize, GroupIdx, GroupIdx)>,
    deadline: &'o Deadline,
    stopped: Option<Stopped>,
}

impl NextMoveSearch<'_> {
    fn next_step(&mut self) -> Option<Step> {
        let outlook = self.course.loads.outlook();
        let score = outlook.score;
        if !(score > self.options.min_score) {
            return None;
        }
        let mut heap = BinaryHeap::from(self.best_of_each(&outlook));
        let mut not_worth = HashSet::default();
        while let Some(candidate) = heap.pop() {
            // At least one step is made even after the deadline, if there is one.
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
                // The exact score decides.
                if !self.options.is_worth(score - loads.score() - self.cost_of(instance)) {
                    not_worth.insert((instance, target));
                } else if let Some(step) = self.make(instance, target) {
                    // The group that it left has more room now and may have become healthy.
                    self.course.placing.refresh(&self.course.after, source);
                    self.refused.retain(|(_, _, to)| *to != source && *to != target);
                    self.course.loads = loads;
                    return Some(Step { score: self.course.loads.score(), ..step });
                } else {
                    self.refused.insert(key);
                }
            }
            let outlook = self.course.loads.outlook();
            heap.extend(self.best_of(&outlook, instance, &not_worth));
        }
        None
    }

    fn make(&mut self, instance: InstanceIdx, target: GroupIdx) -> Option<Step> {
        self.course.placing.place(&mut self.course.after, instance, |group| group == target).ok()
    }

    fn cost_of(&self, instance: InstanceIdx) -> f64 {
        self.options.cost(self.course.after.instance(instance))
    }

    /// The best move of each instance that has one, in any order.
    fn best_of_each(&self, outlook: &LoadState) -> Vec<MoveCandidate> {
        let movable =
            |i: &&Instance| !self.settled.contains(&i.idx) && reach::hold(&self.course.after, i).is_none();
        let movable: Vec<InstanceIdx> =
            self.course.after.instances.par_iter().filter(movable).map(|i| i.idx).collect();
        let mut alike: HashMap<(usize, GroupIdx), Vec<InstanceIdx>> = HashMap::default();
        for instance in movable {
            let key = (self.classes[instance.get()], self.course.loads.home(instance));
            alike.entry(key).or_default().push(instance);
        }
        let none = HashSet::default();
        let candidates = |instances: Vec<InstanceIdx>| {
            let best = self.best_of(outlook, instances[0], &none);
            let with = |best: MoveCandidate| instances.iter().map(move |i| best.with_instance(*i));
            best.into_iter().flat_map(with).collect::<Vec<_>>()
        };
        map(alike.into_values(), ALIKE_AT_ONCE, candidates).into_iter().flatten().collect()
    }

    /// The best move of an instance, except those known to be impossible or not worth it.
    fn best_of(
        &self,
        outlook: &LoadState,
        instance: InstanceIdx,
        not_worth: &HashSet<(InstanceIdx, GroupIdx)>,
    ) -> Option<MoveCandidate> {
        let home = self.course.loads.home(instance);
        let shape = self.shapes[instance.get()];
        let cost = self.cost_of(instance);
        note(self.course.after.groups.len());
        let targets = self.course.after.groups.iter().map(|g| g.idx);
        let open = targets.filter(|g| {
            *g != home && !self.refused.contains(&(shape, home, *g)) && !not_worth.contains(&(instance, *g))
        });
        let departed = outlook.departure(&self.course.loads, instance);
        let gain = |target| departed.gain(target) - cost;
        let candidates =
            open.map(|target| MoveCandidate::new(&self.course.after, instance, target, gain(target)));
        candidates.filter(|c| self.options.is_worth(c.gain.0)).max()
    }
}

/// Amount of disk that is copied when an instance changes its group.
fn copied(instance: &Instance) -> Mib {
    if instance.template.has_secondary() { instance.disk + instance.disk } else { Mib::ZERO }
}
