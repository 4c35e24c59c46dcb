//! Score of a placement: metrics, their exact sum, running statistics.

pub mod batch;
pub(crate) mod board;
pub mod exact_sums;
pub mod interval;
pub mod metrics;
pub(crate) mod pair_update;
pub mod rise;
pub mod spread;
mod trail;
pub mod zones;

pub use board::{Board, Components, Touched};
pub use metrics::{Aggregate, Metric, TABLE};
pub use pair_update::{NodeChange, PairUpdate};
