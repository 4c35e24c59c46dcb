//! Careful reading of foreign input: limited in size, with its encoding checked, typed access to JSON, and errors that
//! name the place.

#![warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]

pub mod compressed;
pub mod encoding;
pub mod error;
pub mod json;
pub mod kind;
pub mod local;

pub use error::{LoadCause, LoadError, Result};
