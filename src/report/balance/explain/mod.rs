//! Why `hbal` moves an instance, or does not.

pub(crate) mod json;
pub(crate) mod text;
