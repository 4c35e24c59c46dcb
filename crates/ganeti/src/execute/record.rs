//! Records of a journal: one for each event of a run.

use serde::{Deserialize, Serialize};

use super::job::{JobId, JobMark, JobStatus};
use super::terms::PlannedBatch;

/// Content of a line of a journal, after the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase", deny_unknown_fields)]
pub enum Record {
    /// These jobs are about to be submitted.
    Submitting {
        /// Their marks.
        jobs: Vec<JobMark>,
    },
    /// A job got a number.
    Submitted {
        /// Its mark.
        mark: JobMark,
        /// Its number.
        job: JobId,
    },
    /// These jobs certainly did not reach Ganeti.
    Absent {
        /// Their marks.
        jobs: Vec<JobMark>,
    },
    /// Ganeti refused these jobs.
    Refused {
        /// Their marks.
        jobs: Vec<JobMark>,
        /// Ganeti's reason.
        why: String,
    },
    /// A job has ended.
    Ended {
        /// Its mark.
        mark: JobMark,
        /// Its number.
        job: JobId,
        /// Final status.
        status: JobStatus,
        /// Message of its failed opcode.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Run time in milliseconds, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took: Option<u64>,
        /// Position of the opcode that failed; `None` if it failed before it had changed anything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed_opcode: Option<usize>,
    },
    /// A job failed for a temporary reason, and will be submitted again.
    Again {
        /// Its mark.
        mark: JobMark,
    },
    /// This program has done a step itself.
    Performed {
        /// Mark of the step.
        mark: JobMark,
        /// Time that it took in milliseconds, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took: Option<u64>,
    },
    /// A node is about to be taken out of service by a step. Without this record, the step has changed nothing.
    Noted {
        /// Mark of the step.
        mark: JobMark,
        /// Boot ID of the node before.
        boot: String,
    },
    /// Another batch of a maintenance begins: its steps follow all earlier ones.
    Planned {
        /// The batch.
        batch: PlannedBatch,
    },
    /// A node needs no maintenance.
    Skipped {
        /// Its name.
        node: String,
        /// Reason.
        why: String,
    },
    /// A node has the same boot ID as before its maintenance, so the maintenance did not happen.
    NotRebooted {
        /// Its name.
        node: String,
    },
    /// The run waits before the next batch.
    Soaking {
        /// End of the wait in milliseconds since 1970.
        until: u64,
    },
    /// This program could not do a step itself.
    Failed {
        /// Mark of the step.
        mark: JobMark,
        /// Reason.
        why: String,
    },
    /// A job is no longer in Ganeti's queue.
    Gone {
        /// Its mark.
        mark: JobMark,
        /// Its number.
        job: JobId,
        /// True unless it was last seen before it began; older journals do not say.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        begun: bool,
    },
    /// The run was resumed.
    Resumed {
        /// Time in milliseconds since 1970.
        at: u64,
    },
    /// The program ended regularly.
    Closed {
        /// Time in milliseconds since 1970.
        at: u64,
        /// Ending of the run, in a word.
        ending: String,
    },
}
