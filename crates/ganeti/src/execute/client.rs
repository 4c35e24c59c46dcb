//! The part of a cluster that carrying out a plan needs.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::job::{Job, JobId, JobMark, JobState, RunInfo, Watched};
use crate::remote::CallError;
use htools_plan::arrival::NodeFlags;
use htools_plan::opcode::Opcode;

/// Which cluster it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterId {
    /// Its name, for people.
    pub name: String,
    /// Its UUID.
    pub uuid: String,
}

/// State of an instance, as the cluster has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceNow {
    /// All its tags.
    pub tags: Vec<String>,
    /// Full names of its nodes: the primary one, then others.
    pub nodes: Vec<String>,
    /// True if it should run.
    pub should_run: bool,
}

/// A way to give jobs to Ganeti and to follow them. Every call may fail; the next one
/// begins with a new connection then.
pub trait JobClient {
    /// Which cluster this is.
    fn cluster(&mut self) -> Result<ClusterId, CallError>;

    /// Tells if a job can have several opcodes; otherwise a step becomes a chain of jobs.
    fn joins_opcodes(&self) -> bool;

    /// Submits jobs in one call; a result for each of them, in order.
    ///
    /// # Errors
    /// Why none of them was submitted, or why it is unknown.
    fn submit(&mut self, run: &RunInfo, jobs: &[Job<'_>])
    -> Result<Vec<Result<JobId, CallError>>, CallError>;

    /// The newest job that there is: those of a run that begins now come after it.
    fn newest(&mut self) -> Result<JobId, CallError>;

    /// States of jobs, in order.
    fn states(&mut self, ids: &[JobId]) -> Result<Vec<JobState>, CallError>;

    /// Waits until one of the jobs is no longer as it was, at most so long. What it
    /// gives may be incomplete, and empty.
    fn next_change(
        &mut self,
        jobs: &[Watched],
        at_most: Duration,
    ) -> Result<Vec<(JobId, JobState)>, CallError>;

    /// The jobs of a run among those after `after`, archived ones included.
    fn jobs_of(&mut self, run: &RunInfo, after: JobId) -> Result<Vec<(JobId, JobMark)>, CallError>;

    /// The instances that have this node as primary or secondary, by what the cluster
    /// says now; an empty list only if it surely holds none.
    fn instances_on(&mut self, node: &str) -> Result<Vec<String>, CallError>;

    /// The flags of a node, by what the cluster says now.
    fn node_flags(&mut self, node: &str) -> Result<NodeFlags, CallError>;

    /// Facts about an instance that count before it is changed, as the cluster has them now.
    fn instance_now(&mut self, instance: &str) -> Result<InstanceNow, CallError>;

    /// Results of the opcodes of a job that ended well; none if Ganeti does not know the job (any more).
    fn results(&mut self, id: JobId) -> Result<Vec<Value>, CallError>;

    /// An opcode of a job, by its position there; null if there is none.
    fn opcode(&mut self, id: JobId, position: usize) -> Result<Value, CallError>;

    /// Takes a job back that has not begun. It may have begun all the same.
    fn cancel(&mut self, id: JobId) -> Result<(), CallError>;

    /// Submits a job that only finds out whether it could be done.
    fn try_out(&mut self, run: &RunInfo, opcode: &Opcode) -> Result<JobId, CallError>;
}
