//! Lost hosts, and resources that need not wait until these are fenced.

use std::collections::HashSet;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::working_set::{Requirement, Resource};
use super::Reader;
use super::history::NameMark;
use super::unfencing::common;

impl Reader<'_, '_> {
    /// Applies the effects of lost hosts to primitives that do not require fencing.
    pub(super) fn weigh_lost_hosts(&mut self) {
        for resource in self.set.resource_indices() {
            if self.may_ignore_lost_hosts(resource) {
                self.prefer_the_sound_host(resource);
            }
        }
    }

    fn may_ignore_lost_hosts(&self, resource: ResourceIdx) -> bool {
        let details = self.set.resource(resource);
        details.is_primitive() && self.set.requirement(resource) < Requirement::Fencing
    }

    /// Puts the first host that is not lost before all others on which a primitive runs. If there is no second such
    /// host, the primitive runs once.
    fn prefer_the_sound_host(&mut self, resource: ResourceIdx) {
        let is_sound = |host: &HostIdx| !self.set.host(*host).state.unclean;
        let mut hosts: Vec<HostIdx> = self.set.resource(resource).active_hosts().collect();
        if hosts.len() < 2 {
            return;
        }
        let first = hosts.iter().position(is_sound).unwrap_or_default();
        let others_lost = hosts.iter().filter(|host| is_sound(host)).count() < 2;
        let active = hosts.remove(first);
        let resource: &mut Resource = &mut self.set.resources[resource.get()];
        (resource.active, resource.also_on, resource.others_lost) = (Some(active), hosts, others_lost);
    }

    /// Returns true if the instances of a clone with `count` of them that run on lost hosts count as surplus: if there are
    /// fewer than hosts, and a part need not wait for fencing. Their numbers go to other instances at once.
    pub(super) fn gives_up_lost_instances(&self, count: usize, requires: Option<Requirement>) -> bool {
        count < self.known_hosts() && requires.is_some_and(|one| one < Requirement::Fencing)
    }

    /// Notes the lost hosts for which such primitives must wait all the same, as these hosts tell nothing about them.
    pub(super) fn find_unsure_hosts(&mut self) {
        let is_lost = |host: &HostIdx| {
            let node = self.set.host(*host);
            node.state.unclean && !node.removed
        };
        let lost = self.set.host_indices().filter(is_lost);
        for host in lost.collect::<Vec<HostIdx>>() {
            let known = self.known_on(host);
            let before = self.set.status_order.iter().copied().take_while(|one| *one != host).collect();
            let is_known = |name: &str| known.contains(&NameMark::of(common(name.as_bytes())));
            // A location that names a node in a container opens it to the resource, whatever the score.
            let here = self.set.locations.iter().filter(|location| location.host == host);
            let located: HashSet<ResourceIdx> = here.map(|location| location.resource).collect();
            let waits = self.set.resource_indices().filter(|resource| {
                let details = self.set.resource(*resource);
                let waits = self.set.requirement(*resource) == Requirement::Quorum;
                let is_unsure = match self.is_told_apart(*resource) {
                    true => !self.tells_of(host, &details.id),
                    false => !is_known(&details.id) || self.is_of_another_instance(*resource, host, &before),
                };
                let may_be_there = || {
                    self.set.may_hide_on(*resource, host)
                        || self.set.located_with(*resource).any(|one| located.contains(&one))
                };
                details.is_primitive() && waits && is_unsure && may_be_there()
            });
            for resource in waits.collect::<Vec<_>>() {
                self.set.resources[resource.get()].unsure_on.push(host);
            }
        }
    }

    /// Returns true for a part of an instance that is told apart from others.
    fn is_told_apart(&self, resource: ResourceIdx) -> bool {
        self.set.clone_of(resource).is_some_and(|clone| self.set.resource(clone).is_unique())
    }

    /// Returns true if a host has a history with exactly this name.
    fn tells_of(&self, host: HostIdx, name: &str) -> bool {
        let idle = self.idle.get(host.get()).map(|marks| marks.names()).unwrap_or_default();
        self.records_of(name).iter().any(|record| record.host == host)
            || idle.contains(&NameMark::of(name.as_bytes()))
    }

    /// Returns true if a lost host tells of another instance of a cloned group: one that was given up, the one that runs
    /// there, or else the first that runs on none of the hosts before it in the status.
    fn is_of_another_instance(&self, member: ResourceIdx, host: HostIdx, before: &HashSet<HostIdx>) -> bool {
        let details = self.set.resource(member);
        let Some(group) = details.group else { return false };
        let Some(clone) = self.set.resource(group).instance_of else { return false };
        let instances = &self.set.resource(clone).members;
        if self.gives_up_lost_instances(self.set.wanted_instances(clone).count(), details.requires) {
            return true;
        }
        let name = common(details.id.as_bytes());
        let runs_there = |one: &ResourceIdx| self.set.resource(*one).active_hosts().any(|on| on == host);
        let is_same = |one: &ResourceIdx| common(self.set.resource(*one).id.as_bytes()) == name;
        let all = self.set.primitives(&clone);
        if all.iter().any(|one| is_same(one) && runs_there(one)) {
            return !runs_there(&member);
        }
        let is_idle = |instance: &&ResourceIdx| {
            let parts = self.set.primitives(instance);
            parts.iter().all(|part| !self.set.resource(*part).active_hosts().any(|on| before.contains(&on)))
        };
        instances.iter().find(is_idle) != Some(&group)
    }
}
