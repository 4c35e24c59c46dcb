//! Unfencing: hosts get access to shared devices before resources that require it start on them.

use std::collections::HashSet;

use roxmltree::Node;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::resource::Resource;
use super::super::working_set::{GuestParts, Requirement, Unfencing};
use super::document::id;
use super::history::{IdleMarks, NameMark, OperationKey, PastDevice};
use super::properties::Properties;
use super::{HostRecord, Reader};

/// Attributes of hosts: the time of their unfencing, and the check sums that devices had then. One sum is of all
/// parameters, the other of those that are no secrets.
const UNFENCED: &str = "#node-unfenced";
const NOTED: &str = "#digests-all";
const NOTED_OPEN: &str = "#digests-secure";

/// Prefix of parameters that tell the cluster how to use a device. They do not identify the device.
const OF_THE_CLUSTER: &str = "pcmk_";

pub(super) struct UnfencingDevice<'a, 'i> {
    id: &'a str,
    /// The type of its agent.
    kind: String,
    /// Elements with its parameters.
    sources: Vec<Vec<Node<'a, 'i>>>,
}

impl<'a, 'i> Reader<'a, 'i> {
    /// Notes if a primitive unfences hosts or requires it. The first such one makes unfencing the default requirement
    /// of all others.
    pub(super) fn note_unfencing(
        &mut self,
        node: Node<'a, 'i>,
        resource: &Resource,
        metas: &Properties<'_>,
        sources: &[Vec<Node<'a, 'i>>],
    ) {
        let is_unfencing =
            |name: &str| metas.get(name).is_some_and(|word| word.eq_ignore_ascii_case("unfencing"));
        let provides = is_unfencing("provides");
        self.set.unfences |= self.set.fencing && (provides || is_unfencing("requires"));
        if provides && let Some(kind) = resource.agent.strip_prefix("stonith:") {
            let sources = sources.to_vec();
            self.unfencers.push(UnfencingDevice { id: id(node), kind: kind.to_owned(), sources });
        }
    }

    /// Finds the guest nodes that know nothing of a resource.
    pub(super) fn look_on_guests(&mut self) {
        let is_lost_for_good = |host: HostIdx| {
            let node = self.set.host(host);
            node.removed && node.state.unclean
        };
        let guests: Vec<(HostIdx, GuestParts)> =
            self.set.guests().filter(|(host, _)| !is_lost_for_good(*host)).collect();
        let may_be_there = |resource: &ResourceIdx| {
            let details = self.set.resource(*resource);
            let is_part = |(_, parts): &(HostIdx, GuestParts)| {
                parts.machine == *resource || parts.connection == *resource
            };
            details.is_primitive() && !details.fences() && !guests.iter().any(is_part)
        };
        let concerned: Vec<ResourceIdx> = self.set.resource_indices().filter(may_be_there).collect();
        let containers: Vec<ResourceIdx> = guests
            .iter()
            .filter(|(host, _)| self.set.host(*host).replica)
            .map(|(_, parts)| parts.machine)
            .collect();
        for (host, parts) in &guests {
            let mut sought = self.unknown_on(&concerned, *host);
            if parts.is_remote_node() {
                sought.extend(self.unknown_on(&containers, *host));
            }
            sought.retain(|resource| self.set.may_hide_on(*resource, *host));
            sought.into_iter().for_each(|one| self.set.resources[one.get()].unknown_on.push(*host));
        }
    }

    /// Finds the hosts that must be unfenced.
    pub(super) fn find_unfencing(&mut self) {
        if !self.set.unfences {
            return;
        }
        let concerned: Vec<ResourceIdx> =
            self.set.resource_indices().filter(|resource| self.set.needs_unfenced_host(*resource)).collect();
        for host in self.set.host_indices() {
            let known = self.known_on(host);
            let sought = self.looked_for(&concerned, host, &known);
            let has_other_device = self.has_other_device(host) || self.knows_other_agent(host, &known);
            self.set.hosts[host.get()].unfencing =
                self.unfencing(host, &concerned, has_other_device, !sought.is_empty());
            for resource in sought {
                self.set.resources[resource.get()].unsure_on.push(host);
            }
        }
        if self.set.has_guests_or_bundles() {
            let section = self.section("resources");
            section.into_iter().for_each(|element| {
                self.report_unsupported(element, "guest nodes in a cluster that unfences nodes")
            });
        }
    }

    fn unfencing(
        &self,
        host: HostIdx,
        concerned: &[ResourceIdx],
        has_other_device: bool,
        looks_for_any: bool,
    ) -> Unfencing {
        let node = self.set.host(host);
        let requires = |one: &ResourceIdx| self.set.requirement(*one) == Requirement::Unfencing;
        let is_unfenced = node.attribute(UNFENCED).is_some_and(|when| when != "0");
        // Pacemaker considers resources that require unfencing on all hosts, even on those that can run nothing.
        if has_other_device && concerned.iter().any(requires) {
            Unfencing::Due
        } else if is_unfenced && !has_other_device || !node.state.online || node.state.unclean {
            Unfencing::Done
        } else if !is_unfenced && looks_for_any {
            Unfencing::Due
        } else {
            Unfencing::WhenUsed
        }
    }

    /// Returns true if an unfencing device is another one than when a host was unfenced.
    fn has_other_device(&self, host: HostIdx) -> bool {
        let node = self.set.host(host);
        let Some(noted) = node.attribute(NOTED).filter(|_| node.state.online) else { return false };
        let noted_open = node.attribute(NOTED_OPEN).unwrap_or_default();
        self.unfencers.iter().any(|device| {
            let parameters =
                self.parameters(&device.sources, OperationKey { name: "start", interval: 0 }, node);
            let has = |list: &str, is_wanted: &dyn Fn(&str) -> bool| {
                let begin = format!("{}:{}:", device.id, device.kind);
                let sum = parameters.check_sum(is_wanted);
                list.split(',').any(|entry| entry.strip_prefix(&begin).is_some_and(|noted| sum.is(noted)))
            };
            let is_open = |name: &str| !name.starts_with(OF_THE_CLUSTER);
            !has(noted, &|_| true) && !has(noted_open, &is_open)
        })
    }

    /// Returns true if a host has a history of a fencing device with another agent than the configured one. It does not
    /// matter if the device unfences hosts, nor if it ran there.
    fn knows_other_agent(&self, host: HostIdx, known: &HashSet<NameMark>) -> bool {
        if !self.set.host(host).state.follows_changes() {
            return false;
        }
        let is_same = |device: &PastDevice| self.past_fencing.contains(&(host, *device));
        self.set.resources.iter().filter(|resource| resource.fences()).any(|resource| {
            let name = common(resource.id.as_bytes());
            known.contains(&NameMark::of(name)) && !is_same(&PastDevice::of(name, &resource.agent))
        })
    }

    /// The primitives that are looked for on a host, as nothing is known of them there.
    fn looked_for(
        &self,
        concerned: &[ResourceIdx],
        host: HostIdx,
        known: &HashSet<NameMark>,
    ) -> Vec<ResourceIdx> {
        let state = self.set.host(host).state;
        if !self.set.startup_probes || !state.online || state.unclean || state.shutting_down {
            return Vec::new();
        }
        self.unknown_among(concerned, host, known)
    }

    /// The primitives of which nothing is known on a host, without those that are not looked for there.
    pub(super) fn unknown_on(&self, concerned: &[ResourceIdx], host: HostIdx) -> Vec<ResourceIdx> {
        if !self.set.startup_probes {
            return Vec::new();
        }
        self.unknown_among(concerned, host, &self.known_on(host))
    }

    /// Like [`unknown_on`](Self::unknown_on), with the names known on the host.
    fn unknown_among(
        &self,
        concerned: &[ResourceIdx],
        host: HostIdx,
        known: &HashSet<NameMark>,
    ) -> Vec<ResourceIdx> {
        let is_looked_for = |resource: &ResourceIdx| {
            let details = self.set.resource(*resource);
            let whole = self.set.outermost(*resource);
            let is_left_out =
                self.unsought.contains(&(whole, host)) || self.unsought.contains(&(*resource, host));
            !details.orphaned
                && !details.contained
                && !is_left_out
                && self.set.barred_by(*resource, host).is_none()
                && !known.contains(&NameMark::of(common(details.id.as_bytes())))
        };
        concerned.iter().copied().filter(is_looked_for).collect()
    }

    /// Names of the resources in the history of a host; instances of clones lack their numbers.
    pub(super) fn known_on(&self, host: HostIdx) -> HashSet<NameMark> {
        let idle = self.idle.get(host.get()).map(IdleMarks::names_and_clones).unwrap_or_default();
        let here = |(name, records): (&&'a str, &Vec<HostRecord<'a>>)| {
            records.iter().any(|record| record.host == host).then(|| NameMark::of(common(name.as_bytes())))
        };
        self.records.iter().filter_map(here).chain(idle).collect()
    }
}

/// Common name of all instances of a clone.
pub(super) fn common(name: &[u8]) -> &[u8] {
    match name.iter().rposition(|byte| !byte.is_ascii_digit()) {
        Some(at) if name[at] == b':' => &name[..at],
        _ => name,
    }
}
