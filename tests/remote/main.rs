//! What is read from clusters, and plans carried out: against servers on sockets and on the loopback interface.

// not each of these programs uses all of it
#[allow(dead_code)]
#[path = "../common/mod.rs"]
mod common;

mod access;
mod execution;
mod exporter;
mod hscan;
mod loading;
mod luxi;
mod memory;
mod mond;
mod rapi;
