//! htools
pub mod load;
pub mod model;
pub mod redundancy;
pub mod score;
pub mod search;
pub mod tools;
