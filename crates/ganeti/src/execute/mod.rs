//! Execution of plans. A run walks over the steps, submits jobs to Ganeti, follows them to their end and keeps a
//! journal. So no step is done twice, whatever happens to the connection or to this program.
//!
//! [`Runner`] decides when each step begins, from the dependencies in the plan. It knows Ganeti only as a
//! [`JobClient`]: LUXI, RAPI or, in tests, a queue with faults.

#![warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]

mod answers;
mod asking;
pub mod autorepair;
mod awaiting;
mod cleanup;
mod client;
mod course;
pub mod disks;
mod events;
pub mod history;
mod host;
mod interruption;
pub mod job;
pub mod journal;
pub mod lines;
mod luxi;
pub mod maintenance;
mod node_work;
pub mod nodes;
mod one_job;
mod operator;
mod power;
pub mod program;
mod rapi;
mod reconcile;
mod record;
mod report;
mod runner;
pub mod saved;
pub mod signals;
mod state;
mod stream;
mod terms;
mod undo;
mod watch;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;

pub use client::{ClusterId, InstanceNow, JobClient, OpenJob};
pub use course::RunTerms;
pub use events::{Event, EventLine};
pub use host::{NodeTaskError, RunHost, TrialError};
pub use luxi::LuxiClient;
pub use rapi::RapiClient;
pub use report::{Ending, Report, StepReport, StepState};
pub use runner::Runner;
pub use state::{RecordError, State};
pub use undo::undo;
