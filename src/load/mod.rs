//! Where a cluster comes from: one parser a source, one pipeline for all.

pub mod error;
pub mod lookup;
pub mod merge;
pub mod number;
pub mod raw;
pub mod tag_rules;

pub use error::LoadError;
