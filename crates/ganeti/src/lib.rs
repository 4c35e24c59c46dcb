//! Ganeti's side of htools: reading of its data, connections to its daemons, and execution of plans.
//!
//! * [`input`]: files and bytes, read with limits; JSON with typed access, and errors that name the place.
//! * [`remote`]: addresses, credentials, TLS, and single requests to LUXI or RAPI with their errors.
//! * [`load`]: loading of clusters. A parser for each source returns a [`RawCluster`](load::RawCluster). One pipeline
//!   for all of them ([`merge`](load::merge)) checks, tags and indexes it.
//! * [`generate`]: random clusters for trials, tests and benchmarks.
//! * [`execute`]: a runner over a common trait of job clients (LUXI, RAPI), with a journal from which a run can resume
//!   after a crash.

#![deny(missing_docs)]
// Fakes for tests may be public in files that other crates include.
#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod execute;
pub mod generate;
pub mod input;
pub mod load;
pub mod remote;
