//! htools plans where the virtual machines of a Ganeti cluster live.
//!
//! # The house
//!
//! Libraries know what a cluster is and what is best for it; one program plays every tool by the name under which it is
//! called. Each crate knows those above it in this list and nothing else; the compiler holds that.
//!
//! | crate | here | what it is |
//! |---|---|---|
//! | `htools-model` | [`model`], [`score`], [`redundancy`] | nodes, instances, groups, the rules that refuse a placement, how good a placement is, what survives a loss |
//! | `htools-plan` | [`plan`] | steps as a graph of what waits for what, schedules, opcodes, commands, and an independent checker |
//! | `htools-ganeti` | [`input`], [`remote`], [`load`], [`generate`], [`execute`] | files and daemons, one pipeline from any source to the model, plans carried out with a journal |
//! | `htools-search` | [`search`] | which change is best: balancing, placing, filling, freeing, groups, maintenance, repair |
//! | `htools-pacemaker` | [`pacemaker`] | Pacemaker's clusters: documents, placement exactly as Pacemaker's, transitions, the best placement |
//! | `htools-affinity` | [`affinity`] | affinity keys, their simulator, and the bridges between both models |
//! | `htools` | [`report`], [`tools`] | what is shown (text, JSON, HTML, metrics), and the tools: options, load, search, plan, report |
//!
//! The start page of each crate says what is in its rooms. A change of a cluster is a [`Step`](model::Step): whose
//! [`Move`](model::Move), from where to where. Several changes are tried, and taken back, on a [`Draft`](model::Draft).
//! A plan is [`Work`](plan::work::Work): complete, and in names; jobs, commands, time tables and documents are views
//! of it. No algorithm lives in the tools.
//!
//! `examples/library.rs` shows how it is used: load, check, place, balance, plan.
//!
//! # The reference
//!
//! The programs answer as Ganeti's own htools 3.0.2 do, on standard output and
//! by exit status, except where `docs/differences.md` says otherwise. Ties
//! between moves are decided there by the last bit of a score, so exact scores
//! are computed in one fixed order, and everything faster than that only decides
//! which scores need not be computed.

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
