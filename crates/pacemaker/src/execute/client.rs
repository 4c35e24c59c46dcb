//! The part of a cluster of Pacemaker that carrying out needs.

use std::time::Duration;

use crate::cib::change::CibChange;
use htools_ganeti::execute::program::ProgramError;

/// Why a cluster does not answer, or not as it should.
#[derive(Debug, thiserror::Error)]
pub enum CibCallError {
    /// The program that was to ask it.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// Its words.
    #[error("{0}")]
    Nonsense(String),
}

/// A way to a cluster of Pacemaker. Every call may fail, and may have had its effect all the same.
pub trait CibClient {
    /// The document that describes it now.
    ///
    /// # Errors
    /// It does not answer.
    fn document(&mut self) -> Result<String, CibCallError>;

    /// Changes its configuration, in one step. Doing that again changes nothing.
    ///
    /// # Errors
    /// It was refused, or nobody knows.
    fn make(&mut self, change: &CibChange) -> Result<(), CibCallError>;

    /// Waits until it has nothing left to do, at most so long; whether it has come to that.
    ///
    /// # Errors
    /// It cannot be waited for.
    fn await_rest(&mut self, at_most: Duration) -> Result<bool, CibCallError>;
}
