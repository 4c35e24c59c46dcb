//! A cluster for tests: a job queue with faults at chosen calls, and an in-memory file for journals.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use super::client::{ClusterId, InstanceNow, JobClient, OpenJob};
use super::events::Event;
use super::host::NodeTaskError;
use super::host::RunHost;
use super::job::{Job, JobId, JobMark, JobState, JobStatus, RunInfo, WatchedJob};
use super::{journal, lines};
use serde_json::Value;

use crate::remote::CallError;
use htools_plan::arrival::NodeFlags;
use htools_plan::graph::StepIdx;
use htools_plan::opcode::Opcode;
use htools_plan::stream::{LimitKey, StreamLimits};
use htools_plan::work::{Task, WorkStep};

// The test kit depends on this crate, so its types are not those of the tests here.
#[path = "../../../testkit/src/paper.rs"]
mod paper;
pub(crate) use paper::Paper;

/// Fault of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallFault {
    /// No fault.
    None,
    /// The request is not sent.
    NotSent,
    /// The request is carried out, but the answer is lost.
    LostAfter,
    /// The request is not carried out, and there is no answer.
    LostBefore,
    /// The request is carried out this many seconds later, and there is no answer.
    Late(u64),
    /// The answer is malformed, whatever was done.
    Nonsense,
    /// The queue is drained and takes no jobs.
    Drained,
    /// The program is killed before the request is sent.
    KilledBefore,
    /// The program is killed after the request was carried out.
    KilledAfter,
}

/// Fate of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Success,
    Error,
    /// Somebody cancels it.
    Canceled,
    Gone,
    /// It fails the first time, for a temporary reason.
    Passing,
}

/// A job in the queue.
#[derive(Debug, Clone)]
pub(crate) struct FakeJob {
    pub id: JobId,
    pub opcodes: Vec<Opcode>,
    pub comment: String,
    pub mark: JobMark,
    pub depends: Option<JobId>,
    pub status: JobStatus,
    fate: Fate,
    /// Number of further looks for which it runs.
    looks: u64,
}

pub(crate) struct FakeCluster {
    pub joins: bool,
    pub jobs: Vec<FakeJob>,
    /// Faults of the next calls, whatever they are.
    pub faults: VecDeque<CallFault>,
    /// Fates of jobs by their marks; other jobs succeed.
    pub fates: Vec<(JobMark, Fate)>,
    /// Jobs that enter the queue later, with the time.
    late: Vec<(u64, FakeJob)>,
    /// Time in seconds, shared with the [`FakeHost`].
    clock: Rc<Cell<u64>>,
    next: u64,
    /// Steps that must be done before the jobs of each step.
    pub needs: Vec<Vec<usize>>,
    /// Steps that must not be under way when the jobs of each step come.
    pub follows: Vec<Vec<usize>>,
    /// Limits of what may be under way at the same time, and the counts that each step belongs to.
    pub limits: StreamLimits,
    pub counted: Vec<BTreeSet<LimitKey>>,
    /// For each step, the number of looks for which its jobs run.
    pub lasts: Vec<u64>,
    /// The number of jobs of each step.
    pub parts: Vec<usize>,
    /// Jobs that were submitted too early, or twice.
    pub broken: Vec<String>,
    /// The instances on every node.
    pub held: Vec<String>,
    /// Time from which nodes answer, in seconds.
    pub answers_from: u64,
    /// Dry runs, and whether they succeed.
    trials: Vec<(JobId, bool)>,
}

/// Panic payload: the program under test was killed.
pub(crate) struct Killed;

impl FakeCluster {
    pub(crate) fn new(joins: bool, clock: &Rc<Cell<u64>>) -> FakeCluster {
        FakeCluster {
            joins,
            jobs: Vec::new(),
            faults: VecDeque::new(),
            fates: Vec::new(),
            late: Vec::new(),
            clock: Rc::clone(clock),
            next: 100,
            needs: Vec::new(),
            follows: Vec::new(),
            limits: StreamLimits::default(),
            counted: Vec::new(),
            lasts: Vec::new(),
            parts: Vec::new(),
            broken: Vec::new(),
            held: Vec::new(),
            answers_from: 0,
            trials: Vec::new(),
        }
    }

    fn is_done(&self, step: usize) -> bool {
        let done =
            |mark: JobMark| self.jobs.iter().any(|job| job.mark == mark && job.status == JobStatus::Success);
        (0..self.parts[step]).all(|part| done(JobMark { step: StepIdx::new(step), part }))
    }

    /// Fault of this call, if the program survives it.
    fn fault(&mut self) -> CallFault {
        self.catch_up();
        match self.faults.pop_front().unwrap_or(CallFault::None) {
            CallFault::KilledBefore => std::panic::resume_unwind(Box::new(Killed)),
            fault => fault,
        }
    }

    /// The answer to a call that only reads.
    fn answer<T>(&mut self, answer: impl FnOnce(&mut Self) -> T) -> Result<T, CallError> {
        match self.fault() {
            CallFault::None | CallFault::Drained => Ok(answer(self)),
            CallFault::NotSent => Err(CallError::NotSent("refused".into())),
            CallFault::LostAfter | CallFault::LostBefore => Err(CallError::Lost("closed".into())),
            CallFault::Late(_) => Err(CallError::Late("late".into())),
            CallFault::Nonsense => Err(CallError::Nonsense("nonsense".into())),
            CallFault::KilledBefore | CallFault::KilledAfter => std::panic::resume_unwind(Box::new(Killed)),
        }
    }

    fn job(&mut self, run: &RunInfo, job: &Job<'_>) -> FakeJob {
        self.next += 1;
        let fate = self.fates.iter().find(|(mark, _)| *mark == job.mark);
        let again = self.jobs.iter().any(|other| other.mark == job.mark);
        let fate = fate.map_or(Fate::Success, |(_, fate)| if again { Fate::Success } else { *fate });
        let looks = self.lasts.get(job.mark.step.get()).copied().unwrap_or(0);
        FakeJob {
            id: JobId(self.next),
            opcodes: job.opcodes.to_vec(),
            comment: run.comment(job.mark),
            mark: job.mark,
            depends: job.depends,
            status: JobStatus::Queued,
            fate,
            looks,
        }
    }

    fn enter(&mut self, job: FakeJob) {
        let is_over = |other: &FakeJob| other.fate == Fate::Passing && other.status == JobStatus::Error;
        if self.jobs.iter().any(|other| other.mark == job.mark && !is_over(other)) {
            self.broken.push(format!("{:?} was submitted twice", job.mark));
        }
        for before in self.needs.get(job.mark.step.get()).into_iter().flatten() {
            if !self.is_done(*before) {
                self.broken.push(format!("{:?} was submitted before step {before} was done", job.mark));
            }
        }
        let step = job.mark.step.get();
        for before in self.follows.get(step).into_iter().flatten().copied() {
            if self.is_under_way(before) {
                self.broken.push(format!("{:?} was submitted while step {before} was under way", job.mark));
            }
        }
        self.jobs.push(job);
        let begun = (0..self.counted.len()).filter(|step| self.is_under_way(*step));
        let mut counts: BTreeMap<&LimitKey, usize> = BTreeMap::new();
        begun.flat_map(|step| &self.counted[step]).for_each(|what| *counts.entry(what).or_default() += 1);
        let most = |what: &LimitKey| self.limits.of(what).unwrap_or(usize::MAX);
        let exceeded = counts.iter().find(|(what, count)| **count > most(what));
        let exceeded = exceeded.map(|(what, count)| format!("{count} of {what:?} under way"));
        self.broken.extend(exceeded);
    }

    /// Tells if a step has begun and has jobs that have not ended or are still to come.
    fn is_under_way(&self, step: usize) -> bool {
        let mut jobs = self.jobs.iter().filter(|job| job.mark.step.get() == step).peekable();
        let failed = |job: &FakeJob| {
            job.status.is_final() && (job.status != JobStatus::Success || job.fate == Fate::Gone)
        };
        jobs.peek().is_some() && !self.is_done(step) && !jobs.any(failed)
    }

    /// Advances every job in the queue.
    fn advance(&mut self) {
        let ended: Vec<(JobId, JobStatus)> = self.jobs.iter().map(|job| (job.id, job.status)).collect();
        let before = |id: JobId| ended.iter().find(|(other, _)| *other == id).map(|(_, status)| *status);
        for job in &mut self.jobs {
            let waits = job.depends.and_then(before);
            job.status = match (job.status, waits) {
                (status, _) if status.is_final() => status,
                (_, Some(status)) if status.is_final() && status != JobStatus::Success => JobStatus::Error,
                (_, Some(status)) if !status.is_final() => JobStatus::Waiting,
                (JobStatus::Queued, _) => JobStatus::Waiting,
                (JobStatus::Waiting, _) => JobStatus::Running,
                _ if job.looks > 0 => {
                    job.looks -= 1;
                    JobStatus::Running
                }
                _ => match job.fate {
                    Fate::Success | Fate::Gone => JobStatus::Success,
                    Fate::Error | Fate::Passing => JobStatus::Error,
                    Fate::Canceled => JobStatus::Canceled,
                },
            };
        }
    }

    /// Enters the jobs that are due.
    fn catch_up(&mut self) {
        let late = std::mem::take(&mut self.late);
        let (due, later): (Vec<_>, Vec<_>) = late.into_iter().partition(|(at, _)| *at <= self.clock.get());
        self.late = later;
        due.into_iter().for_each(|(_, job)| self.enter(job));
    }

    fn state(&self, id: JobId) -> JobState {
        if let Some((_, good)) = self.trials.iter().find(|(trial, _)| *trial == id) {
            let status = if *good { JobStatus::Success } else { JobStatus::Error };
            return JobState {
                status: Some(status),
                message: (!good).then(|| "it broke".to_owned()),
                ..JobState::default()
            };
        }
        let job = self.jobs.iter().find(|job| job.id == id);
        let there = job.filter(|job| !(job.fate == Fate::Gone && job.status.is_final()));
        let status = there.map(|job| job.status);
        let message = (status == Some(JobStatus::Error)).then(|| "it broke".to_owned());
        let is_passing = message.is_some() && job.is_some_and(|job| job.fate == Fate::Passing);
        // Ganeti also reports this for jobs that waited for a failed one.
        let failed_opcode = (message.is_some() && !is_passing).then_some(0);
        JobState { status, message, failed_opcode, is_passing }
    }
}

impl JobClient for FakeCluster {
    fn cluster(&mut self) -> Result<ClusterId, CallError> {
        self.answer(|_| ClusterId { name: "fake".into(), uuid: "f".into() })
    }

    fn joins_opcodes(&self) -> bool {
        self.joins
    }

    fn submit(
        &mut self,
        run: &RunInfo,
        jobs: &[Job<'_>],
    ) -> Result<Vec<Result<JobId, CallError>>, CallError> {
        let fault = self.fault();
        match fault {
            CallFault::NotSent => return Err(CallError::NotSent("refused".into())),
            CallFault::LostBefore => return Err(CallError::Lost("closed".into())),
            CallFault::Drained => return Err(CallError::Refused("the queue is drained".into())),
            _ => {}
        }
        let jobs: Vec<FakeJob> = jobs.iter().map(|job| self.job(run, job)).collect();
        let ids = jobs.iter().map(|job| Ok(job.id)).collect();
        if let CallFault::Late(seconds) = fault {
            let at = self.clock.get() + seconds;
            self.late.extend(jobs.into_iter().map(|job| (at, job)));
            return Err(CallError::Late("late".into()));
        }
        jobs.into_iter().for_each(|job| self.enter(job));
        match fault {
            CallFault::LostAfter => Err(CallError::Lost("closed".into())),
            CallFault::Nonsense => Ok(Vec::new()),
            CallFault::KilledAfter => std::panic::resume_unwind(Box::new(Killed)),
            _ => Ok(ids),
        }
    }

    fn newest(&mut self) -> Result<JobId, CallError> {
        self.answer(|cluster| JobId(cluster.next))
    }

    fn open_jobs(&mut self) -> Result<Vec<OpenJob>, CallError> {
        self.answer(|cluster| {
            let open = cluster.jobs.iter().filter(|job| !job.status.is_final());
            open.map(|job| OpenJob { id: job.id, operations: Vec::new() }).collect()
        })
    }

    fn states(&mut self, ids: &[JobId]) -> Result<Vec<JobState>, CallError> {
        self.answer(|cluster| ids.iter().map(|id| cluster.state(*id)).collect())
    }

    fn next_change(&mut self, jobs: &[WatchedJob], _: Duration) -> Result<Vec<(JobId, JobState)>, CallError> {
        self.clock.set(self.clock.get() + 1);
        self.catch_up();
        self.advance();
        self.answer(|cluster| {
            let changed = |job: &&WatchedJob| cluster.state(job.id).status != Some(job.status);
            let changes = jobs.iter().filter(changed).map(|job| (job.id, cluster.state(job.id)));
            changes.collect()
        })
    }

    fn jobs_of(&mut self, run: &RunInfo, after: JobId) -> Result<Vec<(JobId, JobMark)>, CallError> {
        self.answer(|cluster| {
            let of_run = cluster.jobs.iter().filter(|job| job.id > after);
            of_run.filter_map(|job| Some((job.id, run.mark(&job.comment)?))).collect()
        })
    }

    fn instances_on(&mut self, _: &str) -> Result<Vec<String>, CallError> {
        self.answer(|cluster| cluster.held.clone())
    }

    fn running_on(&mut self, _: &str) -> Result<Vec<String>, CallError> {
        self.answer(|cluster| cluster.held.clone())
    }

    fn boot_ids(&mut self, nodes: &[&str]) -> Result<Vec<Option<String>>, CallError> {
        self.answer(|_| vec![Some("boot".to_owned()); nodes.len()])
    }

    fn master_candidates(&mut self) -> Result<Vec<String>, CallError> {
        self.answer(|_| Vec::new())
    }

    fn master(&mut self) -> Result<String, CallError> {
        self.answer(|_| "master".to_owned())
    }

    fn node_flags(&mut self, _: &str) -> Result<NodeFlags, CallError> {
        self.answer(|_| NodeFlags::default())
    }

    fn instance_now(&mut self, _: &str) -> Result<InstanceNow, CallError> {
        self.answer(|_| InstanceNow { tags: Vec::new(), nodes: Vec::new(), should_run: true })
    }

    fn results(&mut self, _: JobId) -> Result<Vec<Value>, CallError> {
        self.answer(|_| Vec::new())
    }

    fn opcode(&mut self, id: JobId, position: usize) -> Result<Value, CallError> {
        self.answer(|cluster| {
            let job = cluster.jobs.iter().find(|job| job.id == id);
            let opcode = job.and_then(|job| job.opcodes.get(position));
            opcode.map(|opcode| serde_json::to_value(opcode).unwrap()).unwrap_or_default()
        })
    }

    fn cancel(&mut self, _: JobId) -> Result<(), CallError> {
        self.answer(|_| ())
    }

    fn try_out(&mut self, _: &RunInfo, _: &Opcode) -> Result<JobId, CallError> {
        self.answer(|cluster| {
            cluster.next += 1;
            let id = JobId(cluster.next);
            cluster.trials.push((id, cluster.clock.get() >= cluster.answers_from));
            id
        })
    }
}

/// A host whose clock advances by itself.
#[derive(Default)]
pub(crate) struct FakeHost {
    pub events: Vec<Event>,
    /// Number of events after which no new jobs should be submitted.
    pub stop_after: Option<usize>,
    /// Start and end of a period during which new jobs should wait.
    pub paused: Option<(u64, u64)>,
    /// Time in seconds.
    pub clock: Rc<Cell<u64>>,
    /// Steps done without a job.
    pub performed: Vec<String>,
}

impl RunHost for FakeHost {
    fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }

    fn wants_to_stop(&self) -> bool {
        self.stop_after.is_some_and(|count| self.events.len() >= count)
    }

    fn is_paused(&self) -> bool {
        self.paused.is_some_and(|(from, to)| (from..to).contains(&self.clock.get()))
    }

    fn perform(&mut self, _: &mut dyn JobClient, _: &RunInfo, step: &WorkStep) -> Result<(), NodeTaskError> {
        self.performed.push(step.title());
        match step.task {
            Task::ConfirmEmpty => Err(NodeTaskError::Holds("something".to_owned())),
            _ => Ok(()),
        }
    }

    fn pause(&mut self, time: Duration) {
        self.clock.set(self.clock.get() + time.as_secs());
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.clock.get())
    }
}
