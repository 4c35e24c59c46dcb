//! Nodes, one in a row.

pub(in crate::report) mod html;
pub mod text;
