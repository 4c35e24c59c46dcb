//! A cluster that does not exist, for tests of repairs: the tags of one instance, and a queue in which every repair fails.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::TAGS;
use crate::execute::client::{ClusterId, InstanceNow, JobClient};
use crate::execute::job::{Job, JobId, JobMark, JobState, JobStatus, RunInfo, Watched};
use crate::remote::CallError;
use htools_plan::arrival::NodeFlags;
use htools_plan::graph::StepIdx;
use htools_plan::opcode::Opcode;

struct QueuedJob {
    comment: String,
    opcodes: Vec<Opcode>,
    ends: JobStatus,
    depends: Option<JobId>,
    status: JobStatus,
}

pub(super) struct World {
    joins: bool,
    pub(super) tags: BTreeSet<String>,
    jobs: Vec<QueuedJob>,
}

impl World {
    pub(super) fn new(joins: bool) -> World {
        World { joins, tags: BTreeSet::from(["mine".to_owned()]), jobs: Vec::new() }
    }

    pub(super) fn advance(&mut self) {
        for at in 0..self.jobs.len() {
            let job = &self.jobs[at];
            if job.status.is_final() {
                continue;
            }
            let before = job.depends.map(|JobId(id)| self.jobs[usize::try_from(id).unwrap() - 1].status);
            let status = match before {
                Some(JobStatus::Success) | None => job.ends,
                Some(status) if status.is_final() => JobStatus::Error,
                Some(_) => continue,
            };
            if status == JobStatus::Success {
                for opcode in &job.opcodes {
                    match opcode {
                        Opcode::TagsSet { tags, .. } => self.tags.extend(tags.iter().cloned()),
                        Opcode::TagsDel { tags, .. } => self.tags.retain(|tag| !tags.contains(tag)),
                        _ => {}
                    }
                }
            }
            self.jobs[at].status = status;
        }
    }

    fn enter(&mut self, run: &RunInfo, job: &Job<'_>) -> JobId {
        let is_tags = job.mark.step == StepIdx::new(TAGS);
        self.jobs.push(QueuedJob {
            comment: run.comment(job.mark),
            opcodes: job.opcodes.to_vec(),
            ends: if is_tags { JobStatus::Success } else { JobStatus::Error },
            depends: job.depends,
            status: JobStatus::Queued,
        });
        JobId(self.jobs.len() as u64)
    }

    fn state(&self, JobId(id): JobId) -> JobState {
        let job = usize::try_from(id).ok().and_then(|id| self.jobs.get(id.checked_sub(1)?));
        let status = job.map(|job| job.status);
        let has_failed = status == Some(JobStatus::Error);
        let message = has_failed.then(|| "it broke".to_owned());
        // the last one of a repair
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
        Ok(jobs.iter().map(|job| Ok(self.enter(run, job))).collect())
    }

    fn newest(&mut self) -> Result<JobId, CallError> {
        Ok(JobId(self.jobs.len() as u64))
    }

    fn states(&mut self, ids: &[JobId]) -> Result<Vec<JobState>, CallError> {
        self.advance();
        Ok(ids.iter().map(|id| self.state(*id)).collect())
    }

    fn next_change(&mut self, jobs: &[Watched], _: Duration) -> Result<Vec<(JobId, JobState)>, CallError> {
        self.advance();
        Ok(jobs.iter().map(|job| (job.id, self.state(job.id))).collect())
    }

    fn jobs_of(&mut self, run: &RunInfo, _: JobId) -> Result<Vec<(JobId, JobMark)>, CallError> {
        let jobs = (1..).map(JobId).zip(&self.jobs);
        Ok(jobs.filter_map(|(id, job)| Some((id, run.mark(&job.comment)?))).collect())
    }

    fn instances_on(&mut self, _: &str) -> Result<Vec<String>, CallError> {
        Ok(Vec::new())
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
