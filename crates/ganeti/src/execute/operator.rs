//! Commands of the operator for nodes.

use std::time::Duration;

use super::job::JobMark;

/// A command of the operator for one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandRun<'c> {
    /// The step. It has at most one command at a time.
    pub mark: JobMark,
    /// The command.
    pub command: &'c str,
    /// The node that it is for.
    pub node: &'c str,
    /// The longest time.
    pub limit: Duration,
}

/// Fate of a command that was started, perhaps by an earlier program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandFate {
    /// It has not ended.
    Running,
    /// It has ended.
    Ended {
        /// Exit status; `None` if a signal killed it.
        status: Option<i32>,
        /// The last line of its output.
        last_words: String,
    },
    /// It is unknown whether it was started, and what became of it.
    Unknown,
}

/// Exit status of ssh if its connection breaks, as it does when the command reboots the node.
pub const CONNECTION_BROKEN: i32 = 255;

/// Text about a command that has ended with a failure.
pub fn command_failure(status: Option<i32>, last_words: &str) -> String {
    match status {
        Some(status) => format!("the command failed with exit status {status}{last_words}"),
        None => format!("the command was killed{last_words}"),
    }
}
