//! Results of `harep`.

pub(crate) mod json;
pub(crate) mod metrics;
pub(crate) mod text;
