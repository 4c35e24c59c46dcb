//! Output formats, with the parts that several subjects share.

pub(in crate::report) mod amount;
pub(crate) mod file;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod markdown;
pub mod metrics;
pub(crate) mod palette;
pub(crate) mod shell;
pub(crate) mod table;
pub(crate) mod tone;
