//! A plan of moves, also of tools other than `hbal`.

pub(crate) mod html;
pub(crate) mod json;
pub(super) mod scores;
pub(crate) mod steps;
