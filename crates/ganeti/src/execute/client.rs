//! Interface to a cluster, as far as the execution of plans needs it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::job::{Job, JobId, JobMark, JobState, RunInfo, WatchedJob};
use crate::remote::CallError;
use htools_plan::arrival::NodeFlags;
use htools_plan::opcode::Opcode;

/// Identity of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterId {
    /// Its name, for people.
    pub name: String,
    /// Its UUID.
    pub uuid: String,
}

/// Present state of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceNow {
    /// All its tags.
    pub tags: Vec<String>,
    /// Full names of its nodes: the primary one, then others.
    pub nodes: Vec<String>,
    /// True if it should run.
    pub should_run: bool,
}

/// Job in Ganeti's queue that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenJob {
    /// Its number.
    pub id: JobId,
    /// Its opcodes: the names of their kinds, such as `OP_INSTANCE_MIGRATE`, each with the instance or node that it is
    /// about, if it names one.
    pub operations: Vec<(String, Option<String>)>,
}

impl OpenJob {
    /// A job with these opcodes, as Ganeti shows them. Other values have no operations.
    pub(super) fn of(id: JobId, ops: &Value) -> OpenJob {
        let operation = |op: &Value| {
            let text = |key: &str| op.get(key).and_then(Value::as_str).map(str::to_owned);
            Some((text("OP_ID")?, text("instance_name").or_else(|| text("node_name"))))
        };
        OpenJob { id, operations: ops.as_array().into_iter().flatten().filter_map(operation).collect() }
    }
}

/// Client that submits jobs to Ganeti and follows them. Every call may fail; the next call then opens a new connection.
pub trait JobClient {
    /// Identity of the cluster.
    fn cluster(&mut self) -> Result<ClusterId, CallError>;

    /// Tells if a job can have several opcodes; otherwise a step becomes a chain of jobs.
    fn joins_opcodes(&self) -> bool;

    /// Submits jobs in one call. Returns a result for each of them, in order.
    ///
    /// # Errors
    /// If no job was submitted, or if that is unknown.
    fn submit(&mut self, run: &RunInfo, jobs: &[Job<'_>])
    -> Result<Vec<Result<JobId, CallError>>, CallError>;

    /// The newest job in the queue. A run that begins now has only later jobs.
    fn newest(&mut self) -> Result<JobId, CallError>;

    /// The jobs in the queue that have not ended, the oldest first, whoever submitted them.
    fn open_jobs(&mut self) -> Result<Vec<OpenJob>, CallError>;

    /// States of jobs, in order.
    fn states(&mut self, ids: &[JobId]) -> Result<Vec<JobState>, CallError>;

    /// Waits at most `at_most` for one of the jobs to change. The answer may be incomplete, and empty.
    fn next_change(
        &mut self,
        jobs: &[WatchedJob],
        at_most: Duration,
    ) -> Result<Vec<(JobId, JobState)>, CallError>;

    /// The jobs of a run among those after `after`, archived ones included.
    fn jobs_of(&mut self, run: &RunInfo, after: JobId) -> Result<Vec<(JobId, JobMark)>, CallError>;

    /// The instances that have this node as primary or secondary at present. The list is empty only if the node
    /// certainly holds none.
    fn instances_on(&mut self, node: &str) -> Result<Vec<String>, CallError>;

    /// The instances that have this node as primary, except those that certainly do not run.
    fn running_on(&mut self, node: &str) -> Result<Vec<String>, CallError>;

    /// Boot IDs of nodes, in order: each is new after every boot of the node. `None` for a node that does not answer
    /// Ganeti, or that is offline.
    fn boot_ids(&mut self, nodes: &[&str]) -> Result<Vec<Option<String>>, CallError>;

    /// Full names of the nodes that could become the master, without the master itself.
    fn master_candidates(&mut self) -> Result<Vec<String>, CallError>;

    /// Full name of the master node.
    fn master(&mut self) -> Result<String, CallError>;

    /// Present flags of a node.
    fn node_flags(&mut self, node: &str) -> Result<NodeFlags, CallError>;

    /// Present state of an instance, to be checked before it is changed.
    fn instance_now(&mut self, instance: &str) -> Result<InstanceNow, CallError>;

    /// Results of the opcodes of a successful job; empty if Ganeti does not know the job, or no longer.
    fn results(&mut self, id: JobId) -> Result<Vec<Value>, CallError>;

    /// The opcode at a position in a job; null if there is none.
    fn opcode(&mut self, id: JobId, position: usize) -> Result<Value, CallError>;

    /// Cancels a job that has not begun. It may begin all the same.
    fn cancel(&mut self, id: JobId) -> Result<(), CallError>;

    /// Submits a dry run of a job.
    fn try_out(&mut self, run: &RunInfo, opcode: &Opcode) -> Result<JobId, CallError>;
}
