//! Places the resources of Pacemaker clusters exactly as Pacemaker 2.1.5 does, and explains each placement. The crate
//! has a model of its own: hosts with freely named capacities, and resources with scores.
//!
//! * [`cib`] reads the documents that describe a cluster into a [`WorkingSet`].
//! * [`place()`] computes Pacemaker's own placement, and [`optimal()`] the best one. [`transition()`] lists the actions
//!   that lead there; it has an independent checker.
//! * [`why`] explains placements, and [`lint`] finds likely mistakes.
//! * [`measured`] finds the utilization that measured load stands for.
//! * [`loss`] shows the effects of losing hosts, and [`fit`] how many more resources fit.
//! * [`rolling`] plans which nodes can be down at the same time.
//! * [`pinning`] finds the constraints that bring a cluster to another placement than its own; [`execute`] carries them
//!   out.
//!
//! Modules depend on each other in one direction only. [`working_set`] comes first, then the records of placing
//! ([`placing`], scores and their parts), then placing itself, [`mod@optimal`] and [`mod@transition`]. The modules that
//! query these come last.

#![deny(missing_docs)]
#![cfg_attr(not(test), warn(unreachable_pub))]
#![warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]

mod additions;
mod belonging;
mod bundle;
mod bundling;
pub mod capacity;
pub mod cib;
mod clones;
mod components;
mod discovery;
pub mod execute;
pub mod fit;
mod foresight;
mod guest;
mod hearing;
pub mod index;
mod initial;
pub mod lint;
pub mod loss;
pub mod measured;
mod merge;
mod merging;
pub(crate) mod method;
mod new_status;
mod number;
pub mod optimal;
mod optimum;
mod paths;
mod permissions;
pub mod pinning;
mod place;
pub mod placing;
pub mod preference;
mod promotable;
mod promoting;
pub mod promotion;
pub mod quantity;
pub mod release;
mod replicas;
mod resource;
mod resting;
mod resting_document;
pub mod rolling;
pub mod score;
mod sequence;
mod shift;
mod shown_order;
mod status_splice;
mod strays;
mod ticket_effects;
pub mod tickets;
pub mod transition;
pub mod why;
pub mod wishes;
mod with_clone;
pub mod working_set;

pub use additions::{AdditionLog, ScoreAddition, ScorePart, ScoreSource};
pub use capacity::Capacities;
pub use guest::UnsearchedNode;
pub use index::{AttributeIdx, HostIdx, ResourceIdx};
pub use method::PlacementMethod;
pub use optimal::{additions, optimal};
pub use place::{PlacingError, place};
pub use placing::{AllPlaced, Assignment, DecidedBy, PlacingEvent};
pub use release::Release;
pub use resting::at_rest;
pub use score::{AllocationScore, HostScore, ScoreTable};
pub use shown_order::by_shown_name;
pub use transition::{ResourceChange, ResourceChanges, Transition, WaitReason, transition};
pub use working_set::{Strategy, WorkingSet};
