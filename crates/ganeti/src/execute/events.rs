//! Events during the execution of a plan, for people and programs.

use std::time::Duration;

use serde::Serialize;

use super::job::{JobId, JobStatus};
use super::report::Ending;
use super::report::StepState;

/// An event. Steps are counted from 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Jobs of these steps are in Ganeti's queue.
    Submitted {
        /// The jobset, from 1.
        jobset: usize,
        /// The steps.
        steps: Vec<usize>,
        /// Their jobs, in the same order; a step may have several.
        jobs: Vec<JobId>,
    },
    /// A job has made progress.
    Status {
        /// The step.
        step: usize,
        /// Description of its subject, such as the name of the instance that moves.
        title: String,
        /// The job.
        job: JobId,
        /// Its state.
        status: JobStatus,
    },
    /// A step has ended.
    StepEnded {
        /// The step.
        step: usize,
        /// Description of its subject, such as the name of the instance that moves.
        title: String,
        /// Result.
        state: StepState,
        /// The problem.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Commands that clean up after live migrations that may have stopped half-way.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        cleanup: Vec<String>,
    },
    /// The connection failed; after a pause it will be tried again.
    ConnectionLost {
        /// The problem.
        problem: String,
        /// The number of attempts that failed.
        attempt: u32,
        /// Length of the pause, in seconds.
        #[serde(serialize_with = "seconds")]
        pause: Duration,
    },
    /// The connection works again.
    ConnectionBack,
    /// It is unknown whether jobs of these steps were submitted; Ganeti will be asked.
    Unclear {
        /// The steps.
        steps: Vec<usize>,
        /// Reason.
        problem: String,
    },
    /// A job failed for a temporary reason; after a pause it will be resubmitted.
    Again {
        /// The step.
        step: usize,
        /// Description of its subject, such as the name of the instance that moves.
        title: String,
        /// Message of the job.
        problem: String,
        /// Length of the pause, in seconds.
        #[serde(serialize_with = "seconds")]
        pause: Duration,
    },
    /// The run waits for a person to reboot a node.
    Waiting {
        /// The step.
        step: usize,
        /// Description of the step, with the name of the node.
        title: String,
    },
    /// A check has failed, and the run goes on.
    Warning {
        /// The step.
        step: usize,
        /// Description of the step, with the name of the node.
        title: String,
        /// The problem.
        problem: String,
    },
    /// Submission of new jobs is suspended.
    Paused,
    /// Submission of new jobs is resumed.
    Continued,
    /// No more jobs are submitted.
    Stopping {
        /// Reason, in words.
        why: String,
    },
    /// The run is over.
    Ended {
        /// Way in which it ended.
        ending: Ending,
        /// Steps that are done.
        done: usize,
        /// Steps that failed.
        failed: usize,
        /// Steps that are under way, or may be.
        running: usize,
        /// Steps that were not begun.
        not_started: usize,
    },
}

fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

/// An event as a line of `--json-events`.
#[derive(Debug, Serialize)]
pub struct EventLine<'a> {
    /// Time, in milliseconds since 1970.
    pub at: u64,
    /// The event.
    #[serde(flatten)]
    pub event: &'a Event,
}
