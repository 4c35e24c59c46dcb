//! Rolling maintenance of a Pacemaker cluster: batches of nodes go to standby, are maintained, checked and used again,
//! one batch after another.
//!
//! Each batch is planned on the cluster as it is by then, and recorded before its first node goes to standby. Before a
//! command begins on a node, the node gets a transient attribute, the *mark*. Pacemaker forgets such attributes when a
//! node leaves the cluster. A member without the mark has therefore left the cluster and come back, whichever program
//! looks, and however late.

mod checks;
mod client;
mod looks;
mod record;
mod run;
#[cfg(test)]
mod tests;
mod work;

use std::fmt;
use std::time::Duration;

use super::client::CibCallError;
use super::surroundings::CibSurroundings;
use crate::rolling::ClusterVotes;
use htools_ganeti::execute::maintenance::{CommandFate, CommandRun, LeftNode};
use htools_ganeti::execute::{Ending, NodeTaskError};
use htools_model::shown::shown_name;

pub use client::{CibMaintenanceClient, MARK};
pub use record::{
    CibBatch, CibMaintenanceHeader, CibMaintenanceRead, CibMaintenanceRecord, CibMaintenanceTerms,
    CibNodeProgress, CibNodeStage, CibNodeWork, FailureCount, MAINTENANCE_SCHEMA, MaintainedNode,
};
pub use run::CibMaintenanceRun;

/// An event of a maintenance. Its text is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CibMaintenanceEvent {
    /// Nodes go to standby.
    Emptying(Vec<String>),
    /// The command of a node begins.
    Commanding(String),
    /// A person is waited for.
    Waiting(String),
    /// The command of a node has ended well.
    Maintained(String),
    /// A node is a member again.
    Back(String),
    /// The cluster is checked.
    Checking(Vec<String>),
    /// Nodes leave standby.
    Returning(Vec<String>),
    /// Nodes are in use again.
    Returned(Vec<String>),
    /// Nodes that were not maintained are in use again.
    CalledOff(Vec<String>),
    /// Nodes failed.
    Failed(Vec<String>, String),
    /// A node needs no maintenance.
    Skipped(LeftNode),
    /// The run waits this long before the next batch.
    Soaking(Duration),
    /// Something that does not stop the run.
    Warning(String),
    /// The cluster does not answer, and will be asked again.
    NoAnswer(String),
}

impl fmt::Display for CibMaintenanceEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = |nodes: &[String]| {
            let names: Vec<String> = nodes.iter().map(|node| shown_name(node).to_string()).collect();
            names.join(", ")
        };
        match self {
            CibMaintenanceEvent::Emptying(nodes) => write!(f, "Putting {} in standby", all(nodes)),
            CibMaintenanceEvent::Commanding(node) => write!(f, "Maintaining {}", shown_name(node)),
            CibMaintenanceEvent::Waiting(node) => {
                write!(f, "{} is ready: waiting until a person has rebooted it", shown_name(node))
            }
            CibMaintenanceEvent::Maintained(node) => {
                write!(f, "{} is maintained: waiting until it is back", shown_name(node))
            }
            CibMaintenanceEvent::Back(node) => write!(f, "{} is back", shown_name(node)),
            CibMaintenanceEvent::Checking(nodes) => write!(f, "Checking the cluster for {}", all(nodes)),
            CibMaintenanceEvent::Returning(nodes) => write!(f, "Taking {} out of standby", all(nodes)),
            CibMaintenanceEvent::Returned(nodes) => write!(f, "{}: done", all(nodes)),
            CibMaintenanceEvent::CalledOff(nodes) => {
                write!(f, "{}: in use again, without maintenance", all(nodes))
            }
            CibMaintenanceEvent::Failed(nodes, why) => write!(f, "{}: {why}", all(nodes)),
            CibMaintenanceEvent::Skipped(LeftNode { node, why }) => write!(f, "{}: {why}", shown_name(node)),
            CibMaintenanceEvent::Soaking(time) => write!(f, "The next batch begins in {} s", time.as_secs()),
            CibMaintenanceEvent::Warning(why) => write!(f, "Warning: {why}"),
            CibMaintenanceEvent::NoAnswer(why) => write!(f, "The cluster does not answer: {why}"),
        }
    }
}

/// Surroundings of a maintenance besides the cluster.
pub trait CibMaintenanceHost: CibSurroundings {
    /// Receives an event.
    fn event(&mut self, event: &CibMaintenanceEvent);
    /// Learns that another batch is about to begin.
    fn batch(&mut self, read: &CibMaintenanceRead);
    /// Returns true if a batch that begins now ends in time.
    fn is_in_time(&self) -> bool;
    /// Those of these nodes that need no maintenance by the operator's commands, with the reasons.
    fn needless(&mut self, terms: &CibMaintenanceTerms, nodes: &[String]) -> Vec<LeftNode>;
    /// Starts a command, unless the same one is running.
    ///
    /// # Errors
    /// If it cannot be started.
    fn start_command(&mut self, run: &CommandRun<'_>) -> Result<(), NodeTaskError>;
    /// Fate of a command.
    fn command_fate(&mut self, run: &CommandRun<'_>) -> CommandFate;
    /// Ends a command that this program has started.
    fn kill_command(&mut self, run: &CommandRun<'_>);
}

/// End of a maintenance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CibMaintenanceEnd {
    /// The way in which it ended.
    pub ending: Ending,
    /// The nodes that were not maintained, or failed, with the reasons.
    pub left: Vec<LeftNode>,
}
