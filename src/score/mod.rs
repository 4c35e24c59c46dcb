//! How good a placement is: metrics, their exact sum, running statistics.

pub mod batch;
pub mod board;
pub mod increment;
pub mod metrics;
pub(crate) mod rise;
pub mod running;
pub mod runs;
pub mod spread;
mod trail;
pub mod zones;

pub use board::{Board, Components, Touched};
pub use increment::{NodeChange, Statistics};
pub use metrics::{Aggregate, Metric, TABLE};
