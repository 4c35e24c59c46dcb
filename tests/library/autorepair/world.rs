//! A simulated cluster for tests of repairs: one broken instance, its tags, and a job queue.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use htools::execute::job::{Job, JobId, JobMark, JobState, JobStatus, RunInfo, WatchedJob};
use htools::execute::{ClusterId, Event, InstanceNow, JobClient, NodeTaskError, OpenJob, RunHost};
use htools::model::known_tags::AUTOREPAIR;
use htools::plan::arrival::NodeFlags;
use htools::plan::graph::StepIdx;
use htools::plan::opcode::Opcode;
use htools::plan::work::WorkStep;
use htools::remote::CallError;
use serde_json::Value;

/// Step number of the jobs that write tags.
const TAGS: usize = 0;

/// Payload of the panic that stands for a killed run.
pub struct Killed;

/// A host with a clock that only the test advances.
#[derive(Default)]
pub struct Clock {
    /// In seconds since 1970.
    pub clock: Rc<Cell<u64>>,
}

impl RunHost for Clock {
    fn event(&mut self, _: &Event) {}

    fn wants_to_stop(&self) -> bool {
        false
    }

    fn perform(&mut self, _: &mut dyn JobClient, _: &RunInfo, _: &WorkStep) -> Result<(), NodeTaskError> {
        unreachable!("jobs do all of it")
    }

    fn pause(&mut self, time: Duration) {
        self.clock.set(self.clock.get() + time.as_secs());
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.clock.get())
    }
}

/// Fate of a job: the number of polls during which it runs, its final status, and true if it repairs the instance.
pub type Fate = (usize, JobStatus, bool);

/// Fate of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    KilledBefore,
    KilledAfter,
    /// It is executed, and the answer is lost.
    Lost,
    /// It does not arrive.
    NotSent,
}

#[derive(Debug, Clone)]
pub struct QueuedJob {
    pub comment: String,
    pub opcodes: Vec<Opcode>,
    /// Remaining polls during which it runs.
    pub looks: usize,
    pub ends: JobStatus,
    pub mends: bool,
    pub depends: Option<JobId>,
    pub status: JobStatus,
}

/// One broken instance, its tags, and a queue.
pub struct World {
    pub joins: bool,
    pub tags: BTreeSet<String>,
    pub broken: bool,
    pub jobs: Vec<QueuedJob>,
    pub clock: Rc<Cell<u64>>,
    /// Fates of the repair jobs, in order; further jobs succeed.
    pub fates: Vec<Fate>,
    /// Permission, as a cluster tag, and the number of failures after which a repair is given up.
    pub permits: &'static str,
    pub most_failures: u32,
    /// Fates of calls, by the number of earlier calls.
    pub turns: Vec<(usize, Turn)>,
    pub calls: usize,
    /// Broken rules.
    pub wrong: Vec<String>,
}

impl World {
    pub fn is_repair(job: &QueuedJob) -> bool {
        !job.opcodes.iter().any(|o| matches!(o, Opcode::TagsSet { .. } | Opcode::TagsDel { .. }))
    }

    pub fn advance(&mut self) {
        self.clock.set(self.clock.get() + 1);
        for at in 0..self.jobs.len() {
            let job = self.jobs[at].clone();
            if job.status.is_final() {
                continue;
            }
            let before = job.depends.map(|JobId(id)| self.jobs[usize::try_from(id).unwrap() - 1].status);
            match before {
                Some(JobStatus::Success) | None if job.looks > 0 => self.jobs[at].looks -= 1,
                Some(JobStatus::Success) | None => {
                    self.jobs[at].status = job.ends;
                    if job.ends == JobStatus::Success {
                        self.carry_out(&job);
                    }
                }
                Some(status) if status.is_final() => self.jobs[at].status = JobStatus::Error,
                Some(_) => {}
            }
        }
    }

    fn carry_out(&mut self, job: &QueuedJob) {
        for opcode in &job.opcodes {
            match opcode {
                Opcode::TagsSet { tags, .. } => self.tags.extend(tags.iter().cloned()),
                Opcode::TagsDel { tags, .. } => self.tags.retain(|tag| !tags.contains(tag)),
                // The last opcode of a repair.
                Opcode::Startup { .. } if job.mends => self.broken = false,
                _ => {}
            }
        }
    }

    fn call<T>(&mut self, done: impl FnOnce(&mut World) -> T) -> Result<T, CallError> {
        let turn = self.turns.iter().find(|(at, _)| *at == self.calls).map(|(_, turn)| *turn);
        self.calls += 1;
        match turn {
            Some(Turn::NotSent) => return Err(CallError::NotSent("no".to_owned())),
            Some(Turn::KilledBefore) => std::panic::resume_unwind(Box::new(Killed)),
            _ => {}
        }
        let answer = done(self);
        match turn {
            Some(Turn::KilledAfter) => std::panic::resume_unwind(Box::new(Killed)),
            Some(Turn::Lost) => Err(CallError::Nonsense("lost".to_owned())),
            _ => Ok(answer),
        }
    }

    fn enter(&mut self, run: &RunInfo, job: &Job<'_>) -> JobId {
        let comment = run.comment(job.mark);
        let is_tags = job.mark.step == StepIdx::new(TAGS);
        let (looks, ends, mends) = match is_tags || self.fates.is_empty() {
            true => (0, JobStatus::Success, true),
            false => self.fates.remove(0),
        };
        if !is_tags {
            let id = run.comment.split(' ').nth(2).unwrap();
            let announced = format!(":{id}:");
            if !self.tags.iter().any(|tag| is_pending(tag) && tag.contains(&announced)) {
                self.wrong.push(format!("{comment}: no tag says so"));
            }
            if self.tags.contains(&suspend()) {
                self.wrong.push(format!("{comment}: while that is suspended"));
            }
            let run_of = |comment: &str| comment.split(", step").next().unwrap().to_owned();
            let chained = |other: &QueuedJob| run_of(&other.comment) == run_of(&comment);
            let open = |other: &&QueuedJob| World::is_repair(other) && !other.status.is_final();
            if let Some(other) = self.jobs.iter().filter(open).find(|other| !chained(other)) {
                self.wrong.push(format!("{comment}: while {} is under way", other.comment));
            }
        }
        let (opcodes, depends) = (job.opcodes.to_vec(), job.depends);
        self.jobs.push(QueuedJob {
            comment,
            opcodes,
            looks,
            ends,
            mends,
            depends,
            status: JobStatus::Queued,
        });
        JobId(self.jobs.len() as u64)
    }

    fn state(&self, JobId(id): JobId) -> JobState {
        let job = usize::try_from(id).ok().and_then(|id| self.jobs.get(id.checked_sub(1)?));
        let status = job.map(|job| job.status);
        let has_failed = status == Some(JobStatus::Error);
        let message = has_failed.then(|| "it broke".to_owned());
        // The last opcode of a repair.
        let failed_opcode = job.filter(|_| has_failed).map(|job| job.opcodes.len() - 1);
        JobState { status, message, failed_opcode, is_passing: false }
    }
}

impl JobClient for World {
    fn cluster(&mut self) -> Result<ClusterId, CallError> {
        Ok(ClusterId { name: "w".into(), uuid: "w".into() })
    }

    fn joins_opcodes(&self) -> bool {
        self.joins
    }

    fn submit(
        &mut self,
        run: &RunInfo,
        jobs: &[Job<'_>],
    ) -> Result<Vec<Result<JobId, CallError>>, CallError> {
        self.call(|world| jobs.iter().map(|job| Ok(world.enter(run, job))).collect())
    }

    fn newest(&mut self) -> Result<JobId, CallError> {
        Ok(JobId(self.jobs.len() as u64))
    }

    fn open_jobs(&mut self) -> Result<Vec<OpenJob>, CallError> {
        Ok(Vec::new())
    }

    fn states(&mut self, ids: &[JobId]) -> Result<Vec<JobState>, CallError> {
        self.advance();
        self.call(|world| ids.iter().map(|id| world.state(*id)).collect())
    }

    fn next_change(&mut self, jobs: &[WatchedJob], _: Duration) -> Result<Vec<(JobId, JobState)>, CallError> {
        self.advance();
        self.call(|world| jobs.iter().map(|job| (job.id, world.state(job.id))).collect())
    }

    fn jobs_of(&mut self, run: &RunInfo, _: JobId) -> Result<Vec<(JobId, JobMark)>, CallError> {
        self.call(|world| {
            let jobs = (1..).map(JobId).zip(&world.jobs);
            jobs.filter_map(|(id, job)| Some((id, run.mark(&job.comment)?))).collect()
        })
    }

    fn instances_on(&mut self, _: &str) -> Result<Vec<String>, CallError> {
        Ok(Vec::new())
    }

    fn running_on(&mut self, _: &str) -> Result<Vec<String>, CallError> {
        Ok(Vec::new())
    }

    fn boot_ids(&mut self, nodes: &[&str]) -> Result<Vec<Option<String>>, CallError> {
        Ok(vec![None; nodes.len()])
    }

    fn master_candidates(&mut self) -> Result<Vec<String>, CallError> {
        Ok(Vec::new())
    }

    fn master(&mut self) -> Result<String, CallError> {
        Ok("m".to_owned())
    }

    fn node_flags(&mut self, _: &str) -> Result<NodeFlags, CallError> {
        Ok(NodeFlags::default())
    }

    fn instance_now(&mut self, _: &str) -> Result<InstanceNow, CallError> {
        Err(CallError::NotSent("never".to_owned()))
    }

    fn results(&mut self, _: JobId) -> Result<Vec<Value>, CallError> {
        Ok(Vec::new())
    }

    fn opcode(&mut self, JobId(id): JobId, position: usize) -> Result<Value, CallError> {
        let job = &self.jobs[usize::try_from(id).unwrap() - 1];
        Ok(serde_json::to_value(&job.opcodes[position]).unwrap())
    }

    fn cancel(&mut self, _: JobId) -> Result<(), CallError> {
        Ok(())
    }

    fn try_out(&mut self, _: &RunInfo, _: &Opcode) -> Result<JobId, CallError> {
        Err(CallError::NotSent("never".to_owned()))
    }
}

pub fn world(joins: bool, fates: Vec<Fate>, clock: &Rc<Cell<u64>>) -> World {
    World {
        joins,
        tags: BTreeSet::from(["mine".to_owned()]),
        broken: true,
        jobs: Vec::new(),
        clock: Rc::clone(clock),
        fates,
        permits: "failover",
        most_failures: 1,
        turns: Vec::new(),
        calls: 0,
        wrong: Vec::new(),
    }
}

pub fn suspend() -> String {
    format!("{AUTOREPAIR}suspend")
}

pub fn is_pending(tag: &str) -> bool {
    tag.contains(":pending:")
}
