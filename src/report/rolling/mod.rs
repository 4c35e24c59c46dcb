//! Results of `hroller`.

pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod metrics;
pub(crate) mod text;
