//! Explanations why `hbal` moves an instance or not.

pub(crate) mod json;
pub(crate) mod text;
