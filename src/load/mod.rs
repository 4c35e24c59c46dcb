//! Where a cluster comes from: one parser a source, one pipeline for all.

pub mod anonymise;
pub mod cutoff;
pub mod encoding;
pub mod error;
pub mod iallocator;
pub mod json;
pub mod load_data;
pub mod local;
pub mod lookup;
pub mod luxi;
pub mod merge;
pub mod mond;
pub mod monitoring;
pub mod names;
pub mod number;
pub mod rapi;
pub mod raw;
pub mod remote;
pub mod silent;
pub mod simulate;
pub mod tag_review;
pub mod tag_rules;
pub mod text;
pub mod units;
pub mod utilisation;

pub use error::LoadError;
pub use raw::RawCluster;
