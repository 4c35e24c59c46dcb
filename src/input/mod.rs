//! What others wrote, read with care: no more of it than fits, its encoding checked, JSON with
//! typed access, and errors that say where.

pub(crate) mod encoding;
pub mod error;
pub mod json;
pub(crate) mod local;

pub use error::{LoadError, Result};
