//! Effects of clones on resources that need them, instance by instance.

use super::super::change::ResourceChange;
use super::super::needs::Need;
use super::super::wait::WaitReason;
use super::state::InducedChanges;
use crate::index::ResourceIdx;
use crate::placing::AllPlaced;
use crate::working_set::WorkingSet;

/// By resource; true if it is part of an interleaving instance on a host without an instance of a clone that it needs.
/// Such an instance does not count for others, either.
pub(super) fn unmatched(set: &WorkingSet, placed: &AllPlaced, needs: &[Need]) -> Vec<bool> {
    let mut unmatched = vec![false; set.resources.len()];
    let binds = |need: &&Need| {
        need.symmetrical && set.resource(need.first).is_clone() && set.resource(need.then).interleaves()
    };
    let needs: Vec<&Need> = needs.iter().filter(binds).collect();
    let mut again = true;
    while std::mem::take(&mut again) {
        for need in &needs {
            for part in set.primitives(&need.then).iter() {
                let is_new = !unmatched[part.get()] && placed.host(*part).is_some();
                if is_new && !has_match(set, placed, &unmatched, need.first, *part) {
                    unmatched[part.get()] = true;
                    again = true;
                }
            }
        }
    }
    unmatched
}

/// Returns true if a clone has an instance where a resource has its place.
fn has_match(
    set: &WorkingSet,
    placed: &AllPlaced,
    unmatched: &[bool],
    clone: ResourceIdx,
    resource: ResourceIdx,
) -> bool {
    let is_there = |part: &ResourceIdx| !unmatched[part.get()] && placed.host(*part) == placed.host(resource);
    placed.host(resource).is_some() && set.primitives(&clone).iter().any(is_there)
}

impl InducedChanges<'_> {
    /// Returns true if a clone has an instance where a resource has its place.
    fn meets(&self, clone: ResourceIdx, resource: ResourceIdx) -> bool {
        has_match(self.set, self.placed, &self.unmatched, clone, resource)
    }

    /// Returns true if a resource goes by all instances of a clone, not by those on its own host. A bundle counts as one
    /// resource for those that come after it.
    pub(super) fn goes_by_all(&self, need: &Need) -> bool {
        let then = self.set.resource(need.then);
        !then.interleaves() && (then.is_clone() || self.set.bundle(need.first).is_some())
    }

    /// Change of a resource that needs a clone. One instance is enough, but interleaving clones need the one on their
    /// own host. A resource beside an instance that restarts does so, too.
    pub(super) fn needing_clone(&self, need: &Need, resource: ResourceIdx) -> ResourceChange {
        let now = self.of(resource);
        let then = self.set.resource(need.then);
        let interleaves = then.interleaves();
        let goes_by_all = self.goes_by_all(need);
        let here = now.comes_to().or(now.runs_on());
        let instances = || self.set.resource(need.first).members.iter();
        let parts = |instance: &ResourceIdx| self.set.primitives(instance).into_owned();
        let is_here = |part: &ResourceIdx| here.is_some() && self.of(*part).runs_on() == here;
        let runs = |instance: &ResourceIdx| {
            let all = parts(instance);
            let wanted = all.iter().all(|part| !self.is_missing(need, *part));
            wanted && (!interleaves || all.iter().any(is_here))
        };
        let meets = || self.meets(need.first, resource);
        if interleaves && !need.symmetrical && !meets() {
            return now;
        }
        if !instances().any(runs) {
            return self.without_needed(resource, need.symmetrical);
        }
        let is_wanted_here = |part: ResourceIdx| here.is_some() && self.placed.host(part) == here;
        let interrupts = |part: ResourceIdx| {
            // An instance that arrives by a live migration is a new one there, unless clones interleave.
            let comes = self.interrupts(need, part) || self.of(part).migrates() && !interleaves;
            comes && (goes_by_all || is_here(&part))
                || self.lacks_its_place(part) && (goes_by_all || is_wanted_here(part))
        };
        match now {
            ResourceChange::Stay(host) | ResourceChange::Start(host)
                if need.symmetrical
                    && self.has_begun(resource)
                    && instances().flat_map(parts).any(interrupts) =>
            {
                ResourceChange::Restart(host)
            }
            ResourceChange::Migrate { from, to }
                if need.symmetrical
                    && then.is_primitive()
                    && self.set.bundle(need.first).is_none()
                    && instances().flat_map(parts).any(|part| self.restarts_by_itself(part)) =>
            {
                ResourceChange::Move { from, to }
            }
            _ => now,
        }
    }

    /// Returns true if a resource has a place but does not run there, as something that it needs is missing. Missing
    /// quorum does not count.
    fn lacks_its_place(&self, resource: ResourceIdx) -> bool {
        self.set.is_managed(resource)
            && self.causes[resource.get()] != Some(WaitReason::Quorum)
            && self.falls_short(resource)
    }

    /// Returns true if a resource restarts for a reason of its own, not for others, on a host that is not lost. This
    /// holds even if it is not started in the end.
    fn restarts_by_itself(&self, resource: ResourceIdx) -> bool {
        let by_place = self.by_place[resource.get()];
        let restarts = by_place.goes_down() && by_place.comes_up();
        restarts && self.of(resource).stops_on().is_some_and(|host| !self.set.host(host).state.unclean)
    }
}
