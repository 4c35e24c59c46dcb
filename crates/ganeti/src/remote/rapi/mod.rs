//! The remote API (RAPI) of a cluster, over HTTP; its answers may also be files in a directory.

mod access;
mod address;
mod cause;
mod certificates;
mod client;
mod credentials;
mod limits;
mod refusal;
mod secret;
mod session;
mod verifier;

pub use access::{Access, AccessOptions, variable_in_use};
pub use address::Address;
pub(crate) use address::AnswerSource;
pub(crate) use credentials::VARIABLES;
pub(crate) use limits::CallLimits;
pub use limits::FetchLimits;
pub use session::{Session, Verb};
