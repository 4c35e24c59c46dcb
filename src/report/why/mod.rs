//! Reasons that something is not possible.

pub(super) mod json;
pub(super) mod words;
