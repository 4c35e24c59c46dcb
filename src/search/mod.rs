//! Which step is best: the moves of an instance, and the search among them.

pub mod allocate;
pub mod allocator;
pub mod balance;
pub mod check;
mod deadline;
pub mod evacuate;
pub mod explain;
pub mod fill;
pub mod forecast;
mod likeness;
mod memory;
pub mod moves;
pub mod regroup;
pub mod rolling;
pub mod shape;
mod sieve;
pub mod squeeze;
pub mod tally;
mod ties;
pub mod why;

pub use balance::{BalanceOptions, Balancer, Effort};
pub use deadline::{Deadline, Stopped};
pub use moves::MoveRules;
pub use tally::Tally;
