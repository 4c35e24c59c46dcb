//! The walk over a plan: jobset by jobset, never a step before those that it
//! depends on, never a step twice.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::client::JobClient;
use super::events::Event;
use super::job::{Job, JobId, JobMark, JobState, JobStatus, RunInfo, Watched};
use super::journal::{Header, Journal, Record};
use super::nodes::{self, NodeTaskError};
use super::report::{Report, StepReport, StepState};
use super::state::{JobPart, State};
use crate::plan::graph::StepIdx;
use crate::plan::work::{Task, WorkStep};
use crate::remote::CallError;

/// Attempts with a connection that does not work.
pub(super) const ATTEMPTS: u32 = 12;
/// Attempts to submit the same jobs, where Ganeti surely did not get them.
const SUBMISSIONS: u32 = 5;
/// How long to wait for a change before asking anyway.
const CHANGE: Duration = Duration::from_secs(60);

/// What a run needs besides the cluster.
pub trait Surroundings {
    /// Something happened.
    fn event(&mut self, event: &Event);
    /// Whether no new jobs should be submitted.
    fn wants_to_stop(&self) -> bool;
    /// Does what Ganeti has no job for. It may be done again after a crash.
    ///
    /// # Errors
    /// Why it could not be done.
    fn perform(
        &mut self,
        client: &mut dyn JobClient,
        run: &RunInfo,
        step: &WorkStep,
    ) -> Result<(), NodeTaskError>;
    /// Lets time pass.
    fn pause(&mut self, time: Duration);
    /// What time it is.
    fn now(&self) -> SystemTime;
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "how", content = "why", rename_all = "snake_case")]
pub enum Ending {
    /// Every step is done.
    Done,
    /// A step failed; the steps after it were not begun.
    Failed,
    /// It was asked to stop, and did.
    Interrupted,
    /// Ganeti could not be reached any more, or its answers made no sense.
    Lost(String),
    /// The journal could not be written.
    Unrecorded(String),
    /// The journal and Ganeti's queue contradict each other.
    Contradiction(String),
}

impl Ending {
    fn word(&self) -> &'static str {
        match self {
            Ending::Done => "done",
            Ending::Failed => "failed",
            Ending::Interrupted => "interrupted",
            Ending::Lost(_) => "connection lost",
            Ending::Unrecorded(_) => "not recorded",
            Ending::Contradiction(_) => "contradiction",
        }
    }
}

/// A run under way.
pub struct Runner<'a> {
    pub(super) client: &'a mut dyn JobClient,
    pub(super) around: &'a mut dyn Surroundings,
    pub(super) header: &'a Header,
    journal: Journal,
    pub(super) state: State,
    /// Whether no new step is begun.
    stopping: bool,
    /// Attempts to submit that came to nothing, since the last one that did not.
    vain: u32,
    /// Attempts to wait that failed, since the last one that did not.
    deaf: u32,
    /// Jobs that got their numbers, with their steps, and were not told of yet.
    got: Vec<(StepIdx, JobId)>,
}

/// Result of something that may end the run.
pub(super) type MayEnd<T> = Result<T, Ending>;

impl<'a> Runner<'a> {
    /// A run with a new journal, or with one that was read.
    pub fn new(
        client: &'a mut dyn JobClient,
        around: &'a mut dyn Surroundings,
        header: &'a Header,
        journal: Journal,
        state: State,
    ) -> Runner<'a> {
        Runner { client, around, header, journal, state, stopping: false, vain: 0, deaf: 0, got: Vec::new() }
    }

    /// Carries the plan out, as far as that is possible.
    pub fn walk(&mut self) -> Report {
        let ending =
            self.advance(|runner| runner.free_steps()).map_or_else(|ending| ending, |()| self.ending());
        self.close(ending)
    }

    /// Finishes the steps that have begun, and begins no other. Nothing if all is well
    /// and the walk can go on; otherwise the report on the run, which is over.
    pub fn settle(&mut self) -> Option<Report> {
        let begun = |runner: &Runner<'_>| {
            let steps = runner.state.steps();
            steps.filter(|step| runner.state.has_begun(*step)).collect()
        };
        let settled = self.reconcile().and_then(|()| self.advance(begun));
        match settled {
            Ok(()) if !self.stopping => None,
            Ok(()) => {
                let ending = self.ending();
                Some(self.close(ending))
            }
            Err(ending) => Some(self.close(ending)),
        }
    }

    /// The steps about which nothing was done.
    pub fn not_started(&self) -> Vec<StepIdx> {
        self.state.steps().filter(|step| !self.state.has_begun(*step)).collect()
    }

    /// Ends the run before it begins.
    pub fn abandon(&mut self) -> Report {
        self.close(Ending::Interrupted)
    }

    /// Submits what `wanted` gives and follows it, until there is nothing left to do.
    fn advance(&mut self, wanted: impl Fn(&Self) -> Vec<StepIdx>) -> MayEnd<()> {
        loop {
            self.look_for_reasons_to_stop();
            let mut steps = wanted(self);
            // what has begun is brought to its end
            steps.retain(|step| !self.stopping || self.state.has_begun(*step));
            if self.submit_next(&steps)? {
                continue;
            }
            if !self.follow()? {
                return Ok(());
            }
        }
    }

    fn look_for_reasons_to_stop(&mut self) {
        if !self.stopping {
            let failed = self.state.steps().any(|step| self.state.has_failed(step));
            if failed {
                self.stop("a step failed");
            } else if self.around.wants_to_stop() {
                self.stop("asked to stop");
            }
        }
    }

    fn stop(&mut self, why: &str) {
        self.stopping = true;
        self.around.event(&Event::Stopping { why: why.to_owned() });
    }

    /// The steps of the first jobset that is not done.
    fn free_steps(&self) -> Vec<StepIdx> {
        let sets = &self.header.work.jobsets;
        let open = |set: &&Vec<StepIdx>| set.iter().any(|step| !self.state.is_done(*step));
        sets.iter().find(open).cloned().unwrap_or_default()
    }

    /// Submits the next jobs of these steps; false if there are none.
    fn submit_next(&mut self, steps: &[StepIdx]) -> MayEnd<bool> {
        let mut next: Vec<JobMark> = steps.iter().filter_map(|step| self.next_part(*step)).collect();
        let own = |mark: &&JobMark| self.header.work.step(mark.step).opcodes.is_empty();
        if let Some(mark) = next.iter().find(own).copied() {
            if *self.task(mark) != Task::PowerOff || self.may_power_off(mark)? {
                self.perform(mark)?;
            }
            return Ok(true);
        }
        let off = next.iter().copied().filter(|mark| *self.task(*mark) == Task::PowerOff);
        for mark in off.collect::<Vec<JobMark>>() {
            if !self.may_power_off(mark)? {
                return Ok(true);
            }
        }
        if !self.header.joins_opcodes {
            // one call is one job
            next.truncate(1);
        }
        if next.is_empty() {
            // one line a jobset, however many calls it took
            self.announce();
            return Ok(false);
        }
        self.submit(&next)?;
        Ok(true)
    }

    /// The first job of a step that is not submitted yet, unless an earlier one failed
    /// or hangs in the air. In a chain it may wait for the one before it in Ganeti's queue.
    fn next_part(&self, step: StepIdx) -> Option<JobMark> {
        let parts = self.state.step(step);
        let part = parts.iter().position(|part| *part == JobPart::NotStarted)?;
        let fine = |part: &JobPart| matches!(part, JobPart::Submitted(..)) || part.is_done();
        parts[..part].iter().all(fine).then_some(JobMark { step, part })
    }

    fn task(&self, mark: JobMark) -> &'a Task {
        &self.header.work.step(mark.step).task
    }

    /// Whether a node may lose its power: only if the cluster says at this moment that it
    /// holds no instance. Otherwise the step has failed.
    fn may_power_off(&mut self, mark: JobMark) -> MayEnd<bool> {
        let node = &self.header.work.step(mark.step).subject;
        let Err(why) = nodes::confirm_empty(self.around, self.client, node) else { return Ok(true) };
        self.record(Record::Submitting { jobs: vec![mark] })?;
        self.record(Record::Refused { jobs: vec![mark], why: why.to_string() })?;
        self.tell_of_end(mark.step);
        Ok(false)
    }

    /// Does what Ganeti has no job for.
    fn perform(&mut self, mark: JobMark) -> MayEnd<()> {
        self.record(Record::Submitting { jobs: vec![mark] })?;
        let step = self.header.work.step(mark.step);
        let record = match self.around.perform(self.client, &self.header.run, step) {
            Ok(()) => Record::Performed { mark },
            Err(why) => Record::Failed { mark, why: why.to_string() },
        };
        self.record(record)?;
        self.tell_of_end(mark.step);
        Ok(())
    }

    fn submit(&mut self, marks: &[JobMark]) -> MayEnd<()> {
        self.record(Record::Submitting { jobs: marks.to_vec() })?;
        let header = self.header;
        let jobs: Vec<Job<'_>> = marks.iter().map(|mark| self.job(header, *mark)).collect();
        match self.client.submit(&header.run, &jobs) {
            Ok(results) if results.len() == marks.len() => self.submitted(marks, results),
            Ok(results) => {
                let problem = format!("{} answers to {} jobs", results.len(), marks.len());
                self.clarify(marks, CallError::Nonsense(problem))
            }
            Err(CallError::Refused(why)) => self.record(Record::Refused { jobs: marks.to_vec(), why }),
            Err(error) if error.is_undone() => {
                self.record(Record::Absent { jobs: marks.to_vec() })?;
                self.vainly(error)
            }
            Err(error) => self.clarify(marks, error),
        }
    }

    fn job(&self, header: &'a Header, mark: JobMark) -> Job<'a> {
        let opcodes = &header.work.step(mark.step).opcodes;
        if header.joins_opcodes {
            return Job { opcodes, mark, depends: None };
        }
        let before = mark.part.checked_sub(1).map(|part| &self.state.step(mark.step)[part]);
        // one that ended well may have left the queue, where nothing could wait for it
        let depends = before.filter(|part| !part.is_done()).and_then(JobPart::job);
        Job { opcodes: &opcodes[mark.part..=mark.part], mark, depends }
    }

    fn submitted(&mut self, marks: &[JobMark], results: Vec<Result<JobId, CallError>>) -> MayEnd<()> {
        self.vain = 0;
        for (mark, result) in marks.iter().zip(results) {
            match result {
                Ok(job) => self.enter(*mark, job)?,
                Err(why) => self.record(Record::Refused { jobs: vec![*mark], why: why.to_string() })?,
            }
        }
        Ok(())
    }

    /// Takes note of a job that is in the queue.
    pub(super) fn enter(&mut self, mark: JobMark, job: JobId) -> MayEnd<()> {
        self.got.push((mark.step, job));
        self.record(Record::Submitted { mark, job })
    }

    /// Tells of jobs that got their numbers.
    fn announce(&mut self) {
        let Some((first, _)) = self.got.first() else { return };
        let sets = &self.header.work.jobsets;
        let jobset = sets.iter().position(|set| set.contains(first)).map_or(0, |at| at + 1);
        let (steps, jobs) = self.got.drain(..).map(|(step, job)| (step.number(), job)).unzip();
        self.around.event(&Event::Submitted { jobset, steps, jobs });
    }

    /// An attempt to submit came to nothing.
    pub(super) fn vainly(&mut self, error: CallError) -> MayEnd<()> {
        self.vain += 1;
        if self.vain >= SUBMISSIONS {
            return Err(Ending::Lost(error.to_string()));
        }
        self.lost(&error, self.vain);
        Ok(())
    }

    /// Waits until a job is further than before; false if none is under way.
    fn follow(&mut self) -> MayEnd<bool> {
        let watched: Vec<Watched> = self
            .state
            .parts()
            .filter_map(|(_, part)| match part {
                JobPart::Submitted(id, status) => Some(Watched { id: *id, status: *status }),
                _ => None,
            })
            .collect();
        if watched.is_empty() {
            return Ok(false);
        }
        let changes = match self.client.next_change(&watched, CHANGE) {
            Ok(changes) => {
                self.deaf = 0;
                if changes.is_empty() { self.states(&watched)? } else { changes }
            }
            Err(error) => {
                self.deaf += 1;
                self.lost(&error, self.deaf);
                self.states(&watched)?
            }
        };
        for (id, state) in changes {
            self.take(id, state)?;
        }
        Ok(true)
    }

    fn states(&mut self, watched: &[Watched]) -> MayEnd<Vec<(JobId, JobState)>> {
        let ids: Vec<JobId> = watched.iter().map(|job| job.id).collect();
        let states = self.persist(|client| {
            let states = client.states(&ids)?;
            let wrong = || CallError::Nonsense(format!("{} states of {} jobs", states.len(), ids.len()));
            if states.len() == ids.len() { Ok(states) } else { Err(wrong()) }
        })?;
        Ok(ids.into_iter().zip(states).collect())
    }

    /// Takes note of what Ganeti says about a job.
    fn take(&mut self, id: JobId, state: JobState) -> MayEnd<()> {
        let Some(mark) = self.state.find(id) else { return Ok(()) };
        let Some(JobPart::Submitted(_, before)) = self.state.part(mark) else { return Ok(()) };
        let before = *before;
        let state = self.verified(mark, id, state)?;
        match state.status {
            None => self.record(Record::Gone { mark, job: id })?,
            Some(status) if status.is_final() => {
                self.record(Record::Ended { mark, job: id, status, message: state.message })?;
            }
            Some(status) if status == before => return Ok(()),
            Some(status) => self.state.note(mark, status),
        }
        let (step, title) = (mark.step.number(), self.header.work.step(mark.step).title());
        if let Some(status) = state.status {
            self.around.event(&Event::Status { step, title, job: id, status });
        }
        self.tell_of_end(mark.step);
        Ok(())
    }

    /// The state of a job that seems to have ended well; where that does not mean that what it
    /// was for was done, as its results say.
    fn verified(&mut self, mark: JobMark, id: JobId, state: JobState) -> MayEnd<JobState> {
        let is_doubtful = matches!(self.task(mark), Task::PowerOn | Task::PowerOff);
        if state.status != Some(JobStatus::Success) || !is_doubtful {
            return Ok(state);
        }
        let found = self.states(&[Watched { id, status: JobStatus::Success }])?;
        // a job that has left the queue meanwhile has nothing more to say
        let known = found.into_iter().map(|(_, found)| found).find(|found| found.status.is_some());
        Ok(known.unwrap_or(state))
    }

    /// Tells of a step that came to its end, if it did.
    fn tell_of_end(&mut self, step: StepIdx) {
        let StepReport { state, message, .. } = StepReport::of(self.state.step(step));
        if matches!(state, StepState::Done | StepState::Failed | StepState::Unknown) {
            let title = self.header.work.step(step).title();
            self.around.event(&Event::StepEnded { step: step.number(), title, state, message });
        }
    }

    /// Asks until there is an answer, but not for ever.
    pub(super) fn persist<T>(
        &mut self,
        mut ask: impl FnMut(&mut dyn JobClient) -> Result<T, CallError>,
    ) -> MayEnd<T> {
        let mut attempt = 0;
        loop {
            match ask(self.client) {
                Ok(answer) => {
                    if attempt > 0 {
                        self.around.event(&Event::ConnectionBack);
                    }
                    return Ok(answer);
                }
                Err(error) => {
                    attempt += 1;
                    if attempt >= ATTEMPTS {
                        return Err(Ending::Lost(error.to_string()));
                    }
                    self.lost(&error, attempt);
                }
            }
        }
    }

    /// Something is wrong with the connection: says so, and pauses, longer each time.
    fn lost(&mut self, error: &CallError, attempt: u32) {
        let pause = Duration::from_secs(1 << attempt.saturating_sub(1).min(4));
        self.around.event(&Event::ConnectionLost { problem: error.to_string(), attempt, pause });
        self.around.pause(pause);
    }

    /// Changes the state as a record says, and writes the record. What cannot be so is
    /// not written.
    pub(super) fn record(&mut self, record: Record) -> MayEnd<()> {
        self.state.apply(&record).map_err(|error| Ending::Contradiction(error.to_string()))?;
        self.journal.write(&record).map_err(|error| Ending::Unrecorded(error.to_string()))
    }

    fn ending(&self) -> Ending {
        let steps = || self.state.steps();
        if steps().any(|step| self.state.has_failed(step)) {
            Ending::Failed
        } else if steps().all(|step| self.state.is_done(step)) {
            Ending::Done
        } else {
            Ending::Interrupted
        }
    }

    fn close(&mut self, ending: Ending) -> Report {
        self.announce();
        if !matches!(ending, Ending::Unrecorded(_)) {
            // the run is over either way
            let _ = self.record(Record::Closed { at: self.millis(), ending: ending.word().to_owned() });
        }
        let report = Report::of(ending, &self.state);
        use StepState::*;
        let (done, failed) = (report.count(&[Done]), report.count(&[Failed]));
        let running = report.count(&[Running, Begun, Unknown]);
        let not_started = report.count(&[NotStarted]);
        let ending = report.ending.clone();
        self.around.event(&Event::Ended { ending, done, failed, running, not_started });
        report
    }

    pub(super) fn millis(&self) -> u64 {
        let time = self.around.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    }
}
