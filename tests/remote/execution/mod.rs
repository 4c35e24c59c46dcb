//! Plans carried out: `hbal -X` and `--resume` as a program, against a master daemon and a
//! remote API by script, with a job queue in memory behind them.

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
mod stream;
mod terminal;
