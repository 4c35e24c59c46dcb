//! What survives the loss of a node.

pub mod n_plus_one;
