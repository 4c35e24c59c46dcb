//! Promotable clones: roles of their instances, and the scores by which instances are promoted.

use htools_model::words;

use super::additions::{AdditionLog, ScoreSource};
use super::index::{HostIdx, ResourceIdx};
use super::score::AllocationScore;
use super::working_set::{Colocation, WorkingSet};

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

/// Properties of a promotable clone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Promotion {
    /// Greatest number of promoted instances (`promoted-max`); 0 if none may be promoted on a host.
    pub most: usize,
    /// True if its instances should not be promoted (`target-role=Unpromoted`).
    pub unwanted: bool,
    /// By instance and host, the score of the node attribute by which its agent wants to be promoted there; `None`
    /// without one.
    pub wishes: Vec<Vec<Option<AllocationScore>>>,
    /// By instance, the greatest of these wishes that counts for its place, or its priority if that is greater.
    pub greatest: Vec<AllocationScore>,
    /// True if Pacemaker makes up another instance for hosts where its primitive was looked for but does not run.
    pub has_extra: bool,
    /// Hosts on which a promotion failed.
    pub failed_on: Vec<HostIdx>,
}

impl Promotion {
    /// Wish of the agent of an instance, by its number, on a host.
    pub(super) fn wish(&self, number: usize, host: HostIdx) -> Option<AllocationScore> {
        self.wishes.get(number).and_then(|row| row.get(host.get())).copied().flatten()
    }
}

/// Score by which an instance of a promotable clone may be promoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromotionScore {
    /// The instance.
    pub instance: ResourceIdx,
    /// Its host, if it has one.
    pub host: Option<HostIdx>,
    /// The score; an instance with one below 0 is not promoted.
    pub score: AllocationScore,
}

/// An instance of a promotable clone that Pacemaker makes up for hosts where its primitive does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtraInstance {
    /// Its number.
    pub number: usize,
    /// Its place among the promotion scores.
    pub place: usize,
}

impl WorkingSet {
    /// The promotion of the clone that a primitive is part of, if that clone is promotable.
    pub fn promotion(&self, resource: ResourceIdx) -> Option<&Promotion> {
        let clone = self.clone_of(resource).unwrap_or(resource);
        self.resource(clone).promotion.as_ref()
    }

    /// The role of a colocation's primary that counts; `None` for any. Pacemaker quirk: without one, that of the
    /// dependent counts for a promotable clone, unless the colocation is mandatory.
    pub(super) fn primary_role(&self, colocation: &Colocation) -> Option<Role> {
        let has_roles = self.resource(colocation.primary).promotion.is_some();
        let is_must = colocation.score == AllocationScore::INFINITY;
        colocation.primary_role.or(colocation.dependent_role.filter(|_| has_roles && !is_must))
    }

    /// Returns true if some clone is promotable.
    pub fn has_promotable(&self) -> bool {
        self.resources.iter().any(|resource| resource.promotion.is_some())
    }

    /// Returns true if a part of a resource runs in the promoted role.
    pub(super) fn is_promoted(&self, resource: ResourceIdx) -> bool {
        self.primitives(&resource).iter().any(|part| self.resource(*part).promoted)
    }

    /// Adds the wishes of agents to be promoted to the scores of instances. Those below 0 keep no instance away.
    pub(super) fn add_promotion_wishes(&mut self, log: &mut AdditionLog) {
        for clone in self.clones().collect::<Vec<_>>() {
            let details = self.resource(clone);
            let Some(promotion) = details.promotion.clone() else { continue };
            let mut greatest = Vec::new();
            for (number, instance) in details.members.clone().into_iter().enumerate() {
                let mut most = self.resource(instance).priority;
                for host in self.host_indices() {
                    let wish = promotion.wish(number, host).filter(|wish| *wish > AllocationScore::ZERO);
                    let scores = &mut self.resources[instance.get()].scores;
                    if let Some(wish) = wish.filter(|_| scores.get(host) >= Some(AllocationScore::ZERO)) {
                        scores.add(host, wish);
                        most = most.max(wish);
                        log.note_one(instance, ScoreSource::Promotion, host, wish);
                    }
                }
                greatest.push(most);
            }
            if let Some(promotion) = &mut self.resources[clone.get()].promotion {
                promotion.greatest = greatest;
            }
        }
    }
}
