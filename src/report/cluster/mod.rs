//! The state of a cluster.

pub(crate) mod info;
pub(crate) mod instances;
pub(crate) mod json;
pub(crate) mod metrics;
pub mod nodes;
pub(crate) mod scan;
pub(crate) mod summary;
