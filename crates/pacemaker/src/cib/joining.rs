//! Hosts that are about to join the cluster.

use std::collections::HashMap;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::working_set::Unsupported;
use super::history::{KeptOperation, RecordedState};
use super::{HostRecord, Reader};

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
    /// started. That is so if none of them runs. If it is not known, the clone is reported: the first one runs only in
    /// part, or instances are told apart.
    fn looks_for_instances(&mut self, clone: ResourceIdx) -> bool {
        let (set, details) = (&self.set, self.set.resource(clone));
        let instances = &details.members;
        let is_running = |part: &ResourceIdx| set.resource(*part).active.is_some();
        let runs = |instance: &ResourceIdx| set.primitives(instance).iter().all(is_running);
        let running = instances.iter().filter(|one| runs(one)).count();
        let available = set.hosts.iter().filter(|host| host.state.available()).count();
        if running >= instances.len().min(available) {
            return false;
        }
        let is_idle = !instances.iter().any(|one| set.primitives(one).iter().any(is_running));
        let first_runs = instances.first().is_some_and(runs);
        if details.is_unique() || !is_idle && !first_runs || self.has_leftover_monitor(clone) {
            self.report_resource(clone, "it was not looked for on a node that is about to join");
            return false;
        }
        is_idle
    }

    /// Returns true if a monitor of a clone did not end where no instance of it runs. Pacemaker gives that host a number
    /// among the instances that run.
    fn has_leftover_monitor(&self, clone: ResourceIdx) -> bool {
        let set = &self.set;
        let parts = set.primitives(&clone);
        let runs_on = |host: HostIdx| parts.iter().any(|part| set.resource(*part).active == Some(host));
        let is_leftover = |record: &HostRecord<'_>| match &record.history.recorded_state {
            RecordedState::Unsettled(operations) => {
                let monitors = |one: &KeptOperation| one.is_pending() && one.key().name == "monitor";
                operations.iter().any(monitors) && !runs_on(record.host)
            }
            _ => false,
        };
        let names = parts.iter().filter_map(|part| set.resource(*part).id.rsplit_once(':'));
        names.map(|(name, _)| name).any(|name| self.records_of(name).iter().any(is_leftover))
    }

    /// Reports a resource as unsupported.
    fn report_resource(&mut self, resource: ResourceIdx, reason: &str) {
        let details = self.set.resource(resource);
        let element = if details.is_clone() { "clone" } else { "primitive" };
        let report = Unsupported::new(element, &details.id, reason);
        self.set.unsupported.push(report);
    }
}
