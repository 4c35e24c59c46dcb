//! Showing where the resources of a Pacemaker cluster go, and why.

mod container;
pub mod crm_simulate;
mod order;
pub mod transition;
