//! Rolling maintenance: batches of nodes are emptied, maintained, checked and used again, one batch after another.
//!
//! The journal of a maintenance has an empty plan in its first line. Each batch is planned on the cluster as it is by
//! then, and recorded before its first step begins. A batch is ordinary [`Work`](htools_plan::work::Work), so the
//! [`Runner`](super::Runner) does it like any other plan.

mod commands;
mod progress;
mod run;

pub use commands::{NodeCommands, succeeds};
pub use progress::{Away, MaintenanceProgress, NodeStage};
pub use run::{BatchProposal, LeftNode, MaintenanceEnd, MaintenanceHost, MaintenanceRun};

pub use super::operator::{CONNECTION_BROKEN, CommandFate, CommandRun, command_failure};
pub use super::terms::{
    AfterFailure, BatchKind, BatchRules, BegunBatch, MaintenanceCourse, MaintenanceLimits, MaintenanceTerms,
    OperatorCommands, PlannedBatch,
};
