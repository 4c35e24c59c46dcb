//! What `harep` found and did.

pub(crate) mod json;
pub(crate) mod metrics;
pub(crate) mod text;
