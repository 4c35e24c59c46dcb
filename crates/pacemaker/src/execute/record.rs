//! The journal of a run: its tasks, and how far each is.

use serde::{Deserialize, Serialize};

use super::task::CibTask;
use crate::cib::change::CibChange;
use crate::pinning::ExpectedPlace;
use htools_ganeti::execute::journal::{JournalForm, LineError};

/// Format of the journals that this version reads and writes.
pub const SCHEMA: &str = "htools.cib-journal-1";

/// Content of the first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CibHeader {
    /// [`SCHEMA`].
    pub journal: String,
    /// The cluster, by its name and nodes.
    pub cluster: String,
    /// Time when the run began, in nanoseconds since 1970.
    pub began: u64,
    /// The change.
    pub change: CibChange,
    /// Places of the resources when the change was planned.
    pub was: Vec<ExpectedPlace>,
    /// Places of the resources in the end.
    pub expected: Vec<ExpectedPlace>,
    /// A change that is made once they are there; it does not move them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<CibChange>,
    /// Longest time for the cluster to come to rest, in seconds.
    pub limit: u64,
}

impl CibHeader {
    /// Tasks, in order.
    pub fn tasks(&self) -> Vec<CibTask<'_>> {
        let after = |change| [CibTask::Make(change), CibTask::Await, CibTask::Compare];
        let then = self.then.iter().flat_map(after);
        after(&self.change).into_iter().chain(then).collect()
    }
}

/// Content of the other lines. Tasks are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase", deny_unknown_fields)]
pub enum CibRecord {
    /// A task is about to begin.
    Beginning {
        /// Its number.
        task: usize,
    },
    /// It was done.
    Done {
        /// Its number.
        task: usize,
    },
    /// It failed.
    Failed {
        /// Its number.
        task: usize,
        /// Reason of the failure.
        why: String,
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
        /// Outcome, in one word.
        ending: String,
    },
}

/// State of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TaskState {
    /// Nothing was done about it.
    #[default]
    Open,
    /// It was begun, and may have been done.
    Begun,
    /// It was done.
    Done,
    /// It failed, for this reason.
    Failed(String),
}

/// Content of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CibRead {
    /// The first line: the change and its expected result.
    pub header: CibHeader,
    /// State of each task.
    pub tasks: Vec<TaskState>,
}

impl CibRead {
    /// The first task that is not done.
    pub fn next(&self) -> Option<usize> {
        self.tasks.iter().position(|state| *state != TaskState::Done)
    }

    /// Applies a record.
    ///
    /// # Errors
    /// Fails if the record cannot follow on what is already known.
    pub(crate) fn apply(&mut self, record: &CibRecord) -> Result<(), String> {
        let (task, new) = match record {
            CibRecord::Beginning { task } => (*task, TaskState::Begun),
            CibRecord::Done { task } => (*task, TaskState::Done),
            CibRecord::Failed { task, why } => (*task, TaskState::Failed(why.clone())),
            CibRecord::Resumed { .. } | CibRecord::Closed { .. } => return Ok(()),
        };
        let is_next = self.next() == Some(task);
        let state = self.tasks.get_mut(task).ok_or_else(|| format!("there is no task {task}"))?;
        // A task that was interrupted or failed is done again.
        if !is_next || (new != TaskState::Begun && *state != TaskState::Begun) {
            return Err(format!("the record of task {task} contradicts earlier records"));
        }
        *state = new;
        Ok(())
    }
}

impl JournalForm for CibRead {
    type Header = CibHeader;
    type Record = CibRecord;

    fn begin(header: CibHeader) -> Result<CibRead, LineError> {
        if header.journal != SCHEMA {
            return Err(LineError::Plan(format!("it is a '{}', not a '{SCHEMA}'", header.journal)));
        }
        let tasks = vec![TaskState::Open; header.tasks().len()];
        Ok(CibRead { header, tasks })
    }

    fn take(&mut self, _: usize, record: CibRecord) -> Result<(), LineError> {
        self.apply(&record).map_err(LineError::OutOfTurn)
    }
}
