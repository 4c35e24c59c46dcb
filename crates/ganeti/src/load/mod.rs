//! Loading of clusters: a parser for each source, and one pipeline for all.

#![warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]

pub mod anonymise;
mod disk_parameters;
mod fields;
pub mod iallocator;
mod live;
pub mod load_data;
pub mod lookup;
pub mod luxi;
pub mod measured;
pub mod merge;
pub mod mond;
pub mod monitoring;
pub(crate) mod names;
pub mod number;
mod policy;
pub mod rapi;
pub mod raw;
pub mod simulate;
pub mod tag_review;
pub(crate) mod tag_rules;
pub mod text;
pub mod units;
pub mod utilisation;

pub use crate::input::LoadError;
pub use raw::{Detail, RawCluster};

use htools_model::shown::shown_name;

/// Message for an unknown node of an instance, in the words that scripts look for.
fn unknown_node(node: &str, instance: &str) -> String {
    format!("Unknown node '{}' for instance {}", shown_name(node), shown_name(instance))
}
