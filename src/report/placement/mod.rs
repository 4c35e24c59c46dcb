//! Showing where the resources of a Pacemaker cluster go, and why.

mod changes;
mod container;
pub mod crm_simulate;
pub mod fit;
pub(crate) mod json;
pub mod survive;
pub(crate) mod text;
pub mod transition;
pub(crate) mod why;
