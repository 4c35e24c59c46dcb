//! Hosts that are about to join the cluster.

use std::collections::HashMap;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::working_set::Unsupported;
use super::Reader;

impl Reader<'_, '_> {
    /// Finds the resources that are not started before they were looked for on hosts about to join.
    pub(super) fn find_sought(&mut self) {
        let joining: Vec<HostIdx> =
            self.set.host_indices().filter(|host| self.set.host(*host).state.joining).collect();
        if joining.is_empty() {
            return;
        }
        let primitives: Vec<ResourceIdx> =
            self.set.resource_indices().filter(|one| self.set.resource(*one).is_primitive()).collect();
        for host in joining {
            for resource in &primitives {
                if self.set.resource(*resource).active_hosts().any(|active| active == host) {
                    self.report_resource(*resource, "it runs on a node that is about to join");
                }
            }
            let mut clones: HashMap<ResourceIdx, bool> = HashMap::new();
            for resource in self.unknown_on(&primitives, host) {
                let is_sought = self.set.clone_of(resource).is_none_or(|clone| {
                    *clones.entry(clone).or_insert_with(|| self.looks_for_instances(clone))
                });
                if is_sought {
                    self.set.resources[resource.get()].unknown_on.push(host);
                }
            }
        }
    }

    /// Returns true if the instances of a clone that is unknown on a host about to join are looked for before any is
    /// started. That is so if none of them runs. If it is not known, the clone is reported.
    fn looks_for_instances(&mut self, clone: ResourceIdx) -> bool {
        let (set, details) = (&self.set, self.set.resource(clone));
        let instances = &details.members;
        let running = instances.iter().filter(|one| set.resource(**one).active.is_some()).count();
        let available = set.hosts.iter().filter(|host| host.state.available()).count();
        if running >= instances.len().min(available) {
            return false;
        }
        let is_plain = instances.iter().all(|one| set.resource(*one).is_primitive());
        if !is_plain || details.promotion.is_some() || self.unique.contains_key(details.id.as_str()) {
            self.report_resource(clone, "it was not looked for on a node that is about to join");
            return false;
        }
        running == 0
    }

    /// Reports a resource as unsupported.
    fn report_resource(&mut self, resource: ResourceIdx, reason: &str) {
        let details = self.set.resource(resource);
        let element = if details.is_clone() { "clone" } else { "primitive" };
        let report = Unsupported::new(element, &details.id, reason);
        self.set.unsupported.push(report);
    }
}
