//! Searches for the best change to a cluster: balancing, placing, filling and freeing nodes.
//!
//! - [`moves`] computes the outcome of one move. [`balance`] repeats the best of all moves. It keeps lower
//!   bounds for all moves from step to step (docs/search.md) and filters out the moves that cannot win.
//! - [`place`] finds the best place for one instance (docs/placing.md), and new nodes for the instances that
//!   leave a node.
//! - [`requests`] answers the requests that Ganeti's master sends to an allocator.
//! - [`forecast`] extends the history of loads and uses into the future.
//! - [`fill`] counts how many more instances a cluster can hold.
//! - [`squeeze`] decides which nodes can be switched off and which must be switched on again.
//! - [`groups`] moves instances between groups.
//! - [`rolling`] divides the nodes into groups that can be down together.
//! - [`maintenance`] plans the next batch of a rolling maintenance that is carried out.
//! - [`repair`] decides which broken instances can be repaired, and how.
//! - [`health`] reports problems, the effect of balancing on them, and the consequences of losing nodes.
//! - [`why`] has the types in which all of them give the reasons against a change.

#![deny(missing_docs)]
#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod balance;

pub mod fill;
pub mod forecast;
pub mod groups;
pub mod health;
mod limits;
pub mod maintenance;
pub mod make_room;
pub mod moves;
pub mod parallel;
pub mod place;
pub mod repair;
pub mod requests;
pub mod rolling;
pub mod squeeze;
pub mod steady;
pub mod why;

pub use balance::tally::Tally;
pub use balance::{BalanceOptions, Balancer, Effort};
pub use htools_model::deadline::{Deadline, Stopped};
pub use moves::MoveRules;
