//! Talking to Ganeti: where its daemons are, who asks, whom to believe, one request and its
//! errors. What the answers mean is said where they are used.

#![warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]

mod call;
pub(crate) mod cutoff;
pub mod luxi;
pub mod rapi;

pub use call::CallError;
