//! Clusters of one kind in the words of the other.

pub mod ganeti;
pub mod instances;
