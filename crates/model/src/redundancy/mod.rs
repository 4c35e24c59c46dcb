//! Redundancy: memory that DRBD secondaries reserve ([`n_plus_one`]), and the test that every node can be emptied
//! ([`global`]).

pub mod global;
pub mod n_plus_one;
