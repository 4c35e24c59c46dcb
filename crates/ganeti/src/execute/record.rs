//! Records of a journal: one for each event of a run.

use serde::{Deserialize, Serialize};

use super::job::{JobId, JobMark, JobStatus};

/// Content of a line of a journal, after the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase", deny_unknown_fields)]
pub enum Record {
    /// These jobs are about to be submitted.
    Submitting {
        /// Which.
        jobs: Vec<JobMark>,
    },
    /// A job got a number.
    Submitted {
        /// Which.
        mark: JobMark,
        /// Its number.
        job: JobId,
    },
    /// These jobs surely did not reach Ganeti.
    Absent {
        /// Which.
        jobs: Vec<JobMark>,
    },
    /// Ganeti refused these jobs.
    Refused {
        /// Which.
        jobs: Vec<JobMark>,
        /// Ganeti's reason.
        why: String,
    },
    /// A job came to its end.
    Ended {
        /// Which.
        mark: JobMark,
        /// Its number.
        job: JobId,
        /// How.
        status: JobStatus,
        /// The words of its failed opcode.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Time that it ran, in milliseconds, if that was seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took: Option<u64>,
        /// Position of the opcode that failed while it was carried out; none if it failed before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed_opcode: Option<usize>,
    },
    /// A job failed for a reason that passes, and will be submitted again.
    Again {
        /// Which.
        mark: JobMark,
    },
    /// This program has done its own part.
    Performed {
        /// Which.
        mark: JobMark,
    },
    /// This program could not do its own part.
    Failed {
        /// Which.
        mark: JobMark,
        /// Why.
        why: String,
    },
    /// A job is no longer in Ganeti's queue.
    Gone {
        /// Which.
        mark: JobMark,
        /// Its number.
        job: JobId,
        /// True unless it was last seen before it began; older journals do not say.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        begun: bool,
    },
    /// The run was taken up again.
    Resumed {
        /// Milliseconds since 1970.
        at: u64,
    },
    /// The program ended in order.
    Closed {
        /// Milliseconds since 1970.
        at: u64,
        /// How, in a word.
        ending: String,
    },
}
