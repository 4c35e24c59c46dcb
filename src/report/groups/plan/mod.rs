//! Plans of moves between node groups.

pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod text;
