//! Where resources are wanted before anything is placed.

use super::super::index::ResourceIdx;
use super::super::score::AllocationScore;
use super::Reader;

impl Reader<'_, '_> {
    /// Fills the table of every resource: base scores, constraints, stickiness, failures.
    pub(super) fn set_scores(&mut self) {
        if self.set.symmetric {
            for host in self.set.host_indices() {
                let base = self.set.host(host).base;
                self.set.resources.iter_mut().for_each(|resource| resource.scores.set(host, base));
            }
        }
        self.add_locations();
        for resource in self.set.resource_indices() {
            self.add_own(resource);
        }
    }

    fn add_locations(&mut self) {
        let set = &mut self.set;
        for location in &set.locations {
            let (host, score) = (location.host, location.score);
            let of = &mut set.resources[location.resource.get()];
            of.scores.add_or_set(host, score);
            let members = of.members.clone();
            for (at, member) in members.into_iter().enumerate() {
                let score = if at == 0 { score } else { AllocationScore::ZERO };
                set.resources[member.get()].scores.add_or_set(host, score);
            }
        }
    }

    /// What a resource is worth where it runs, and never again where it failed.
    fn add_own(&mut self, resource: ResourceIdx) {
        let symmetric = self.set.symmetric;
        let of = &mut self.set.resources[resource.get()];
        if of.is_group {
            return;
        }
        let sticky = of.managed && of.stickiness > AllocationScore::ZERO;
        if let Some(host) = of.active.filter(|host| sticky && (symmetric || of.scores.get(*host).is_some())) {
            of.scores.add_or_set(host, of.stickiness);
        }
        for (host, _) in of.failed_on.clone() {
            of.scores.add_or_set(host, AllocationScore::MINUS_INFINITY);
        }
        if let Some(host) = of.active.filter(|_| !of.managed) {
            let worth = self.set.hosts[host.get()].worth();
            let score = of.scores.get(host).unwrap_or(worth);
            of.scores.set(host, score.plus(AllocationScore::INFINITY));
        }
    }
}
