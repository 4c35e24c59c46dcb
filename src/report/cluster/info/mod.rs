//! Summary of a cluster (`hinfo`).

pub(crate) mod json;
pub(crate) mod text;
