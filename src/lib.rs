//! htools
pub mod load;
pub mod model;
