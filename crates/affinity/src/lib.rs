//! Placement by affinity keys. The operator's keys and thresholds come first; among the remaining nodes the customers'
//! keys decide. The algorithm is Flexiant's, as interpreted in docs/affinity.md; there is no program to compare with.
//!
//! * [`bridges`]: Ganeti clusters as hosts and machines, and Pacemaker clusters as nodes and instances.
//! * [`simulation`]: comparison of strategies over a year in which machines come and go.

#![deny(missing_docs)]
#![cfg_attr(not(test), warn(unreachable_pub))]

mod allocation;
pub mod bridges;
mod carry;
mod choose;
mod colocated;
pub mod document;
mod fleet;
mod ganeti;
mod keys;
mod occupancy;
mod pacemaker;
mod relocations;
pub mod simulation;
mod units;
mod unmet;

pub use allocation::{AffinityRule, PrimaryRecord};
pub use carry::carry_keys;
pub use choose::{
    ChoiceDetail, MachineChoice, MachineOrder, Misplaced, NodeVerdict, by_worth, choose, misplaced, place_all,
};
pub use fleet::{AffinityOptions, Fleet, FleetNode, Machine};
pub use ganeti::{ClusterKeys, FleetFigures, fleet_of};
pub use keys::{
    AffinityKey, CompiledKey, CompiledKeys, KeyError, KeyLevel, KeyOwner, LARGEST, LevelKeys, NodeKey,
    SPECIAL, compiled,
};
pub use occupancy::{DetachedMachine, KeyTerm, NodeRefusal, Occupancy, started_with};
pub use pacemaker::{AttributeBearer, KeyAttributeFault, PacemakerFleet, fleet_of_set};
pub use relocations::{KeyRelocations, StuckMachine, relocations};
pub use unmet::{UnmetKey, unmet, unmet_in};
