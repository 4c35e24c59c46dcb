//! A plan as a stream: each step begins as soon as the steps that it waits for have ended, within limits.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::checker::PlanMoment;
use super::durations::{copies, syncs};
use super::graph::{StepIdx, Strength};
use super::work::{Work, WorkStep};

/// Limits of what may be under way at the same time; `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamLimits {
    /// Steps in total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<usize>,
    /// Steps that copy memory or disks from the same node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_per_node: Option<usize>,
    /// Steps that copy memory or disks to the same node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_per_node: Option<usize>,
    /// Steps that copy disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs: Option<usize>,
    /// Steps in the same node group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_group: Option<usize>,
}

/// A count of steps that a limit applies to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LimitKey {
    /// All steps.
    All,
    /// Steps that copy from a node.
    Out(String),
    /// Steps that copy to a node.
    In(String),
    /// Steps that copy disks.
    Sync,
    /// Steps in a node group.
    Group(String),
}

impl LimitKey {
    /// The counts that a step belongs to.
    pub fn of(step: &WorkStep) -> BTreeSet<LimitKey> {
        let copies = copies(step).into_iter().flat_map(|(from, to)| [LimitKey::Out(from), LimitKey::In(to)]);
        let groups =
            step.freight.iter().flat_map(|freight| freight.groups.iter().cloned()).map(LimitKey::Group);
        let sync = syncs(step).then_some(LimitKey::Sync);
        copies.chain(groups).chain(sync).chain([LimitKey::All]).collect()
    }
}

impl StreamLimits {
    /// The limit of a count.
    pub fn of(&self, counted: &LimitKey) -> Option<usize> {
        match counted {
            LimitKey::All => self.parallel,
            LimitKey::Out(_) => self.out_per_node,
            LimitKey::In(_) => self.in_per_node,
            LimitKey::Sync => self.syncs,
            LimitKey::Group(_) => self.per_group,
        }
    }
}

/// State of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It waits for this many other steps.
    Waiting(usize),
    Running,
    Over,
    /// A step that it must follow was not done.
    Dropped,
}

/// Dispatcher of steps: a walk of a plan's graph that finds the next step that may begin.
#[derive(Debug, Clone)]
pub struct StepDispatcher {
    limits: StreamLimits,
    stages: Vec<Stage>,
    /// For each step, the steps that wait for it.
    followers: Vec<Vec<(StepIdx, Strength)>>,
    /// For each step, its counts: positions in `counts`, and the limits.
    counted: Vec<Vec<(usize, usize)>>,
    /// Number of steps under way in each count.
    counts: Vec<usize>,
    /// Steps that wait for nothing, the most urgent first: by the duration of what follows them, then by position.
    free: BTreeSet<(std::cmp::Reverse<u64>, StepIdx)>,
    urgency: Vec<u64>,
    /// In a walk by jobsets, the jobset of each step, and the number of unfinished steps of each jobset.
    sets: Option<(Vec<usize>, Vec<usize>)>,
}

impl StepDispatcher {
    /// Starts a plan whose steps take `seconds`. The step with the longest remaining path to the end comes first, then
    /// the first in the plan.
    pub(crate) fn new(work: &Work, seconds: &[f64], limits: StreamLimits) -> StepDispatcher {
        let mut left = seconds.to_vec();
        for edge in work.edges.iter().rev() {
            let (before, after) = (edge.before.get(), edge.after.get());
            left[before] = left[before].max(seconds[before] + left[after]);
        }
        // Milliseconds are precise enough.
        let urgency = left.iter().map(|seconds| (seconds * 1000.0).clamp(0.0, 1e15) as u64).collect();
        StepDispatcher::by(work, urgency, limits)
    }

    /// The same, but the first step in the plan comes first.
    pub(crate) fn in_order(work: &Work, limits: StreamLimits) -> StepDispatcher {
        StepDispatcher::by(work, vec![0; work.steps.len()], limits)
    }

    /// The same, but no step begins before the previous jobset has ended. Steps of one jobset never share a node, so
    /// limits per node do not delay them.
    pub(crate) fn by_jobsets(work: &Work, limits: StreamLimits) -> StepDispatcher {
        let mut set = vec![0; work.steps.len()];
        for (number, steps) in work.jobsets.iter().enumerate() {
            steps.iter().for_each(|step| set[step.get()] = number);
        }
        let left = work.jobsets.iter().map(Vec::len).collect();
        StepDispatcher { sets: Some((set, left)), ..StepDispatcher::in_order(work, limits) }
    }

    fn by(work: &Work, urgency: Vec<u64>, limits: StreamLimits) -> StepDispatcher {
        let mut followers = vec![Vec::new(); work.steps.len()];
        let mut waits = vec![0; work.steps.len()];
        for edge in &work.edges {
            followers[edge.before.get()].push((edge.after, edge.strength));
            waits[edge.after.get()] += 1;
        }
        let mut known: HashMap<LimitKey, usize> = HashMap::new();
        let mut of_step = |step: &WorkStep| -> Vec<(usize, usize)> {
            let limited =
                LimitKey::of(step).into_iter().filter_map(|what| limits.of(&what).map(|most| (what, most)));
            let next = |known: &HashMap<LimitKey, usize>| known.len();
            limited
                .map(|(what, most)| {
                    let new = next(&known);
                    (*known.entry(what).or_insert(new), most)
                })
                .collect()
        };
        let counted = work.steps.iter().map(&mut of_step).collect();
        let mut dispatch = StepDispatcher {
            limits,
            stages: waits.into_iter().map(Stage::Waiting).collect(),
            followers,
            counted,
            counts: vec![0; known.len()],
            free: BTreeSet::new(),
            urgency,
            sets: None,
        };
        work.all().for_each(|step| dispatch.free_if_ready(step));
        dispatch
    }

    fn free_if_ready(&mut self, step: StepIdx) {
        if self.stages[step.get()] == Stage::Waiting(0) {
            self.free.insert((std::cmp::Reverse(self.urgency[step.get()]), step));
        }
    }

    /// The most urgent step that waits for nothing, that the limits allow, and that `may` accepts.
    pub fn next(&self, may: impl Fn(StepIdx) -> bool) -> Option<StepIdx> {
        if self.limits.parallel == Some(0) {
            return None;
        }
        let turn = |step: &StepIdx| match &self.sets {
            Some((sets, left)) => left[..sets[step.get()]].iter().all(|left| *left == 0),
            None => true,
        };
        let allowed = |step: &StepIdx| {
            self.counted[step.get()].iter().all(|(what, most)| self.counts[*what] < *most)
                && turn(step)
                && may(*step)
        };
        self.free.iter().map(|(_, step)| *step).find(allowed)
    }

    fn leave_set(&mut self, step: StepIdx) {
        if let Some((sets, left)) = &mut self.sets {
            left[sets[step.get()]] -= 1;
        }
    }

    /// Records that a step has begun.
    pub fn begin(&mut self, step: StepIdx) {
        self.free.remove(&(std::cmp::Reverse(self.urgency[step.get()]), step));
        self.stages[step.get()] = Stage::Running;
        self.counted[step.get()].iter().for_each(|(what, _)| self.counts[*what] += 1);
    }

    /// Records that a step has ended. If it was not done, the steps that must follow it are dropped and returned.
    pub fn end(&mut self, step: StepIdx, done: bool) -> Vec<StepIdx> {
        if matches!(self.stages[step.get()], Stage::Over | Stage::Dropped) {
            return Vec::new();
        }
        if self.stages[step.get()] == Stage::Running {
            self.counted[step.get()].iter().for_each(|(what, _)| self.counts[*what] -= 1);
        }
        self.stages[step.get()] = Stage::Over;
        self.leave_set(step);
        // The step was begun by a run that this one resumes.
        self.free.remove(&(std::cmp::Reverse(self.urgency[step.get()]), step));
        let mut dropped = Vec::new();
        let mut left = vec![(step, done)];
        while let Some((step, done)) = left.pop() {
            for (follower, strength) in std::mem::take(&mut self.followers[step.get()]) {
                let Stage::Waiting(waits) = self.stages[follower.get()] else { continue };
                if done || strength == Strength::Should {
                    self.stages[follower.get()] = Stage::Waiting(waits - 1);
                    self.free_if_ready(follower);
                } else {
                    self.stages[follower.get()] = Stage::Dropped;
                    self.leave_set(follower);
                    dropped.push(follower);
                    left.push((follower, false));
                }
            }
        }
        dropped.sort_unstable();
        dropped
    }
}

/// Schedule of the steps of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanSchedule {
    /// Beginning and end of each step, in seconds.
    pub spans: Vec<(f64, f64)>,
}

impl PlanSchedule {
    /// The end of the last step, in seconds.
    pub fn total(&self) -> f64 {
        self.spans.iter().map(|(_, end)| *end).fold(0.0, f64::max)
    }

    /// Jobset by jobset: each begins when all steps of the previous one have ended.
    pub fn by_jobsets(work: &Work, seconds: &[f64]) -> PlanSchedule {
        let mut spans = vec![(0.0, 0.0); seconds.len()];
        let mut begin = 0.0;
        for set in &work.jobsets {
            let end = |step: &StepIdx| begin + seconds[step.get()];
            set.iter().for_each(|step| spans[step.get()] = (begin, end(step)));
            begin = set.iter().map(end).fold(begin, f64::max);
        }
        PlanSchedule { spans }
    }

    /// The schedule as a stream.
    pub fn stream(work: &Work, seconds: &[f64], limits: StreamLimits) -> PlanSchedule {
        PlanSchedule::best(work, seconds, limits).1
    }

    /// The dispatcher of a stream with its schedule: the shortest of three orders of urgency. These are the longest
    /// remaining path first, the order of the plan, and jobset by jobset. So limits per node make the stream no longer
    /// than the jobsets.
    pub fn best(work: &Work, seconds: &[f64], limits: StreamLimits) -> (StepDispatcher, PlanSchedule) {
        let run = |dispatch: StepDispatcher| {
            let schedule = PlanSchedule::dispatched(dispatch.clone(), seconds);
            (dispatch, schedule)
        };
        let urgent = run(StepDispatcher::new(work, seconds, limits));
        if limits == StreamLimits::default() {
            // No limit delays any step.
            return urgent;
        }
        let others =
            [StepDispatcher::in_order(work, limits), StepDispatcher::by_jobsets(work, limits)].map(run);
        let shorter = |best: (StepDispatcher, PlanSchedule), other: (StepDispatcher, PlanSchedule)| {
            if other.1.total() < best.1.total() { other } else { best }
        };
        others.into_iter().fold(urgent, shorter)
    }

    fn dispatched(mut dispatch: StepDispatcher, seconds: &[f64]) -> PlanSchedule {
        let mut spans = vec![(0.0, 0.0); seconds.len()];
        let mut running: BTreeSet<(ordered_float::OrderedFloat<f64>, StepIdx)> = BTreeSet::new();
        let mut now = 0.0;
        loop {
            while let Some(step) = dispatch.next(|_| true) {
                dispatch.begin(step);
                let end = now + seconds[step.get()];
                spans[step.get()] = (now, end);
                running.insert((end.into(), step));
            }
            let Some((end, step)) = running.pop_first() else { return PlanSchedule { spans } };
            now = end.0;
            dispatch.end(step, true);
        }
    }

    /// Events in order; steps that end at a time do so before others begin.
    pub fn moments(&self) -> Vec<PlanMoment> {
        let steps = || self.spans.iter().enumerate();
        let mut moments: Vec<(f64, bool, PlanMoment)> = steps()
            .flat_map(|(at, (begin, end))| {
                let step = StepIdx::new(at);
                // A step with duration 0 ends after it began.
                let late = end <= begin;
                [(*begin, true, PlanMoment::Begins(step)), (*end, late, PlanMoment::Ends(step))]
            })
            .collect();
        moments.sort_by(|(a, late, _), (b, other, _)| a.total_cmp(b).then(late.cmp(other)));
        moments.into_iter().map(|(.., moment)| moment).collect()
    }
}
