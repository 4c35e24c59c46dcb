//! Carries out plans for a Pacemaker cluster: changes its configuration in one step, waits for the cluster, and
//! compares the result with the plan. Everything is recorded in a journal, so that a run can go on after a crash.
//!
//! Nothing is decided here: the [`CibHeader`] has the change and its expected result. Every step can be repeated.

mod client;
pub mod maintenance;
pub mod past;
mod programs;
mod record;
mod runner;
mod surroundings;
mod task;

#[cfg(test)]
mod tests;

pub use client::{CibCallError, CibClient};
pub use programs::{LocalCluster, SIZE, Simulation, simulate};
pub use record::{CibHeader, CibRead, CibRecord, SCHEMA, TaskState};
pub use runner::{CibEvent, CibHost, CibRunner};
pub use surroundings::CibSurroundings;
pub use task::{CibTask, difference, obstacle};
