//! Ganeti's side of htools: what it and others wrote, read with care; its daemons; and plans carried out.
//!
//! * [`input`]: files and bytes, read with limits; JSON with typed access, and errors that say where.
//! * [`remote`]: addresses, credentials, TLS, one request to LUXI or RAPI and its errors.
//! * [`load`]: where a cluster comes from. One parser a source delivers a [`RawCluster`](load::RawCluster); one
//!   pipeline for all of them ([`merge`](load::merge)) checks, tags and indexes it.
//! * [`generate`]: random clusters for trials, tests and benchmarks.
//! * [`execute`]: a runner over one trait of job clients (LUXI, RAPI), with a journal from which a run goes on after
//!   a crash.

#![deny(missing_docs)]
// the fakes of tests may be public in files that other crates include
#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod execute;
pub mod generate;
pub mod input;
pub mod load;
pub mod remote;
