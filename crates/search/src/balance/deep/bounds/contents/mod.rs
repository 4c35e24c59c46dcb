//! Lower bound of the score of clusters of few equal nodes with mirrored instances, by whole contents of nodes.
//!
//! The bound by ranges does not know that a node holds whole instances. Here, the numbers of nodes by level of their reserve are
//! enumerated ([`counts`]). For prices of the variances and of each instance, [`knapsack`] finds the content of a node
//! that costs least at each level, which proves a bound ([`cuts`]) for all these numbers at once. [`master`] finds
//! prices by a linear program over the contents seen so far. [`search`] improves the lowest bound step by step.
//! docs/bounds.md has the proof.

mod counts;
mod cuts;
mod grid;
mod knapsack;
mod master;
mod parts;
mod prices;
mod problem;
mod search;
mod start;
mod tables;

pub(super) use search::least;

#[cfg(test)]
mod tests;
