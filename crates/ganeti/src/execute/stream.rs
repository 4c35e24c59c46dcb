//! Execution of steps as a stream: each begins as soon as the steps that it waits for have ended, within limits of
//! number and time.

use std::time::Duration;

use super::course::FIRST_PAUSE;
use super::events::Event;
use super::job::{JobMark, JobState, JobStatus};
use super::journal::{OnFailure, Record};
use super::runner::{MayEnd, Runner};
use super::state::JobPart;
use htools_plan::graph::StepIdx;
use htools_plan::work::Task;

/// Maximum number of times a job is resubmitted that failed for a temporary reason.
const RETRIES: u32 = 6;
/// Interval for checking whether submission may be resumed.
const PAUSED: Duration = Duration::from_secs(1);

impl Runner<'_> {
    /// Treatment of the other steps after a failure in this run.
    pub(super) fn on_failure(&self) -> OnFailure {
        self.header.stream.as_ref().map_or(OnFailure::Stop, |pace| pace.on_failure)
    }

    /// The steps that are under way or may begin now.
    pub(super) fn free_steps(&mut self) -> Vec<StepIdx> {
        let Some(mut dispatch) = self.streaming.dispatch.take() else { return self.first_jobset() };
        for step in self.state.steps() {
            let (done, failed) = (self.state.is_done(step), self.state.has_failed(step));
            if !self.part.contains(&step.get()) {
                // Earlier batches of a maintenance are over; their steps tell nothing any more.
                if self.streaming.over.insert(step) {
                    dispatch.end(step, done);
                }
            } else if (done || failed) && self.streaming.over.insert(step) {
                self.streaming.admitted.remove(&step);
                for dropped in dispatch.end(step, done) {
                    self.drop_step(dropped, step);
                }
            } else if !done && !failed && self.state.has_begun(step) && self.streaming.admitted.insert(step) {
                // The step was begun by the run that this one resumes.
                dispatch.begin(step);
            }
        }
        while !self.streaming.is_paused {
            let may = |step: StepIdx| {
                self.part.contains(&step.get()) && self.may_begin(step) && self.is_in_time(step)
            };
            let Some(step) = dispatch.next(may) else { break };
            dispatch.begin(step);
            self.streaming.admitted.insert(step);
        }
        self.streaming.is_late |= !self.stopping && dispatch.next(|step| !self.is_in_time(step)).is_some();
        self.streaming.dispatch = Some(dispatch);
        self.streaming.admitted.iter().copied().filter(|step| self.is_due(*step)).collect()
    }

    /// The steps of the first jobset that is not done.
    fn first_jobset(&mut self) -> Vec<StepIdx> {
        let sets = &self.header.work.jobsets;
        let open = |set: &&Vec<StepIdx>| set.iter().any(|step| !self.state.is_done(*step));
        let mut set = sets.iter().find(open).cloned().unwrap_or_default();
        set.retain(|step| {
            self.state.has_begun(*step) || self.is_in_time(*step) || {
                self.streaming.is_late = true;
                false
            }
        });
        set
    }

    fn drop_step(&mut self, step: StepIdx, cause: StepIdx) {
        self.streaming.dropped.insert(step, cause);
        self.tell_of_end(step);
    }

    /// Tells if a step that begins now will end in time.
    fn is_in_time(&self, step: StepIdx) -> bool {
        let Some(deadline) = self.terms.deadline else { return true };
        let own = || self.terms.seconds.get(step.get()).copied().unwrap_or(0.0);
        // An interruption lasts as long as all steps done during it.
        let stops = self.header.work.step(step).task == Task::Stop;
        let takes = stops.then(|| self.interrupts_for(step)).flatten().unwrap_or_else(own);
        let takes = Duration::try_from_secs_f64(takes).unwrap_or(Duration::MAX);
        self.host.now().checked_add(takes).is_some_and(|end| end <= deadline)
    }

    fn is_due(&self, step: StepIdx) -> bool {
        self.streaming.again.get(&step).is_none_or(|(at, _)| *at <= self.host.now())
    }

    /// Checks whether new steps should pause, and announces a change.
    pub(super) fn look_for_a_pause(&mut self) {
        let is_paused = self.host.is_paused() && !self.stopping;
        if is_paused != self.streaming.is_paused {
            self.streaming.is_paused = is_paused;
            self.host.event(if is_paused { &Event::Paused } else { &Event::Continued });
        }
    }

    /// Tells if the run as a whole allows a step to begin. A maintenance that stops still brings nodes back into use.
    pub(super) fn may_begin(&self, step: StepIdx) -> bool {
        let ends_well = || self.header.maintenance.is_some() && !self.disrupting.contains(&step);
        !self.streaming.is_paused && (!self.stopping || ends_well())
    }

    /// Waits if nothing is under way but something will be; false if nothing will.
    pub(super) fn wait_idle(&mut self) -> bool {
        if self.stopping {
            return false;
        }
        let now = self.host.now();
        let waiting = |step: &&StepIdx| !self.streaming.over.contains(step);
        let again =
            self.streaming.admitted.iter().filter(waiting).filter_map(|step| self.streaming.again.get(step));
        let next = again.map(|(at, _)| at.duration_since(now).unwrap_or_default()).min();
        let is_open = self.wanted().any(|step| !self.state.is_done(step));
        let pause = match (self.streaming.is_paused && is_open, next) {
            (true, _) => PAUSED,
            (false, Some(time)) => time.max(PAUSED),
            (false, None) => return false,
        };
        self.host.pause(pause);
        true
    }

    /// Arranges to resubmit a job that failed for a temporary reason; false if the failure is final.
    pub(super) fn submit_again(&mut self, mark: JobMark, state: &JobState) -> MayEnd<bool> {
        let (step, parts) = (mark.step, self.state.step(mark.step));
        // Jobs that wait for it in the queue have failed with it.
        let is_last = parts[mark.part + 1..].iter().all(|part| *part == JobPart::NotStarted);
        let tries = self.streaming.again.get(&step).map_or(0, |(_, tries)| *tries);
        let wanted = state.is_passing && state.status == Some(JobStatus::Error);
        if !wanted || !is_last || self.streaming.dispatch.is_none() || tries >= RETRIES || self.stopping {
            return Ok(false);
        }
        let pause = FIRST_PAUSE * (1 << tries);
        self.record(Record::Again { mark })?;
        self.streaming.again.insert(step, (self.host.now() + pause, tries + 1));
        let title = self.header.work.step(step).title();
        let problem = state.message.clone().unwrap_or_default();
        self.host.event(&Event::Again { step: step.number(), title, problem, pause });
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
