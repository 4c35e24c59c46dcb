//! Promotable clones: roles of their instances, and the scores by which instances are promoted.

use std::collections::{BTreeMap, BTreeSet};

use htools_model::words;

use super::index::{HostIdx, ResourceIdx};
use super::score::AllocationScore;

words!(
    /// Role of a running primitive.
    pub Role, "role" {
        /// It runs, and another instance may be in charge.
        Unpromoted = "Unpromoted",
        /// It is in charge.
        Promoted = "Promoted",
    }
);

impl Role {
    /// The role of a running primitive that is promoted or not.
    #[must_use]
    pub fn of(promoted: bool) -> Role {
        if promoted { Role::Promoted } else { Role::Unpromoted }
    }
}

/// Host and role of a primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct RunState {
    /// The host on which it runs; none if it does not run.
    pub host: Option<HostIdx>,
    /// True if it is promoted there.
    pub promoted: bool,
}

impl RunState {
    /// This state, if it runs.
    pub(super) fn running(self) -> Option<RunState> {
        self.host.map(|_| self)
    }
}

/// The scores by which an agent wants to be promoted, by host. Most instances have one on a single host.
pub type HostWishes = BTreeMap<HostIdx, AllocationScore>;

/// Properties of a promotable clone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Promotion {
    /// Greatest number of promoted instances (`promoted-max`).
    pub most: usize,
    /// Greatest number of them on one host (`promoted-node-max`).
    pub per_host: usize,
    /// True if its instances should not be promoted (`target-role=Unpromoted`).
    pub unwanted: bool,
    /// For each part of an instance, of which a group has several: by instance and host, the score of the node attribute
    /// by which the agent wants to be promoted there.
    pub wishes: Vec<Vec<HostWishes>>,
    /// True if the hosts of these wishes are those of containers, and not those in the containers.
    pub of_container_hosts: bool,
    /// By instance, the greatest of these wishes that counts for its place, or its priority if that is greater.
    pub greatest: Vec<AllocationScore>,
    /// True if Pacemaker makes up another instance for hosts where its primitive was looked for but does not run.
    pub has_extra: bool,
}

impl Promotion {
    /// Wish of the agent of a part of an instance, by their numbers, on a host.
    pub(super) fn part_wish(&self, part: usize, number: usize, host: HostIdx) -> Option<AllocationScore> {
        self.wishes.get(part)?.get(number)?.get(&host).copied()
    }

    /// The hosts on which the agent of any part of an instance has a wish.
    pub(super) fn wished_hosts(&self, number: usize) -> BTreeSet<HostIdx> {
        self.wishes.iter().filter_map(|rows| rows.get(number)).flat_map(HostWishes::keys).copied().collect()
    }
}

/// Source of a part of a promotion score. Constraints are named by their positions in the working set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromotionSource {
    /// The agent asks for it, by a node attribute.
    Agent,
    /// The agent does not ask for it.
    Unasked,
    /// It is promoted and not managed.
    Unmanaged,
    /// No instance is meant to be promoted (`target-role`).
    TargetRole,
    /// A promotion of the instance failed.
    Failed,
    /// A member of the instance, which is a group, has no place.
    Partial,
    /// A location, in [`WorkingSet::promotion_locations`](crate::WorkingSet::promotion_locations).
    Location(usize),
    /// The best placement promotes the instance.
    BestPlacement,
    /// A ticket is missing: the position of the constraint in [`Tickets::rules`](super::tickets::Tickets::rules).
    Ticket(usize),
    /// The score of the whole clone on the host.
    Clone,
    /// A colocation, in [`WorkingSet::colocations`](crate::WorkingSet::colocations).
    Colocation(usize),
}

/// A part of a promotion score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromotionPart {
    /// Its source.
    pub source: PromotionSource,
    /// Its amount.
    pub score: AllocationScore,
}

/// Score by which an instance of a promotable clone may be promoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromotionScore {
    /// The instance.
    pub instance: ResourceIdx,
    /// Its host, if it has one.
    pub host: Option<HostIdx>,
    /// The score; an instance with one below 0 is not promoted.
    pub score: AllocationScore,
    /// Its parts, in the order in which they were added.
    pub parts: Vec<PromotionPart>,
}

impl PromotionScore {
    /// Adds a part.
    pub(super) fn add(&mut self, source: PromotionSource, score: AllocationScore) {
        self.score = self.score.plus(score);
        self.parts.push(PromotionPart { source, score });
    }
}

/// An instance of a promotable clone that Pacemaker makes up for hosts where its primitive does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtraInstance {
    /// Its number.
    pub number: usize,
    /// Its place among the promotion scores.
    pub place: usize,
}
