//! Carrying out what is planned for a cluster of Pacemaker: its configuration is changed in one step, the cluster is
//! waited for, and what it has come to is compared with the plan; all of it through a journal, so that a run goes on
//! after a crash.
//!
//! Nothing is decided here: the change and what it leads to are the [`CibHeader`]'s. Every step can be done again.

mod client;
mod programs;
mod record;
mod runner;
mod task;

#[cfg(test)]
mod tests;

pub use client::{CibCallError, CibClient};
pub use programs::{SIZE, Simulation, Suite, simulate};
pub use record::{CibHeader, CibRead, CibRecord, SCHEMA, TaskState};
pub use runner::{CibEvent, CibHost, CibRunner};
pub use task::{CibTask, difference, obstacle};
