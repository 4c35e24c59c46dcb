//! Which change is best: balancing, placing, filling, freeing, and why something cannot be.

#![deny(missing_docs)]

pub mod balance;

pub mod fill;
pub mod groups;
pub mod health;
pub mod moves;
pub mod place;
pub mod repair;
pub mod requests;
pub mod rolling;
pub mod squeeze;
pub mod why;

pub use balance::tally::Tally;
pub use balance::{BalanceOptions, Balancer, Effort};
pub use htools_model::deadline::{Deadline, Stopped};
pub use moves::MoveRules;
