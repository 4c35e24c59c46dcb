//! Execution of plans: `hbal -X` and `--resume` as a program. A scripted master daemon and remote API run in front of
//! a job queue in memory.

use crate::common::luxi_server as server;

mod cleanup;
mod cluster;
mod luxi;
mod program;
mod queue;
mod rapi;

mod belief;
mod connection;
mod failures;
mod fresh;
mod groups;
mod hostile;
mod options;
mod recorded;
mod regroup;
mod remote;
mod resume;
mod several;
mod signals;
mod squeeze;
mod steady;
mod stream;
mod terminal;
