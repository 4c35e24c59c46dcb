//! Shared parts of the benches that time whole processes.

pub mod bench;
pub mod clusters;
pub mod numbers;
pub mod settings;
pub mod workshop;

pub use bench::{Bench, Theirs};
pub use clusters::Kind;
pub use settings::Settings;
