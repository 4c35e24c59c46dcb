//! The walk over a plan: no step begins before those that it depends on, and none is done twice.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::{Duration, UNIX_EPOCH};

use super::client::JobClient;
use super::course::{AwaitedNode, NodeWorkUnderWay, RunTerms, Streaming};
use super::events::Event;
use super::host::RunHost;
use super::job::{Job, JobId, JobMark, JobState, JobStatus, WatchedJob};
use super::journal::{Header, Journal, OnFailure, Record};
use super::nodes;
use super::report::{Ending, Report, StepReport, StepState};
use super::state::{JobPart, State};
use crate::remote::CallError;
use htools_plan::graph::StepIdx;
use htools_plan::work::Task;

/// Maximum wait for a change before Ganeti is asked in any case.
const CHANGE: Duration = Duration::from_secs(60);
/// The shortest wait.
const TICK: Duration = Duration::from_secs(1);

/// A run in progress.
pub struct Runner<'a> {
    pub(super) client: &'a mut dyn JobClient,
    pub(super) host: &'a mut dyn RunHost,
    pub(super) header: &'a Header,
    journal: Journal,
    pub(super) state: State,
    /// True if no new step may begin.
    pub(super) stopping: bool,
    pub(super) terms: RunTerms,
    pub(super) streaming: Streaming,
    /// Nodes that are booting.
    pub(super) awaited: Vec<AwaitedNode>,
    /// Steps of a maintenance under way.
    pub(super) working: Vec<NodeWorkUnderWay>,
    /// In a maintenance, the steps that do not begin once it stops.
    pub(super) disrupting: HashSet<StepIdx>,
    /// Positions of the steps that are to be done: all, or those of one batch of a maintenance.
    pub(super) part: Range<usize>,
    /// Times at which jobs were first seen running, in milliseconds since 1970.
    running_since: HashMap<JobId, u64>,
    /// Jobs of an earlier program that this one has not checked yet.
    pub(super) inherited: HashSet<JobId>,
    /// Failed attempts to submit since the last success.
    pub(super) failed_submissions: u32,
    /// Failed attempts to wait since the last success.
    failed_waits: u32,
    /// Jobs that have numbers but were not announced yet, with their steps.
    got: Vec<(StepIdx, JobId)>,
}

/// Result of an operation that may end the run.
pub(super) type MayEnd<T> = Result<T, Ending>;

impl<'a> Runner<'a> {
    /// A run with a new journal, or one that was read.
    pub fn new(
        client: &'a mut dyn JobClient,
        host: &'a mut dyn RunHost,
        header: &'a Header,
        journal: Journal,
        state: State,
    ) -> Runner<'a> {
        let terms = RunTerms::default();
        let streaming = Streaming::of(&header.work, header.stream.as_ref(), &terms);
        let disrupting = match header.maintenance {
            Some(_) => header.work.leading_to_disruption(),
            None => HashSet::new(),
        };
        Runner {
            client,
            host,
            header,
            journal,
            state,
            stopping: false,
            terms,
            streaming,
            awaited: Vec::new(),
            working: Vec::new(),
            disrupting,
            part: 0..header.work.steps.len(),
            running_since: HashMap::new(),
            inherited: HashSet::new(),
            failed_submissions: 0,
            failed_waits: 0,
            got: Vec::new(),
        }
    }

    /// Sets the parameters of the run; to be called before it begins.
    #[must_use]
    pub fn with(self, terms: RunTerms) -> Runner<'a> {
        let streaming = Streaming::of(&self.header.work, self.header.stream.as_ref(), &terms);
        Runner { streaming, terms, ..self }
    }

    /// Limits the run to one batch of a maintenance; to be called before it begins.
    #[must_use]
    pub(super) fn part(self, part: Range<usize>) -> Runner<'a> {
        Runner { part, ..self }
    }

    /// The steps that are to be done.
    pub(super) fn wanted(&self) -> impl Iterator<Item = StepIdx> + use<> {
        self.part.clone().map(StepIdx::new)
    }

    /// Executes the plan as far as possible.
    pub fn walk(&mut self) -> Report {
        let ending = self.finish(Runner::free_steps).map_or_else(|ending| ending, |()| self.ending());
        self.close(ending)
    }

    /// Finishes the steps that have begun, and begins no other. Returns `None` if all is well and the run can go on, or
    /// else the final report.
    pub fn settle(&mut self) -> Option<Report> {
        let begun = |runner: &mut Runner<'a>| {
            let steps = runner.state.steps();
            steps.filter(|step| runner.state.has_begun(*step)).collect()
        };
        let settled = self.reconcile().and_then(|()| self.advance(begun));
        match settled {
            Ok(()) if !self.stopping => None,
            Ok(()) => {
                let ending = self.finish(begun).map_or_else(|ending| ending, |()| self.ending());
                Some(self.close(ending))
            }
            Err(ending) => Some(self.close(ending)),
        }
    }

    /// The journal and the state, for the next part of the run.
    pub(super) fn into_parts(self) -> (Journal, State) {
        (self.journal, self.state)
    }

    /// The steps that were not begun.
    pub fn not_started(&self) -> Vec<StepIdx> {
        self.state.steps().filter(|step| !self.state.has_begun(*step)).collect()
    }

    /// Ends the run before anything else begins.
    pub fn abandon(&mut self) -> Report {
        self.stopping = true;
        let ending = self.finish(|_| Vec::new()).map_or_else(|ending| ending, |()| Ending::Interrupted);
        self.close(ending)
    }

    /// Submits the steps that `wanted` returns and follows them, until none are left.
    fn advance(&mut self, wanted: impl Fn(&mut Self) -> Vec<StepIdx>) -> MayEnd<()> {
        loop {
            self.look_for_reasons_to_stop();
            self.look_for_a_pause();
            let mut steps = wanted(self);
            // Steps that have begun are finished in any case.
            steps.retain(|step| self.may_begin(*step) || self.state.has_begun(*step));
            if self.submit_next(&steps)? {
                continue;
            }
            if !self.follow()? && !self.wait_idle() {
                return Ok(());
            }
        }
    }

    /// The same as the last part of a run: it also starts the instances that were stopped.
    fn finish(&mut self, wanted: impl Fn(&mut Self) -> Vec<StepIdx>) -> MayEnd<()> {
        loop {
            self.advance(&wanted)?;
            if !self.start_again()? {
                return Ok(());
            }
        }
    }

    fn look_for_reasons_to_stop(&mut self) {
        if !self.stopping {
            let failed = self.wanted().any(|step| self.state.has_failed(step));
            if failed && self.on_failure() != OnFailure::Continue {
                self.stop("a step failed");
            } else if self.host.wants_to_stop() {
                self.stop("asked to stop");
            }
        }
    }

    fn stop(&mut self, why: &str) {
        self.stopping = true;
        self.host.event(&Event::Stopping { why: why.to_owned() });
    }

    /// Submits the next jobs of these steps; false if there are none.
    fn submit_next(&mut self, steps: &[StepIdx]) -> MayEnd<bool> {
        let mut next: Vec<JobMark> = steps.iter().filter_map(|step| self.next_part(*step)).collect();
        let own = |mark: &&JobMark| self.header.work.step(mark.step).opcodes.is_empty();
        if let Some(mark) = next.iter().find(own).copied() {
            match self.task(mark) {
                Task::Await if self.header.stream.is_some() => self.await_node(mark)?,
                Task::PowerOff if !self.may_power_off(mark)? => {}
                _ if self.header.maintenance.is_some() => self.begin_node_work(mark)?,
                _ => self.perform(mark)?,
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
            // In a chain, each call submits one job.
            next.truncate(1);
        }
        let disrupts = |mark: &JobMark| matches!(self.task(*mark), Task::Reboot | Task::SetOffline);
        if self.header.maintenance.is_some()
            && let Some(mark) = next.iter().find(|mark| disrupts(mark)).copied()
        {
            if !self.may_disrupt(mark)? {
                return Ok(true);
            }
            next = vec![mark];
        }
        if next.is_empty() {
            // One event for each jobset, however many calls it took.
            self.announce();
            return Ok(false);
        }
        self.submit(&next)?;
        Ok(true)
    }

    /// The first job of a step that is not submitted yet; `None` if an earlier job failed or its submission is unclear.
    /// In a chain it may wait for the one before it in Ganeti's queue.
    pub(super) fn next_part(&self, step: StepIdx) -> Option<JobMark> {
        let parts = self.state.step(step);
        let part = parts.iter().position(|part| *part == JobPart::NotStarted)?;
        let fine = |part: &JobPart| matches!(part, JobPart::Submitted(..)) || part.is_done();
        parts[..part].iter().all(fine).then_some(JobMark { step, part })
    }

    pub(super) fn task(&self, mark: JobMark) -> &'a Task {
        &self.header.work.step(mark.step).task
    }

    /// Tells if a node may be powered off: only if the cluster confirms now that it holds no instances. Otherwise the
    /// step fails.
    fn may_power_off(&mut self, mark: JobMark) -> MayEnd<bool> {
        let node = &self.header.work.step(mark.step).subject;
        let Err(why) = nodes::confirm_empty(self.host, self.client, node) else { return Ok(true) };
        self.record(Record::Submitting { jobs: vec![mark] })?;
        self.record(Record::Refused { jobs: vec![mark], why: why.to_string() })?;
        self.tell_of_end(mark.step);
        Ok(false)
    }

    /// Carries out a step for which Ganeti has no job.
    fn perform(&mut self, mark: JobMark) -> MayEnd<()> {
        self.record(Record::Submitting { jobs: vec![mark] })?;
        let step = self.header.work.step(mark.step);
        let record = match self.host.perform(self.client, &self.header.run, step) {
            Ok(()) => Record::Performed { mark, took: None },
            Err(why) => Record::Failed { mark, why: why.to_string() },
        };
        self.record(record)?;
        self.tell_of_end(mark.step);
        Ok(())
    }

    pub(super) fn submit(&mut self, marks: &[JobMark]) -> MayEnd<()> {
        self.record(Record::Submitting { jobs: marks.to_vec() })?;
        let header = self.header;
        let jobs: Vec<Job<'_>> = marks.iter().map(|mark| self.job(header, *mark)).collect();
        match self.client.submit(&header.run, &jobs) {
            Ok(results) if results.len() == marks.len() => self.submitted(marks, results),
            Ok(results) => {
                let problem = format!("{} answers to {} jobs", results.len(), marks.len());
                self.clarify(marks, CallError::Nonsense(problem))
            }
            Err(CallError::Refused(why) | CallError::NoLogin(why)) => {
                self.record(Record::Refused { jobs: marks.to_vec(), why })
            }
            Err(error) if error.is_undone() => {
                self.record(Record::Absent { jobs: marks.to_vec() })?;
                self.submission_failed(error)
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
        // A successful job may have left the queue, and then nothing could depend on it.
        let depends = before.filter(|part| !part.is_done()).and_then(JobPart::job);
        Job { opcodes: &opcodes[mark.part..=mark.part], mark, depends }
    }

    fn submitted(&mut self, marks: &[JobMark], results: Vec<Result<JobId, CallError>>) -> MayEnd<()> {
        self.failed_submissions = 0;
        for (mark, result) in marks.iter().zip(results) {
            match result {
                Ok(job) => self.enter(*mark, job)?,
                Err(why) => self.record(Record::Refused { jobs: vec![*mark], why: why.to_string() })?,
            }
        }
        Ok(())
    }

    /// Records that a job is in the queue.
    pub(super) fn enter(&mut self, mark: JobMark, job: JobId) -> MayEnd<()> {
        self.got.push((mark.step, job));
        self.record(Record::Submitted { mark, job })
    }

    /// Announces jobs that have got their numbers.
    fn announce(&mut self) {
        let Some((first, _)) = self.got.first() else { return };
        let sets = &self.header.work.jobsets;
        let jobset = sets.iter().position(|set| set.contains(first)).map_or(0, |at| at + 1);
        let (steps, jobs) = self.got.drain(..).map(|(step, job)| (step.number(), job)).unzip();
        self.host.event(&Event::Submitted { jobset, steps, jobs });
    }

    /// Waits until a job makes progress; false if none is under way.
    fn follow(&mut self) -> MayEnd<bool> {
        let mut watched: Vec<WatchedJob> = self.state.under_way().collect();
        self.try_nodes()?;
        watched.extend(self.trials());
        if self.look_at_node_work()? {
            // Other steps may begin now.
            return Ok(true);
        }
        let due = self.next_trial().into_iter().chain(self.next_look()).min();
        if watched.is_empty() {
            due.into_iter().for_each(|time| self.host.pause(time.max(TICK)));
            return Ok(due.is_some());
        }
        let at_most = due.unwrap_or(CHANGE).min(self.streaming.patience(CHANGE)).max(TICK);
        let changes = match self.client.next_change(&watched, at_most) {
            Ok(changes) => {
                self.failed_waits = 0;
                if changes.is_empty() { self.states(&watched)? } else { changes }
            }
            Err(error) => {
                self.failed_waits += 1;
                self.lost(&error, self.failed_waits);
                self.states(&watched)?
            }
        };
        for (id, state) in changes {
            self.take(id, state)?;
        }
        Ok(true)
    }

    fn states(&mut self, watched: &[WatchedJob]) -> MayEnd<Vec<(JobId, JobState)>> {
        let ids: Vec<JobId> = watched.iter().map(|job| job.id).collect();
        let states = self.persist(|client| {
            let states = client.states(&ids)?;
            let wrong = || CallError::Nonsense(format!("{} states of {} jobs", states.len(), ids.len()));
            if states.len() == ids.len() { Ok(states) } else { Err(wrong()) }
        })?;
        Ok(ids.into_iter().zip(states).collect())
    }

    /// Processes Ganeti's answer about a job.
    fn take(&mut self, id: JobId, state: JobState) -> MayEnd<()> {
        if self.take_trial(id, &state)? {
            return Ok(());
        }
        let Some(mark) = self.state.find(id) else { return Ok(()) };
        let Some(JobPart::Submitted(_, before)) = self.state.part(mark) else { return Ok(()) };
        let before = *before;
        let state = self.verified(mark, id, state)?;
        if state.status.is_some() {
            self.inherited.remove(&id);
        }
        match state.status {
            None => {
                let begun = before == JobStatus::Running || self.inherited.contains(&id);
                self.record(Record::Gone { mark, job: id, begun })?;
            }
            Some(status) if status.is_final() => {
                let took = self.running_since.remove(&id).map(|since| self.millis().saturating_sub(since));
                let JobState { message, failed_opcode, .. } = state.clone();
                self.record(Record::Ended { mark, job: id, status, message, took, failed_opcode })?;
                if self.submit_again(mark, &state)? {
                    return Ok(());
                }
            }
            Some(status) if status == before => return Ok(()),
            Some(status) => {
                if status == JobStatus::Running {
                    let now = self.millis();
                    self.running_since.entry(id).or_insert(now);
                }
                self.state.note(mark, status);
            }
        }
        let (step, title) = (mark.step.number(), self.header.work.step(mark.step).title());
        if let Some(status) = state.status {
            self.host.event(&Event::Status { step, title, job: id, status });
        }
        self.tell_of_end(mark.step);
        Ok(())
    }

    /// The state of a job that succeeded according to its status. For power switching, only the results of the opcodes
    /// tell whether it did.
    fn verified(&mut self, mark: JobMark, id: JobId, state: JobState) -> MayEnd<JobState> {
        let is_doubtful = matches!(self.task(mark), Task::PowerOn | Task::PowerOff | Task::Reboot);
        if state.status != Some(JobStatus::Success) || !is_doubtful {
            return Ok(state);
        }
        let found = self.states(&[WatchedJob { id, status: JobStatus::Success }])?;
        // If the job has left the queue meanwhile, its state stays as it was.
        let known = found.into_iter().map(|(_, found)| found).find(|found| found.status.is_some());
        Ok(known.unwrap_or(state))
    }

    /// Announces the end of a step, if it has ended.
    pub(super) fn tell_of_end(&mut self, step: StepIdx) {
        let StepReport { state, message, cleanup, .. } = self.report_on(step);
        if matches!(state, StepState::Done | StepState::Failed | StepState::Unknown | StepState::Dropped) {
            let title = self.header.work.step(step).title();
            let cleanup = cleanup.iter().map(ToString::to_string).collect();
            self.host.event(&Event::StepEnded { step: step.number(), title, state, message, cleanup });
        }
    }

    fn report_on(&self, step: StepIdx) -> StepReport {
        let report = StepReport::of(self.header.work.step(step), self.state.step(step));
        match self.streaming.dropped.get(&step) {
            Some(cause) => report.dropped(*cause),
            None => report,
        }
    }

    /// Applies a record to the state, then writes it to the journal. A record that contradicts the state is not
    /// written.
    pub(super) fn record(&mut self, record: Record) -> MayEnd<()> {
        self.state.apply(&record).map_err(|error| Ending::Contradiction(error.to_string()))?;
        self.journal.write(&record).map_err(|error| Ending::Unrecorded(error.to_string()))
    }

    fn ending(&self) -> Ending {
        let steps = || self.wanted();
        if steps().any(|step| self.state.has_failed(step)) {
            Ending::Failed
        } else if steps().all(|step| self.state.is_done(step)) {
            Ending::Done
        } else if self.streaming.is_late && !self.stopping {
            Ending::OutOfTime
        } else {
            Ending::Interrupted
        }
    }

    fn close(&mut self, ending: Ending) -> Report {
        self.announce();
        if !matches!(ending, Ending::Unrecorded(_)) {
            // The run is over in any case.
            let _ = self.record(Record::Closed { at: self.millis(), ending: ending.word().to_owned() });
        }
        let report = Report { ending, steps: self.state.steps().map(|step| self.report_on(step)).collect() };
        use StepState::*;
        let (done, failed) = (report.count(&[Done]), report.count(&[Failed]));
        let running = report.count(&[Running, Begun, Unknown]);
        let not_started = report.count(&[NotStarted, Dropped]);
        let ending = report.ending.clone();
        self.host.event(&Event::Ended { ending, done, failed, running, not_started });
        report
    }

    pub(super) fn millis(&self) -> u64 {
        let time = self.host.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    }
}
