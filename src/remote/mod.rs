//! Talking to Ganeti: where its daemons are, who asks, whom to believe, one request and its
//! errors. What the answers mean is said where they are used.

mod call;
pub(crate) mod cutoff;
pub mod luxi;
pub mod rapi;

pub use call::CallError;
