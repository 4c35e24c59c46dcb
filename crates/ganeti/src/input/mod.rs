//! What others wrote, read with care: no more of it than fits, its encoding checked, JSON with
//! typed access, and errors that say where.

#![warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]

pub mod compressed;
pub mod encoding;
pub mod error;
pub mod json;
pub mod kind;
pub mod local;

pub use error::{LoadError, Result};
