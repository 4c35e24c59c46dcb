//! The steps in order: what can run at the same time, and with which commands.

pub mod command;
pub mod jobset;
