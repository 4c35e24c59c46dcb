//! Events while a plan is carried out, for people and programs that look on.

use std::time::Duration;

use serde::Serialize;

use super::job::{JobId, JobStatus};
use super::report::Ending;
use super::report::StepState;

/// Something happened. Steps are counted from 1.
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
    /// A job is further than before.
    Status {
        /// The step.
        step: usize,
        /// Its subject, in words: the name of an instance for a move.
        title: String,
        /// The job.
        job: JobId,
        /// Its state.
        status: JobStatus,
    },
    /// A step came to its end.
    StepEnded {
        /// The step.
        step: usize,
        /// Its subject, in words: the name of an instance for a move.
        title: String,
        /// How.
        state: StepState,
        /// The problem.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Commands that tidy up after live migrations that may be half done.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        cleanup: Vec<String>,
    },
    /// The connection does not work; after a pause there will be another attempt.
    ConnectionLost {
        /// The problem.
        problem: String,
        /// The number of attempts that failed.
        attempt: u32,
        /// Length of the pause, in seconds.
        #[serde(serialize_with = "seconds")]
        pause: Duration,
    },
    /// It works again.
    ConnectionBack,
    /// It is unknown whether jobs of these steps were submitted; Ganeti is asked.
    Unclear {
        /// The steps.
        steps: Vec<usize>,
        /// Why.
        problem: String,
    },
    /// A job failed for a reason that passes; after a pause it will be submitted again.
    Again {
        /// The step.
        step: usize,
        /// Its subject, in words: the name of an instance for a move.
        title: String,
        /// Words of the job.
        problem: String,
        /// Length of the pause, in seconds.
        #[serde(serialize_with = "seconds")]
        pause: Duration,
    },
    /// No new jobs are submitted for a while.
    Paused,
    /// New jobs are submitted again.
    Continued,
    /// No new jobs are submitted.
    Stopping {
        /// Why, in words.
        why: String,
    },
    /// Nothing more will happen.
    Ended {
        /// How.
        ending: Ending,
        /// Steps that are done.
        done: usize,
        /// Steps that failed.
        failed: usize,
        /// Steps under way, or perhaps.
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
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What.
    #[serde(flatten)]
    pub event: &'a Event,
}
