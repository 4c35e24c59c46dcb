//! The steps in order: what can run at the same time, and with which commands or opcodes;
//! and a checker that replays them by the plain rules.

#![deny(missing_docs)]

pub mod arrival;
pub mod back;
pub mod checker;
pub mod command;
pub mod durations;
pub mod fresh;
pub mod graph;
pub mod jobset;
pub mod names;
pub mod needs;
pub mod opcode;
pub mod repair;
pub mod rolling;
pub mod shell;
pub mod stream;
pub mod switching;
pub mod work;
