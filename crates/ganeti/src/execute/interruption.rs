//! Instances that are stopped while others move: whatever ends a run, what was begun for them is brought to its end, and
//! they are started.

use std::collections::BTreeSet;

use super::job::JobMark;
use super::runner::{MayEnd, Runner};
use htools_plan::graph::{Edge, EdgeReason, StepIdx, Strength};
use htools_plan::work::{Task, Work};

/// An instance that is stopped by one step, and started by another one.
struct Interruption {
    stop: StepIdx,
    start: StepIdx,
}

impl Interruption {
    /// Those of some work.
    fn all(work: &Work) -> impl Iterator<Item = Interruption> {
        let stop_edge = |edge: &Edge<EdgeReason<String>>| {
            let (stop, start) = (work.step(edge.before), work.step(edge.after));
            let is_one =
                stop.task == Task::Stop && start.task == Task::Start && stop.subject == start.subject;
            let is_one = is_one && edge.strength == Strength::Must;
            is_one.then_some(Interruption { stop: edge.before, start: edge.after })
        };
        work.edges.iter().filter_map(stop_edge)
    }

    /// The start and all that comes before it.
    fn meanwhile(&self, work: &Work) -> BTreeSet<StepIdx> {
        let mut found = BTreeSet::from([self.start]);
        // they are in the order of the steps that wait
        for edge in work.edges.iter().rev() {
            if found.contains(&edge.after) {
                found.insert(edge.before);
            }
        }
        found
    }
}

impl Runner<'_> {
    /// Goes on, when nothing else begins any more, with what somebody is stopped for, and has those started that are still
    /// stopped when there is nothing left of it that can be done. False if nobody is.
    pub(super) fn start_again(&mut self) -> MayEnd<bool> {
        let mut marks: BTreeSet<JobMark> = BTreeSet::new();
        for interruption in Interruption::all(&self.header.work) {
            let Interruption { stop, start } = interruption;
            // a shutdown that failed may have come far
            if !self.state.has_begun(stop) || self.state.has_begun(start) {
                continue;
            }
            let open = interruption.meanwhile(&self.header.work).into_iter();
            let free: Vec<JobMark> = open
                .filter(|step| *step != start && self.is_ready(*step))
                .filter_map(|s| self.next_part(s))
                .collect();
            if free.is_empty() {
                marks.extend(self.next_part(start));
            }
            marks.extend(free);
        }
        let mut marks: Vec<JobMark> = marks.into_iter().collect();
        if !self.header.joins_opcodes {
            marks.truncate(1);
        }
        if marks.is_empty() {
            return Ok(false);
        }
        for mark in &marks {
            self.streaming.dropped.remove(&mark.step);
        }
        self.submit(&marks)?;
        Ok(true)
    }

    /// Tells if all is done that a step must not come before.
    fn is_ready(&self, step: StepIdx) -> bool {
        let waits = self.header.work.edges.iter().filter(|edge| edge.after == step);
        let mut hard = waits.filter(|edge| edge.strength != Strength::Should);
        hard.all(|edge| self.state.is_done(edge.before))
    }

    /// Time for which an instance is stopped that a step stops, in seconds; none for other steps.
    pub(super) fn interrupts_for(&self, step: StepIdx) -> Option<f64> {
        let found = Interruption::all(&self.header.work).find(|interruption| interruption.stop == step)?;
        let seconds = |step: StepIdx| self.terms.seconds.get(step.get()).copied().unwrap_or(0.0);
        Some(found.meanwhile(&self.header.work).into_iter().filter(|later| *later >= step).map(seconds).sum())
    }

    /// An instance that was started again although steps are left that need it stopped.
    pub fn started_too_early(&self) -> Option<&str> {
        let work = &self.header.work;
        let is_over = |interruption: &Interruption| {
            let needs = |edge: &Edge<EdgeReason<String>>| {
                edge.before == interruption.stop
                    && edge.after != interruption.start
                    && !self.state.has_begun(edge.after)
            };
            self.state.has_begun(interruption.start) && work.edges.iter().any(needs)
        };
        Interruption::all(work)
            .find(is_over)
            .map(|interruption| work.step(interruption.start).subject.as_str())
    }
}
