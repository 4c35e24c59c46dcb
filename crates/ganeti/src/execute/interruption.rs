//! Instances that are stopped while others move. However a run ends, the moves that were begun for their sake are
//! finished, and the instances are started again.

use std::collections::BTreeSet;

use super::job::JobMark;
use super::runner::{MayEnd, Runner};
use htools_plan::graph::{Edge, EdgeReason, StepIdx, Strength};
use htools_plan::work::{Task, Work};

/// An instance that one step stops and another step starts.
struct Interruption {
    stop: StepIdx,
    start: StepIdx,
}

impl Interruption {
    /// The interruptions of some work.
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

    /// The start and all steps that must come before it.
    fn meanwhile(&self, work: &Work) -> BTreeSet<StepIdx> {
        let mut found = BTreeSet::from([self.start]);
        // Edges are sorted by the step that waits.
        for edge in work.edges.iter().rev() {
            if found.contains(&edge.after) {
                found.insert(edge.before);
            }
        }
        found
    }
}

impl Runner<'_> {
    /// Used when nothing else may begin: continues with the steps for which an instance is stopped. Once none of them
    /// can be done, starts the instances that are still stopped. Returns false if there are none.
    pub(super) fn start_again(&mut self) -> MayEnd<bool> {
        if self.header.maintenance.is_some() {
            // The instances are stopped for a node's maintenance; a batch of its own starts them again.
            return Ok(false);
        }
        let mut marks: BTreeSet<JobMark> = BTreeSet::new();
        for interruption in Interruption::all(&self.header.work) {
            let Interruption { stop, start } = interruption;
            // A shutdown that failed may nevertheless have stopped the instance.
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

    /// Tells if all steps that must come before this one are done.
    fn is_ready(&self, step: StepIdx) -> bool {
        let waits = self.header.work.edges.iter().filter(|edge| edge.after == step);
        let mut hard = waits.filter(|edge| edge.strength != Strength::Should);
        hard.all(|edge| self.state.is_done(edge.before))
    }

    /// Time in seconds for which a step stops an instance; `None` if it stops none.
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
