//! Showing where the resources of a Pacemaker cluster go, and why.

mod changes;
mod container;
pub mod crm_simulate;
pub(crate) mod json;
mod order;
pub(crate) mod text;
pub mod transition;
pub(crate) mod why;
