//! What survives the loss of a node: the memory that DRBD secondaries reserve
//! ([`n_plus_one`]), and whether every node could be emptied ([`global`]).

pub mod global;
pub mod n_plus_one;
