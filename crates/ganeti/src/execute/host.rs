//! Surroundings of a run besides the cluster: somebody who is told, and a clock.

use std::time::{Duration, SystemTime};

use super::client::JobClient;
use super::events::Event;
use super::job::{JobId, RunInfo};
use super::power::PowerError;
use crate::remote::CallError;
use htools_plan::work::WorkStep;

/// Surroundings of a run besides the cluster.
pub trait RunHost {
    /// Something happened.
    fn event(&mut self, event: &Event);
    /// Tells if no new jobs should be submitted.
    fn wants_to_stop(&self) -> bool;
    /// Tells if new jobs should wait.
    fn is_paused(&self) -> bool {
        false
    }
    /// Does what Ganeti has no job for. It may be done again after a crash.
    ///
    /// # Errors
    /// Why it could not be done.
    fn perform(
        &mut self,
        client: &mut dyn JobClient,
        run: &RunInfo,
        step: &WorkStep,
    ) -> Result<(), NodeTaskError>;
    /// Lets time pass.
    fn pause(&mut self, time: Duration);
    /// The present time.
    fn now(&self) -> SystemTime;
}

/// Why a step that Ganeti has no job for could not be done.
#[derive(Debug, thiserror::Error)]
pub enum NodeTaskError {
    /// It takes somebody else.
    #[error("this program cannot {0} by itself")]
    NotOurs(String),
    /// The instances, in words.
    #[error("the node holds {0}")]
    Holds(String),
    /// The cluster does not say what the node holds.
    #[error("it is unknown whether the node holds instances: {0}")]
    Unknown(CallError),
    /// It did not start in time.
    #[error("the node does not answer within {seconds} s: {last}")]
    NoAnswer {
        /// The time.
        seconds: u64,
        /// Problem of the last attempt.
        last: TrialError,
    },
    /// The command for it did not work.
    #[error(transparent)]
    Power(#[from] PowerError),
}

/// Why it is not known that a job could be done.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// Ganeti cannot be asked.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The trial disappeared.
    #[error("job {0} is not in Ganeti's queue any more")]
    Gone(JobId),
    /// It failed without a word.
    #[error("job {0} failed")]
    Failed(JobId),
    /// It failed, with Ganeti's words.
    #[error("{0}")]
    Refused(String),
    /// It is still at it.
    #[error("job {0} does not end")]
    Endless(JobId),
}
