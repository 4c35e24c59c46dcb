//! Searches for the best change: balancing, placing, filling, freeing nodes, and the reasons against a change.
//!
//! * [`moves`] works one move out. [`balance`] finds the best of all and repeats: lower bounds for all moves are kept
//!   from step to step (docs/search.md explains them), and sieves leave out what cannot win.
//! * [`place`] finds the best place for one instance (docs/placing.md), and other nodes for what leaves one.
//!   [`requests`] answers what Ganeti's master asks. [`fill`] finds out how many more instances a cluster holds.
//! * [`squeeze`] decides which nodes are not needed, or needed again. [`groups`] moves instances between groups.
//!   [`rolling`] divides nodes into groups that can be down together. [`repair`] decides which broken instances may be
//!   mended, and how.
//! * [`health`] tells what is wrong, what balancing would mend, and what the loss of nodes would mean.
//! * [`why`] is the words in which all of them say why something cannot be.

#![deny(missing_docs)]
#![cfg_attr(not(test), warn(unreachable_pub))]

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
