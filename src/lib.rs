//! htools
pub mod generate;
pub mod load;
pub mod model;
