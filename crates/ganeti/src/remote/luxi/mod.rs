//! The master daemon of a cluster, over its socket (LUXI).

mod address;
mod connection;
pub(crate) mod envelope;

pub use address::default_socket;
pub(crate) use address::shown;
pub(crate) use connection::SharedBudget;
pub use connection::{Connection, Timeouts};
