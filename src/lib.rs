//! htools
pub mod generate;
pub mod load;
pub mod model;
pub mod plan;
pub mod redundancy;
pub mod report;
pub mod score;
pub mod search;
pub mod tools;
