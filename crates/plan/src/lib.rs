//! The steps in order: what can run at the same time, and with which commands or opcodes;
//! and a checker that replays them by the plain rules.
//!
//! [`graph`] holds what waits for what and why, no more than [is needed](needs); [jobsets](jobset) are one walk of it and
//! the [`stream`] another. [`work`] is a plan ready to be carried out, in names and opcodes. [`durations`] tells how long
//! it takes, [`back`] how it is taken back, [`fresh`] what has changed since it was made. [`shell`] is the one writer of
//! commands, and [`names`] says which names may be in them. The [`checker`] shares no code with the search.

#![deny(missing_docs)]
#![cfg_attr(not(test), warn(unreachable_pub))]

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
