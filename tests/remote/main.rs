//! Reading of clusters and execution of plans, with servers on sockets and on the loopback interface.

// Each test program uses only a part of it.
#[allow(dead_code)]
#[path = "../common/mod.rs"]
mod common;

mod access;
mod execution;
mod exporter;
mod forecast;
mod hscan;
mod loading;
mod luxi;
mod measured;
mod memory;
mod mond;
mod prometheus;
mod rapi;
