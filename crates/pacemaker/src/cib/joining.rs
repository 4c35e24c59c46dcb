//! Hosts that are about to join the cluster.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::working_set::Unsupported;
use super::Reader;

impl Reader<'_, '_> {
    /// Finds the resources that cannot be started as they were not looked for on hosts about to join. Instances of a
    /// clone are looked for together, unless one of them runs.
    pub(super) fn find_sought(&mut self) {
        let joining: Vec<HostIdx> =
            self.set.host_indices().filter(|host| self.set.host(*host).state.joining).collect();
        let primitives: Vec<ResourceIdx> =
            self.set.resource_indices().filter(|one| self.set.resource(*one).is_primitive()).collect();
        for host in joining {
            for resource in &primitives {
                if self.set.resource(*resource).active_hosts().any(|active| active == host) {
                    self.report_resource(*resource, "it runs on a node that is about to join");
                }
            }
            for resource in self.unknown_on(&primitives, host) {
                let Some(clone) = self.set.clone_of(resource) else {
                    self.set.resources[resource.get()].sought_on = Some(host);
                    continue;
                };
                let (instances, details) = (&self.set.resource(clone).members, self.set.resource(clone));
                let is_plain = instances.iter().all(|one| self.set.resource(*one).is_primitive());
                let running =
                    instances.iter().filter(|one| self.set.resource(**one).active.is_some()).count();
                let available = self.set.hosts.iter().filter(|host| host.state.available()).count();
                if running >= instances.len().min(available) {
                    continue;
                }
                if !is_plain || details.promotion.is_some() || self.unique.contains_key(details.id.as_str()) {
                    self.report_resource(clone, "it was not looked for on a node that is about to join");
                } else if running == 0 {
                    self.set.resources[resource.get()].sought_on = Some(host);
                }
            }
        }
    }

    /// Reports a resource as unsupported.
    fn report_resource(&mut self, resource: ResourceIdx, reason: &str) {
        let details = self.set.resource(resource);
        let element = if details.is_clone() { "clone" } else { "primitive" };
        let (element, id) = (element.to_owned(), details.id.clone());
        self.set.unsupported.push(Unsupported { element, id, reason: reason.to_owned() });
    }
}
