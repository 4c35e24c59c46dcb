//! Environment of a run besides the cluster: an observer of its events, and a clock.

use std::time::{Duration, SystemTime};

use super::client::JobClient;
use super::events::Event;
use super::job::{JobId, RunInfo};
use super::operator::{CommandFate, CommandRun};
use super::power::PowerError;
use crate::remote::CallError;
use htools_plan::work::WorkStep;

/// Environment of a run besides the cluster.
pub trait RunHost {
    /// Called at every event.
    fn event(&mut self, event: &Event);
    /// Tells if no new jobs should be submitted.
    fn wants_to_stop(&self) -> bool;
    /// Tells if new jobs should wait.
    fn is_paused(&self) -> bool {
        false
    }
    /// Carries out a step for which Ganeti has no job. It may be repeated after a crash.
    ///
    /// # Errors
    /// The reason that it could not be done.
    fn perform(
        &mut self,
        client: &mut dyn JobClient,
        run: &RunInfo,
        step: &WorkStep,
    ) -> Result<(), NodeTaskError>;
    /// Starts a command of the operator, unless one of the same step is running.
    ///
    /// # Errors
    /// If it cannot be started.
    fn start_command(&mut self, run: &CommandRun<'_>) -> Result<(), NodeTaskError> {
        Err(NodeTaskError::NotOurs(format!("run commands for {}", run.node)))
    }
    /// Fate of a command that this program or an earlier one has started.
    fn command_fate(&mut self, _: &CommandRun<'_>) -> CommandFate {
        CommandFate::Unknown
    }
    /// Ends a command with all its children, if this program has started it.
    fn kill_command(&mut self, _: &CommandRun<'_>) {}
    /// Checks the cluster after the maintenance of a node that is in use again: these instances run with their disks in
    /// sync, and no node has lost its N+1 redundancy.
    ///
    /// # Errors
    /// The first problem, in words. The check is repeated until it succeeds or its time is up.
    fn check_cluster(&mut self, _: &mut dyn JobClient, _: &[String]) -> Result<(), String> {
        Err("this program cannot check the cluster".to_owned())
    }
    /// Lets time pass.
    fn pause(&mut self, time: Duration);
    /// The present time.
    fn now(&self) -> SystemTime;
}

/// Reason that a step without a Ganeti job could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum NodeTaskError {
    /// This program cannot do it.
    #[error("this program cannot {0}")]
    NotOurs(String),
    /// The node holds these instances, given in words.
    #[error("the node holds {0}")]
    Holds(String),
    /// The cluster does not report the instances on the node.
    #[error("it is unknown whether the node holds instances: {0}")]
    Unknown(CallError),
    /// The command was not started.
    #[error("the command cannot be started: {0}")]
    Unstarted(String),
    /// The node does not answer Ganeti.
    #[error("the node does not answer")]
    Silent,
    /// The node did not answer in time.
    #[error("the node did not answer within {seconds} s: {last}")]
    NoAnswer {
        /// The time limit.
        seconds: u64,
        /// Problem of the last attempt.
        last: TrialError,
    },
    /// The power command failed.
    #[error(transparent)]
    Power(#[from] PowerError),
}

/// Reason that a dry run did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// Ganeti cannot be reached.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The job disappeared.
    #[error("job {0} is no longer in Ganeti's queue")]
    Gone(JobId),
    /// The job failed without a message.
    #[error("job {0} failed")]
    Failed(JobId),
    /// The job failed with a message.
    #[error("{0}")]
    Refused(String),
    /// The job does not end.
    #[error("job {0} does not end")]
    Endless(JobId),
}
