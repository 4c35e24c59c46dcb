//! The journal of a run: a file with one JSON object per line, written before and after every submission. A run can
//! resume from it after a crash.
//!
//! The first line holds the plan; each other line holds one event. Every line ends with a check sum over itself and all
//! earlier lines, so a changed or removed line is noticed. A last line that is cut off counts as never written; the
//! cluster is asked for what it would have told.

mod read;
#[cfg(test)]
mod tests;
mod write;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(crate) use super::record::Record;
pub use read::{JournalError, JournalForm, LineError, Read, go_on, open, parse, read, read_ours};
pub use write::Journal;

use super::client::ClusterId;
use super::job::{JobId, RunInfo};
use super::terms::MaintenanceTerms;
use htools_model::words;
use htools_plan::stream::StreamLimits;
use htools_plan::work::Work;

/// Schema of journals that this version reads and writes.
pub const SCHEMA: &str = "htools.journal-1";

words!(
    /// Treatment of the other steps when one fails.
    #[derive(Serialize, Deserialize, Default)]
    #[serde(rename_all = "lowercase")]
    pub OnFailure, "way to go on after a failure" {
        /// No other step begins.
        #[default]
        Stop = "stop",
        /// Steps that must follow the failed one are dropped; the others go on.
        Continue = "continue",
        /// No other step begins; then another plan is made.
        Replan = "replan",
    }
);

/// Pace of a run that does not go jobset by jobset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamPace {
    /// Limits of what may be under way at the same time.
    pub limits: StreamLimits,
    /// Treatment of the other steps after a failure.
    pub on_failure: OnFailure,
}

/// Content of the first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// [`SCHEMA`].
    pub journal: String,
    /// The cluster that the plan is for.
    pub cluster: ClusterId,
    /// Data that all jobs share.
    pub run: RunInfo,
    /// The newest job in the queue before the run.
    pub after: JobId,
    /// True if a step is one job; otherwise each of its opcodes is one.
    pub joins_opcodes: bool,
    /// UUID of the group that the plan is for.
    pub group: String,
    /// True if the plan was made with `--ignore-soft-errors`.
    pub ignore_soft_errors: bool,
    /// `--keep-reserve` with which the plan was made, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_reserve: Option<usize>,
    /// Pace of the run; jobset by jobset if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamPace>,
    /// Terms of a rolling maintenance. Its plan grows by one batch after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<MaintenanceTerms>,
    /// The plan.
    pub work: Work,
}

impl Header {
    /// The number of jobs of each step; 1 for steps that this program does itself.
    pub fn parts(&self) -> impl Iterator<Item = usize> {
        self.parts_of(&self.work)
    }

    /// The number of jobs of each step of other work in this run.
    fn parts_of(&self, work: &Work) -> impl Iterator<Item = usize> + use<'_> {
        let joins = self.joins_opcodes;
        let parts = work.steps.iter().map(|step| if joins { 1 } else { step.opcodes.len().max(1) });
        parts.collect::<Vec<_>>().into_iter()
    }

    /// Fault of a header that was read, if there is one.
    fn fault(&self) -> Option<String> {
        if self.journal != SCHEMA {
            return Some(format!("it is a '{}', not a '{SCHEMA}'", self.journal));
        }
        self.work.fault()
    }
}

/// Running check sum over all lines so far.
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
