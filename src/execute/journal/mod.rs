//! The journal of a run: a file with one JSON object a line, written before and after
//! every submission, from which the run can go on after a crash.
//!
//! The first line holds the plan, each of the others one event. Every line ends with
//! a check sum over itself and all lines before it, so that a line that was changed or
//! removed is noticed. A last line without its end was never written: what it would have told is
//! asked of the cluster.

mod read;
#[cfg(test)]
mod tests;
mod write;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use read::{JournalError, JournalForm, LineError, Read, go_on, open, parse, read, read_ours};
pub use write::Journal;

use super::client::ClusterId;
use super::job::{JobId, JobMark, JobStatus, RunInfo};
use crate::model::kinds::words;
use crate::plan::stream::StreamLimits;
use crate::plan::work::Work;

/// The form of journals that this version reads and writes.
pub const SCHEMA: &str = "htools.journal-1";

words!(
    /// What becomes of the other steps when one fails.
    #[derive(Serialize, Deserialize, Default)]
    #[serde(rename_all = "lowercase")]
    pub OnFailure, "way to go on after a failure" {
        /// No other step begins.
        #[default]
        Stop = "stop",
        /// What must follow it is dropped, and the rest goes on.
        Continue = "continue",
        /// No other step begins; then another plan is made.
        Replan = "replan",
    }
);

/// How steps follow each other that do not go by jobsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamPace {
    /// How much may be under way at the same time.
    pub limits: StreamLimits,
    /// What happens after a failure.
    pub on_failure: OnFailure,
}

/// What the first line says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// [`SCHEMA`].
    pub journal: String,
    /// The cluster that the plan is for.
    pub cluster: ClusterId,
    /// What all jobs have in common.
    pub run: RunInfo,
    /// The newest job before the run.
    pub after: JobId,
    /// Whether a step is one job; otherwise each of its opcodes is one.
    pub joins_opcodes: bool,
    /// UUID of the group that the plan is for.
    pub group: String,
    /// Whether the plan was made with `--ignore-soft-errors`.
    pub ignore_soft_errors: bool,
    /// `--keep-reserve` of whoever made the plan, if that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_reserve: Option<usize>,
    /// How steps follow each other; jobset by jobset if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamPace>,
    /// The plan.
    pub work: Work,
}

impl Header {
    /// The number of jobs of each step; 1 for what this program does itself.
    pub fn parts(&self) -> impl Iterator<Item = usize> {
        self.work.steps.iter().map(|step| if self.joins_opcodes { 1 } else { step.opcodes.len().max(1) })
    }

    /// What is wrong with a header that was read.
    fn fault(&self) -> Option<String> {
        if self.journal != SCHEMA {
            return Some(format!("it is a '{}', not a '{SCHEMA}'", self.journal));
        }
        self.work.fault()
    }
}

/// What the other lines say.
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
        /// What its failed opcode said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// How long it ran, in milliseconds, where that was seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took: Option<u64>,
    },
    /// A job failed for a reason that passes, and will be submitted again.
    Again {
        /// Which.
        mark: JobMark,
    },
    /// What this program does itself was done.
    Performed {
        /// Which.
        mark: JobMark,
    },
    /// What this program does itself failed.
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

/// What a line's check sum is made of: this line and all before it.
#[derive(Debug, Clone, Default)]
struct Chain {
    last: String,
}

impl Chain {
    /// The check sum of the next line: half of SHA-256, in hexadecimal digits.
    fn next(&mut self, text: &str) -> String {
        let digest = Sha256::new().chain_update(&self.last).chain_update(text).finalize();
        self.last = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.last.clone()
    }
}
