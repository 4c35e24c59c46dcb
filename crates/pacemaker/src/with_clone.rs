//! Effect of colocations with clones, and of colocations of instances in one role.

use std::collections::HashSet;

use super::additions::ScoreSource;
use super::index::{HostIdx, ResourceIdx};
use super::place::{Placer, PlacingState};
use super::promotion::Role;
use super::score::AllocationScore;
use super::working_set::Colocation;

impl Placer<'_> {
    /// Adds to the scores of a resource the effect of a colocation with a clone.
    pub(super) fn apply_clone(&mut self, resource: ResourceIdx, at: usize) {
        let set = self.set;
        let colocation = &set.colocations[at];
        let is_aside = set.counts_for_primary_alone(colocation);
        let role = colocation.primary_role.filter(|_| !is_aside);
        if !matches!(self.progress[colocation.primary.get()], PlacingState::Done(_)) {
            return;
        }
        let instances = self.in_turn(colocation.primary).to_vec();
        // Blocked instances attract no one.
        let is_blocked = |part: &ResourceIdx| set.resource(*part).is_blocked();
        let touched = instances.iter().filter(|one| !set.primitives(one).iter().any(is_blocked));
        let is_must = colocation.score == AllocationScore::INFINITY;
        let interleaves = set.goes_by_instances(colocation.dependent, colocation.primary);
        // A container has its counterpart whatever the role of that is, which then decides whether the colocation counts.
        let is_paired =
            interleaves && set.bundle(colocation.primary).is_some() && set.release.follows_roles_of_bundles();
        let touched = touched.filter(|one| is_paired || self.has_role(**one, role));
        let places: Vec<HostIdx> = touched.filter_map(|one| self.whole_place(*one)).collect();
        if is_aside && !interleaves {
            return;
        }
        if interleaves && (role.is_none() || is_paired) {
            let table = &self.tables[resource.get()];
            let hosts = table.iter().map(|(host, _)| host).collect();
            let hosts = self.preference.sorted(hosts, table, None);
            let near = hosts.into_iter().find(|host| places.contains(host));
            // A role that the clone does not have matters only if no instance has a place.
            if near.is_none() && is_must && set.bundle(colocation.primary).is_some() {
                self.forbid_everywhere(resource, at);
            } else if near.is_some() && !is_aside || near.is_none() && is_must {
                // In a group, the member that stands for it counts, and that may have no place.
                let mut beside = instances.iter().filter(|one| {
                    near.is_some() && self.whole_place(**one) == near && self.has_role(**one, role)
                });
                let beside = beside.next();
                if is_paired && near.is_some() && beside.is_none() {
                    return;
                }
                let part = beside.and_then(|one| set.member(*one, is_must));
                self.apply_place(resource, at, part.and_then(|part| self.place_of(part)));
            }
        } else if is_must {
            for host in set.host_indices() {
                // In an opt-in cluster, a host with an instance is also forbidden if nothing opts in there.
                if !places.contains(&host) {
                    self.forbid(resource, ScoreSource::With(at), host);
                } else if self.tables[resource.get()].get(host).is_none()
                    && set.release.refuses_beside_clones()
                {
                    let never = AllocationScore::MINUS_INFINITY;
                    self.tables[resource.get()].add_or_set(host, never);
                    self.log.note_one(resource, ScoreSource::With(at), host, never);
                }
            }
            if colocation.primary_role.is_some() && set.bundle(colocation.primary).is_none() {
                self.add_scores_in_role(resource, at);
            }
        } else {
            let is_bundle = set.bundle(colocation.primary).is_some();
            // Containers come by their numbers.
            let instances = if is_bundle { &set.resource(colocation.primary).members } else { &instances };
            let is_surplus = |one: &ResourceIdx| set.resource(*one).surplus;
            let turns = self.turns.get(&colocation.primary).into_iter().flatten().copied();
            let tried: HashSet<ResourceIdx> = turns.filter(is_surplus).collect();
            let had_turn = |one: &&ResourceIdx| is_bundle || !is_surplus(one) || tried.contains(one);
            let in_role = instances.iter().filter(had_turn).filter(|one| self.has_role(**one, role));
            let firsts = in_role.filter_map(|one| set.member(*one, false));
            let mut places: Vec<Option<HostIdx>> = firsts.map(|first| self.place_of(first)).collect();
            if !is_bundle && !self.by_promotion.contains_key(&colocation.primary) {
                // Instances without a place had their turn last.
                places.sort_by_key(Option::is_none);
            }
            match role {
                Some(_) => self.apply_places(resource, at, &places),
                None => places.into_iter().for_each(|place| self.apply_place(resource, at, place)),
            }
        }
    }

    /// Forbids a resource all hosts by a colocation.
    fn forbid_everywhere(&mut self, resource: ResourceIdx, at: usize) {
        let never = AllocationScore::MINUS_INFINITY;
        for host in self.set.host_indices() {
            self.tables[resource.get()].add_or_set(host, never);
            self.log.note_one(resource, ScoreSource::With(at), host, never);
        }
    }

    /// Forbids an instance all hosts if, in any role, it must be with a bundle that has a container on none of them.
    pub(super) fn forbid_without_containers(&mut self, resource: ResourceIdx, at: usize) {
        let set = self.set;
        let colocation = &set.colocations[at];
        let Some(mut places) = self.containers_needed(colocation) else { return };
        let is_near = places.any(|host| self.tables[resource.get()].get(host).is_some());
        drop(places);
        if set.goes_by_instances(colocation.dependent, colocation.primary) && !is_near {
            self.forbid_everywhere(resource, at);
        }
    }

    /// The hosts of a bundle's containers, once they have their places, if a mandatory colocation demands one of them in
    /// any role; `None` if it does not.
    pub(super) fn containers_needed(
        &self,
        colocation: &Colocation,
    ) -> Option<impl Iterator<Item = HostIdx> + '_> {
        let bundle = self.set.bundle(colocation.primary)?;
        let is_needed = self.set.release.follows_roles_of_bundles()
            && colocation.score == AllocationScore::INFINITY
            && matches!(self.progress[colocation.primary.get()], PlacingState::Done(_));
        is_needed.then(|| bundle.replicas.iter().filter_map(|replica| self.place_of(replica.container)))
    }

    /// The instances of a clone: in the order of their promotion scores, or else of their turns, as far as they had them.
    pub(super) fn in_turn(&self, clone: ResourceIdx) -> &[ResourceIdx] {
        let sorted = self.by_promotion.get(&clone).or_else(|| self.turns.get(&clone));
        sorted.unwrap_or(&self.set.resource(clone).members)
    }

    /// Returns true if an instance has its place in a role. Any role fits if none is given.
    pub(super) fn has_role(&self, instance: ResourceIdx, role: Option<Role>) -> bool {
        let parts = self.set.primitives(&instance);
        // A container has the role of the instance inside.
        let inner = |part: &ResourceIdx| self.set.instance_inside(*part).unwrap_or(*part);
        let has_place = parts.iter().any(|part| self.place_of(inner(part)).is_some());
        let is_promoted = parts.iter().any(|part| self.is_promoted(*part));
        role.is_none_or(|role| has_place && is_promoted == (role == Role::Promoted))
    }

    /// Returns true for a promoted primitive, and for the container of a promoted instance.
    fn is_promoted(&self, primitive: ResourceIdx) -> bool {
        let inside = self.set.instance_inside(primitive).unwrap_or(primitive);
        self.promoted[inside.get()]
    }

    /// Adds to the scores of a resource those of the instances in the role of a colocation, each on its host. For an
    /// unmanaged instance, its host alone counts.
    fn add_scores_in_role(&mut self, resource: ResourceIdx, at: usize) {
        let set = self.set;
        let colocation = &set.colocations[at];
        for instance in &set.resource(colocation.primary).members {
            let Some(host) = self.whole_place(*instance) else { continue };
            if !self.has_role(*instance, colocation.primary_role) {
                continue;
            }
            let Some(member) = set.member(*instance, false) else { continue };
            let score = match set.is_managed(member) {
                true => self.tables[member.get()].or_never(host),
                false => set.host(host).worth_as_it_is(),
            };
            if self.tables[resource.get()].get(host).is_some() {
                self.tables[resource.get()].add(host, score);
                self.log.note_one(resource, ScoreSource::With(at), host, score);
            }
        }
    }

    /// Returns true if a colocation, which concerns one role of its dependents, does not count for their places.
    pub(super) fn concerns_promotion_alone(&self, colocation: &Colocation) -> bool {
        let Colocation { dependent, primary, .. } = *colocation;
        let mut ends = [dependent, primary].into_iter();
        if self.set.release.follows_roles_of_bundles() && ends.any(|end| self.set.bundle(end).is_some()) {
            return colocation.dependent_role.is_some();
        }
        let is_clone = self.set.resource(primary).is_clone() && self.set.bundle(primary).is_none();
        let attracts = colocation.score > AllocationScore::ZERO;
        let dependent = self.set.clone_of(dependent).unwrap_or(dependent);
        let promotion = &self.set.resource(dependent).promotion;
        let stays_unpromoted = || promotion.as_ref().is_some_and(|promotion| promotion.unwanted);
        match colocation.dependent_role {
            None => false,
            Some(Role::Promoted) => attracts && (!is_clone || colocation.score.is_infinite()),
            // Pacemaker quirk: with a clone, the unpromoted role stands for any.
            Some(Role::Unpromoted) if is_clone => false,
            // Pacemaker quirk: if the role is known before, attraction counts, and aversion does not.
            Some(Role::Unpromoted) => attracts != stays_unpromoted(),
        }
    }
}
