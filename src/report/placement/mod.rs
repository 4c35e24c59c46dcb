//! Showing where the resources of a Pacemaker cluster go, and why.

pub mod affinity;
pub mod carried;
mod changes;
pub mod commands;
mod container;
pub mod crm_simulate;
pub mod fit;
pub(crate) mod json;
pub mod lint;
pub(crate) mod optimum;
mod parts;
pub mod simulation;
pub mod survive;
pub(crate) mod text;
pub mod transition;
pub(crate) mod why;
