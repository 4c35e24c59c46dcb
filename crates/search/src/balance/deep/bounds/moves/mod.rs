//! Lower bound of the score after a limited number of moves, for clusters of equal nodes with mirrored instances.
//!
//! Each move has a price, so every node can be treated by itself: which level of the reserve it takes, which of its
//! instances stay, and how uneven it makes the cluster ([`problem`]). An instance that leaves goes to the place where it
//! costs least. Any prices prove a bound ([`proof`]). Good ones are found by ascent ([`ascent`]) on a smooth version of it
//! ([`smooth`]). Each set of prices is for certain deviations; several together bound the score ([`cuts`]). Nodes of large
//! clusters share prices, and ranges of the deviations have prices of their own ([`cover`]). docs/bounds.md has the proof.

mod ascent;
mod cover;
mod cuts;
mod driver;
mod layout;
mod market;
mod problem;
mod proof;
mod smooth;

pub(super) use driver::tighten;

#[cfg(test)]
mod tests;
