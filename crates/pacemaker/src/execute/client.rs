//! Interface to a Pacemaker cluster, for carrying out plans.

use std::time::Duration;

use crate::cib::change::CibChange;
use htools_ganeti::execute::program::ProgramError;

/// Reason why a cluster does not answer, or not as it should.
#[derive(Debug, thiserror::Error)]
pub enum CibCallError {
    /// The program that should ask it failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The answer makes no sense.
    #[error("{0}")]
    Nonsense(String),
}

/// Access to a Pacemaker cluster. Every call may fail, and may have taken effect all the same.
pub trait CibClient {
    /// Returns the document that describes the cluster now.
    ///
    /// # Errors
    /// Fails if the cluster does not answer.
    fn document(&mut self) -> Result<String, CibCallError>;

    /// Changes the configuration in one step. Repeating a change has no effect.
    ///
    /// # Errors
    /// Fails if the change was refused, or if its fate is not known.
    fn make(&mut self, change: &CibChange) -> Result<(), CibCallError>;

    /// Waits at most this long until the cluster is at rest. Returns true if it is.
    ///
    /// # Errors
    /// Fails if it is not possible to wait.
    fn await_rest(&mut self, at_most: Duration) -> Result<bool, CibCallError>;
}
