//! Moves between node groups.
//!
//! - [`status`] shows the health of the groups and the pools that connect them.
//! - [`redistribute`] moves instances out of unhealthy groups until these are healthy.
//! - [`compress`] finds groups that can be emptied.
//! - [`balance`] balances the load of the groups, step by step or with all moves together.
//!
//! An instance goes to the best place among all nodes of the possible groups (`reach`), as a new instance
//! would; [`crossing`] is the move that takes it there. Only healthy groups take instances, so that a plan
//! makes no group worse. docs/groups.md explains the rules with examples.

pub mod balance;
mod bound;
pub mod compress;
mod deep;
mod detour;
pub mod health;
pub mod load;
mod place;
pub(crate) mod reach;
pub mod redistribute;
mod room;
mod stage;
pub mod status;
#[cfg(test)]
mod tests;

pub use bound::EmptyingProof;
pub use place::{Placing, crossing};

use super::why::{GroupWhy, StayCause};
use health::Condition;
use htools_model::redundancy::global::{Scope, groups_at_risk};
use htools_model::{Cluster, GroupIdx, InstanceIdx, StorageMap};

/// Conditions for all moves between groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegroupOptions {
    /// Every node that can be emptied must remain so (global N+1).
    pub capacity_checks: bool,
    /// Maximum number of moves in a plan.
    pub max_moves: Option<usize>,
}

impl Default for RegroupOptions {
    fn default() -> Self {
        RegroupOptions { capacity_checks: true, max_moves: None }
    }
}

/// Constant data for the search for places during a plan.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// Storage pools and the nodes that reach them.
    pub storage: StorageMap,
    /// Requirement that nodes can be emptied; `None` if it is off.
    pub(crate) redundancy: Option<Scope>,
}

impl Setting {
    /// Examines a cluster before anything moves. Groups that cannot lose a node at the start are exempt from
    /// the requirement.
    pub(crate) fn of(cluster: &Cluster, options: &RegroupOptions) -> Setting {
        let scope = || {
            let all = Scope { online_only: true, ..Scope::default() };
            Scope { exempt: groups_at_risk(cluster, &all).into_iter().collect(), ..all }
        };
        Setting { storage: StorageMap::of(cluster), redundancy: options.capacity_checks.then(scope) }
    }

    /// Problems of a group. Emptying nodes is checked only if that is required.
    pub(crate) fn condition(&self, cluster: &Cluster, group: GroupIdx) -> Condition {
        Condition::of(cluster, group, self.redundancy.is_some())
    }
}

/// An instance that finds no place, with the reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocked {
    /// The instance.
    pub instance: InstanceIdx,
    /// The reason.
    pub why: StayReason,
}

/// The reason why an instance stays in its group.
#[derive(Debug, Clone, PartialEq)]
pub enum StayReason {
    /// It must not move.
    Held(StayCause),
    /// No other group has a place; the list has the obstacles in each.
    NoPlace(Vec<GroupWhy>),
}
