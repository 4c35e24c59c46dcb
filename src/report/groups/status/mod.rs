//! The state of node groups.

pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod text;
