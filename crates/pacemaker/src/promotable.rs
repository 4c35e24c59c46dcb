//! Facts about promotable clones in a working set, and the effect of their agents' wishes on scores.

use super::additions::{AdditionLog, ScoreSource};
use super::index::ResourceIdx;
use super::promotion::Promotion;
use super::score::AllocationScore;
use super::working_set::WorkingSet;

impl WorkingSet {
    /// The promotion of the clone that a primitive is part of, if that clone is promotable.
    pub fn promotion(&self, resource: ResourceIdx) -> Option<&Promotion> {
        let clone = self.clone_of(resource).unwrap_or(resource);
        self.resource(clone).promotion.as_ref()
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
                let parts = self.primitives(&instance).into_owned();
                for host in self.host_indices() {
                    // A wish does not outweigh that a part is unwanted there.
                    let counts = |part: &ResourceIdx| {
                        self.resource(*part).scores.get(host) >= Some(AllocationScore::ZERO)
                    };
                    let counting = parts.iter().enumerate().filter(|(_, part)| counts(part));
                    let wishes = counting.filter_map(|(at, _)| promotion.part_wish(at, number, host));
                    let wish = wishes.fold(AllocationScore::ZERO, AllocationScore::plus);
                    let scores = &mut self.resources[instance.get()].scores;
                    if wish > AllocationScore::ZERO && scores.get(host).is_some() {
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
