//! Structure of resources: members of groups, instances of clones, and the host of the whole.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::index::{HostIdx, ResourceIdx};
use super::score::AllocationScore;
use super::working_set::{Colocation, Replica, Resource, ResourceForm, WorkingSet};

impl WorkingSet {
    /// The resources that belong to no group and no clone.
    pub fn top_level(&self) -> impl Iterator<Item = ResourceIdx> + '_ {
        let belongs = |resource: &Resource| {
            resource.group.is_some() || resource.instance_of.is_some() || resource.in_bundle
        };
        self.resource_indices().filter(move |resource| !belongs(self.resource(*resource)))
    }

    /// All groups.
    pub fn groups(&self) -> impl Iterator<Item = ResourceIdx> + '_ {
        self.resource_indices().filter(|resource| self.resource(*resource).is_group())
    }

    /// The members of an ordered group, each of which starts after the one before it; empty for all other resources.
    pub fn in_order(&self, group: ResourceIdx) -> &[ResourceIdx] {
        let details = self.resource(group);
        match details.form {
            ResourceForm::Group { ordered: true, .. } => &details.members,
            _ => &[],
        }
    }

    /// The members of a group or of all instances of a clone, or the primitive itself.
    pub fn primitives<'a>(&'a self, resource: &'a ResourceIdx) -> Cow<'a, [ResourceIdx]> {
        let details = self.resource(*resource);
        match details.form {
            ResourceForm::Primitive => Cow::Borrowed(std::slice::from_ref(resource)),
            ResourceForm::Group { .. } => Cow::Borrowed(&details.members),
            ResourceForm::Clone { .. } => {
                let members = |instance: &ResourceIdx| {
                    if self.resource(*instance).is_group() {
                        self.resource(*instance).members.clone()
                    } else {
                        vec![*instance]
                    }
                };
                Cow::Owned(details.members.iter().flat_map(members).collect())
            }
        }
    }

    /// The clone of which a resource is an instance, or part of one.
    pub fn clone_of(&self, resource: ResourceIdx) -> Option<ResourceIdx> {
        let details = self.resource(resource);
        details.instance_of.or_else(|| self.resource(details.group?).instance_of)
    }

    /// The instances that a clone should have.
    pub(super) fn wanted_instances(&self, clone: ResourceIdx) -> impl Iterator<Item = ResourceIdx> + use<'_> {
        self.resource(clone).members.iter().copied().filter(|one| !self.resource(*one).surplus)
    }

    /// A resource and all its parts, each before its own.
    pub(super) fn parts_with(&self, whole: ResourceIdx) -> Vec<ResourceIdx> {
        let members = self.resource(whole).members.iter().flat_map(|member| self.parts_with(*member));
        std::iter::once(whole).chain(members).collect()
    }

    /// Name of a primitive. For an instance of a clone it lacks the instance number, as in Pacemaker.
    pub fn common_name(&self, resource: ResourceIdx) -> &str {
        let id = &self.resource(resource).id;
        match self.clone_of(resource).and_then(|_| id.rsplit_once(':')) {
            Some((name, _)) => name,
            None => id,
        }
    }

    /// Facts about primitives, such as their hosts, by [common name](Self::common_name).
    pub(super) fn by_common_name<T: Ord>(
        &self,
        fact: impl Fn(ResourceIdx) -> Option<T>,
    ) -> BTreeMap<&str, BTreeSet<T>> {
        let mut facts: BTreeMap<&str, BTreeSet<T>> = BTreeMap::new();
        for primitive in self.resource_indices().filter(|one| self.resource(*one).is_primitive()) {
            facts.entry(self.common_name(primitive)).or_default().extend(fact(primitive));
        }
        facts
    }

    /// All clones.
    pub fn clones(&self) -> impl Iterator<Item = ResourceIdx> + '_ {
        self.resource_indices().filter(|resource| self.resource(*resource).is_clone())
    }

    /// The first or last member of a group; every other resource stands for itself.
    pub(super) fn member(&self, resource: ResourceIdx, last: bool) -> Option<ResourceIdx> {
        let details = self.resource(resource);
        match (details.is_group(), last) {
            (false, _) => Some(resource),
            (true, false) => details.members.first().copied(),
            (true, true) => details.members.last().copied(),
        }
    }

    /// Returns true if each member of the group must run where the one before it runs.
    pub(super) fn keeps_together(&self, group: ResourceIdx) -> bool {
        matches!(self.resource(group).form, ResourceForm::Group { together: true, .. })
    }

    /// The resources that stand for the primary of a colocation, unless that is a clone. For a group, this is its first
    /// member, or its last if the colocation is mandatory. If members need not be together, all of them stand for it. A
    /// mandatory colocation with such a group is ignored.
    pub(super) fn stand_ins<'a>(&'a self, colocation: &'a Colocation) -> &'a [ResourceIdx] {
        let is_must = colocation.score == AllocationScore::INFINITY;
        let members = self.resource(colocation.primary).members.as_slice();
        match (self.resource(colocation.primary).form, is_must) {
            (ResourceForm::Group { together: false, .. }, true) => &[],
            (ResourceForm::Group { together: false, .. }, false) => members,
            (ResourceForm::Group { .. }, true) => members.last_chunk::<1>().map_or(&[], |last| last),
            (ResourceForm::Group { .. }, false) => members.first_chunk::<1>().map_or(&[], |first| first),
            _ => std::slice::from_ref(&colocation.primary),
        }
    }

    /// Sets the host of a group or a clone to that of one of its members.
    pub(super) fn find_whole(&mut self, whole: ResourceIdx) {
        let active = self.host_of_parts(self.resource(whole).members.iter().rev().copied());
        self.resources[whole.get()].active = active;
    }

    /// The host of the part whose host comes first in the status. Of several parts there, the last one counts.
    fn host_of_parts(&self, parts: impl Iterator<Item = ResourceIdx>) -> Option<HostIdx> {
        let mut holds = vec![None; self.hosts.len()];
        let parts = parts.map(|part| self.resource(part));
        for (part, host) in parts.filter_map(|part| part.sent_to.or(part.active).map(|host| (part, host))) {
            holds[part.known_by.unwrap_or(host).get()] = Some(host);
        }
        self.status_order.iter().find_map(|host| holds[host.get()])
    }

    /// The host that counts for the turn of a resource. Up to Pacemaker 2.1.5, a bundle is also where addresses of its
    /// containers and connections to them are.
    pub(super) fn host_before_its_turn(&self, resource: ResourceIdx) -> Option<HostIdx> {
        match self.bundle(resource) {
            Some(bundle) if self.release.ranks_bundles_by_all_parts() => {
                let parts =
                    |replica: &Replica| std::iter::once(replica.container).chain(replica.companions());
                self.host_of_parts(bundle.replicas.iter().rev().flat_map(parts))
            }
            _ => self.resource(resource).active,
        }
    }

    /// Sets the hosts of all groups and clones.
    pub(super) fn find_wholes(&mut self) {
        // Members follow their group, and instances their clone; the reverse order sets the parts first.
        let wholes = self.resource_indices().filter(|resource| !self.resource(*resource).is_primitive());
        let wholes: Vec<ResourceIdx> = wholes.collect();
        wholes.into_iter().rev().for_each(|whole| self.find_whole(whole));
    }
}
