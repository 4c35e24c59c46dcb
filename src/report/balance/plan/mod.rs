//! Plans of moves, shared by `hbal` and other tools.

pub(crate) mod columns;
pub(crate) mod html;
pub(crate) mod json;
pub(super) mod scores;
pub(crate) mod steps;
