//! Moves between node groups.
//!
//! [`status`] says how the groups are and which pools connect them. [`redistribute`] takes
//! instances out of groups that are not healthy until they are, [`compress`] finds groups
//! that can be emptied, [`balance`] evens out the load of the groups, with one move
//! after the other or all together.
//!
//! An instance goes to the best place among all nodes of the groups that come into question
//! (`reach`), as a new instance would; how it gets there is [`crossing`]. Only healthy
//! groups take instances, so that a plan makes no group worse. docs/groups.md explains the
//! rules with examples.

pub mod balance;
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

pub use place::{Placing, crossing};

use super::why::{GroupWhy, Hold};
use health::Condition;
use htools_model::redundancy::global::{Scope, groups_at_risk};
use htools_model::{Cluster, GroupIdx, InstanceIdx, StorageMap};

/// What is asked of all moves between groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegroupOptions {
    /// Whether every node that could be emptied must remain so (global N+1).
    pub capacity_checks: bool,
    /// Most moves of a plan.
    pub max_moves: Option<usize>,
}

impl Default for RegroupOptions {
    fn default() -> Self {
        RegroupOptions { capacity_checks: true, max_moves: None }
    }
}

/// What a search for places has to know, and what does not change in the course of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// The storage.
    pub storage: StorageMap,
    /// Which nodes have to stay expendable; nothing if that is not asked for.
    pub(crate) redundancy: Option<Scope>,
}

impl Setting {
    /// Looks at a cluster before anything is moved. Groups that could not lose a node from
    /// the start are not held to it.
    pub(crate) fn of(cluster: &Cluster, options: &RegroupOptions) -> Setting {
        let scope = || {
            let all = Scope { online_only: true, ..Scope::default() };
            Scope { exempt: groups_at_risk(cluster, &all).into_iter().collect(), ..all }
        };
        Setting { storage: StorageMap::of(cluster), redundancy: options.capacity_checks.then(scope) }
    }

    /// What is wrong in a group; whether its nodes could be emptied only where that is asked for.
    pub(crate) fn condition(&self, cluster: &Cluster, group: GroupIdx) -> Condition {
        Condition::of(cluster, group, self.redundancy.is_some())
    }
}

/// An instance that finds no place, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocked {
    /// The instance.
    pub instance: InstanceIdx,
    /// What is in the way.
    pub why: Why,
}

/// Why an instance stays in its group.
#[derive(Debug, Clone, PartialEq)]
pub enum Why {
    /// It does not move at all.
    Held(Hold),
    /// No other group has a place: what is in the way in each.
    NoPlace(Vec<GroupWhy>),
}
