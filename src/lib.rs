//! htools plans where the virtual machines and resources of Ganeti and Pacemaker clusters run, and carries the plans out.
//!
//! # Crates
//!
//! The libraries model clusters and search for better placements. One program plays every tool, by the name under which
//! it is called. Each crate uses only those above it in this list; the compiler enforces that.
//!
//! | crate | here | content |
//! |---|---|---|
//! | `htools-model` | [`model`], [`score`], [`redundancy`] | nodes, instances, groups, the rules that refuse a placement, its score, and what survives a loss |
//! | `htools-plan` | [`plan`] | plans as graphs of steps, schedules, opcodes, commands, and an independent checker |
//! | `htools-ganeti` | [`input`], [`remote`], [`load`], [`generate`], [`execute`] | files and daemons, one pipeline from any source to the model, and the execution of plans with a journal |
//! | `htools-search` | [`search`] | the search for the best change: balancing, placing, filling, freeing, groups, maintenance, repair |
//! | `htools-pacemaker` | [`pacemaker`] | Pacemaker's clusters: documents, placement exactly as Pacemaker's, transitions, the best placement |
//! | `htools-affinity` | [`affinity`] | affinity keys, their simulator, and the bridges between both models |
//! | `htools` | [`report`], [`tools`] | output (text, JSON, HTML, metrics), and the tools: options, load, search, plan, report |
//!
//! The start page of each crate describes its modules. A change of a cluster is a [`Step`](model::Step): the
//! [`Move`](model::Move) of an instance, with its nodes before and after. A search tries several changes on a
//! [`Draft`](model::Draft), and takes them back. A plan is [`Work`](plan::work::Work), which is complete and uses names
//! only. Jobs, commands, time tables and documents are views of it. The tools contain no algorithms.
//!
//! `examples/library.rs` shows the use of the library: load, check, place, balance, plan.
//!
//! # The reference
//!
//! Standard output and exit statuses are those of Ganeti's htools 3.0.2, except for the entries of
//! `docs/differences.md`. There the last bit of a score can decide between two moves. Therefore exact scores are
//! computed in one fixed order of operations, and faster computations only decide which scores can be left out.

#![deny(missing_docs)]
#![cfg_attr(not(test), warn(unreachable_pub))]

pub use htools_affinity as affinity;
pub use htools_ganeti::execute;
pub use htools_ganeti::generate;
pub use htools_ganeti::input;
pub use htools_ganeti::load;
pub use htools_ganeti::remote;
pub use htools_model as model;
pub use htools_model::redundancy;
pub use htools_pacemaker as pacemaker;
pub use htools_plan as plan;
pub mod report;
pub use htools_model::score;
pub use htools_search as search;
pub mod tools;
