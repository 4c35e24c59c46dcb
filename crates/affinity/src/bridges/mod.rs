//! Conversions between Ganeti and Pacemaker clusters.

pub mod ganeti;
pub mod instances;
