//! Plans as ordered steps: which of them can run at the same time, and their commands or opcodes. A checker replays
//! them by the plain rules.
//!
//! * [`graph`]: dependencies between steps with their reasons, and no more than [needed](needs). [Jobsets](jobset) are
//!   one walk of the graph, and the [`stream`] is another.
//! * [`work`]: a plan ready for execution, in names and opcodes.
//! * [`durations`]: estimated durations.
//! * [`back`]: undoing a plan.
//! * [`maintenance`]: one batch of a rolling maintenance that htools carries out.
//! * [`fresh`]: changes of the cluster since the plan was made.
//! * [`shell`]: the only writer of commands. [`names`] defines the names that they may contain.
//! * [`checker`]: an independent check, which shares no code with the search.

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
pub mod maintenance;
pub mod names;
pub mod needs;
pub mod opcode;
pub mod repair;
pub mod rolling;
pub mod shell;
pub mod stream;
pub mod switching;
pub mod work;
