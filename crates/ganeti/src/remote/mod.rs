//! Communication with Ganeti: addresses of its daemons, credentials, trusted certificates, single requests and their
//! errors. The modules that use the answers define their meaning.

#![warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]

mod call;
pub(crate) mod cutoff;
pub mod luxi;
pub mod rapi;

pub use call::CallError;
