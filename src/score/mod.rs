//! How good a placement is: metrics, their exact sum, running statistics.

pub mod batch;
pub mod board;
pub mod metrics;
pub mod running;
pub mod spread;

pub use board::{Board, Components, Touched};
pub use metrics::{Kind, Metric, TABLE};
