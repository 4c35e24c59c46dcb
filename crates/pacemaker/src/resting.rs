//! Clusters with guest nodes, remote nodes or bundles, after the actions that they are about to make. The states of these
//! nodes are not changed one by one: the document is written and read again.

use std::collections::HashMap;
use std::sync::Arc;

use super::cib::{GuestReading, read_with};
use super::foresight::{ForesightError, Rest};
use super::index::{HostIdx, ResourceIdx};
use super::new_status::without;
use super::place::place;
use super::placing::AllPlaced;
use super::resting_document::RestingDocument;
use super::working_set::{GuestParts, Strategy, WorkingSet};
use htools_ganeti::input::error::Result;

/// The cluster of a document once it has nothing more to do; `None` if it never comes to rest. This is for clusters with
/// guest nodes, remote nodes or bundles; for others, see [`WorkingSet::settled`].
///
/// # Errors
/// Fails if the document cannot be read, or its resources cannot be placed.
pub fn at_rest(
    text: &str,
    source: &str,
    strategy: Strategy,
) -> std::result::Result<Option<WorkingSet>, ForesightError> {
    let set = read(text, source)?;
    let placed = place(&set, strategy)?;
    let Rest { mut settled, text, is_quiet } = Rest::of(set, text, source, &read, strategy, &placed)?;
    let resources = settled.resources.len();
    settled.resting = Some(Arc::new(RestingDocument { text, source: source.to_owned(), resources }));
    Ok(is_quiet.then_some(settled))
}

fn read(text: &str, source: &str) -> Result<WorkingSet> {
    read_with(text.as_bytes(), source, GuestReading::IfAllIsKnown)
}

impl RestingDocument {
    /// The cluster after the loss of some hosts. Resources that the document does not have are added.
    ///
    /// # Errors
    /// Fails if the document cannot be read, or if something in it is supported before the loss only.
    pub(super) fn without(
        &self,
        settled: &WorkingSet,
        lost: &[HostIdx],
    ) -> std::result::Result<WorkingSet, ForesightError> {
        let text = without(&self.text, &self.source, settled, lost)?;
        let mut left = read(&text, &self.source)?;
        if let Some(what) = left.unsupported.iter().find(|one| !settled.unsupported.contains(one)) {
            let names: Vec<&str> = lost.iter().map(|host| &settled.host(*host).name[..]).collect();
            return Err(ForesightError::Unsupported { lost: names.join(" and "), what: what.clone() });
        }
        left.strategy = settled.strategy;
        for added in settled.resources.iter().skip(self.resources) {
            let mut added = added.clone();
            if added.active.is_some_and(|host| lost.contains(&host)) {
                added.run_on(None);
            }
            left.resources.push(added);
        }
        left.set_scores();
        Ok(left)
    }
}

impl WorkingSet {
    /// The cluster at rest with the resources that were added to it on their hosts. They do not move any other resource.
    pub(super) fn with_added_started(&self, document: &RestingDocument, placed: &AllPlaced) -> WorkingSet {
        let mut after = self.clone();
        for added in self.resource_indices().skip(document.resources) {
            after.resources[added.get()].run_on(placed.host(added));
        }
        after.set_scores();
        after
    }

    /// Returns true if the loss of a host is tried: that of a member, or of a remote node whose connection is managed.
    pub(super) fn can_be_lost(&self, host: HostIdx) -> bool {
        let node = self.host(host);
        let is_reached = |parts: GuestParts| parts.is_remote_node() && self.may_manage(parts.connection);
        node.state.online && node.guest.is_none_or(is_reached)
    }

    /// Returns true if more than half of all members are left after a loss. Guest nodes and remote nodes have no vote.
    pub(super) fn keeps_quorum_without(&self, lost: &[HostIdx]) -> bool {
        let members = || self.host_indices().filter(|host| self.host(*host).guest.is_none());
        let left = members().filter(|host| self.host(*host).state.online && !lost.contains(host)).count();
        left * 2 > members().count()
    }

    /// Returns true if a host is lost, or is a guest node or container on a lost host.
    pub(super) fn ends_with(&self, host: HostIdx, lost: &[HostIdx]) -> bool {
        let mut at = host;
        // A circle of VMs in each other ends.
        for _ in 0..=self.hosts.len() {
            if lost.contains(&at) {
                return true;
            }
            let below = self.host(at).guest.filter(|parts| !parts.is_remote_node());
            match below.and_then(|parts| self.resource(parts.machine).active) {
                Some(below) => at = below,
                None => return false,
            }
        }
        false
    }

    /// Returns true for the connection to a remote node.
    pub(super) fn is_connection_to(&self, resource: ResourceIdx, host: HostIdx) -> bool {
        self.host(host).guest.is_some_and(|parts| parts.is_remote_node() && parts.connection == resource)
    }

    /// By resource, the same one in a cluster that was read anew. Of instances that are alike, those with the same place
    /// are the same.
    pub(super) fn counterparts(&self, left: &WorkingSet, placed: &AllPlaced) -> Vec<Option<ResourceIdx>> {
        let by_id: HashMap<&str, ResourceIdx> =
            left.resource_indices().map(|one| (left.resource(one).id.as_str(), one)).collect();
        let found = |one: &ResourceIdx| by_id.get(self.resource(*one).id.as_str()).copied();
        let mut all: Vec<Option<ResourceIdx>> = self.resource_indices().map(|one| found(&one)).collect();
        for clone in self.clones().filter(|clone| !self.resource(*clone).is_unique()) {
            let Some(there) = found(&clone) else { continue };
            let mut free = left.resource(there).members.clone();
            let place =
                |instance: &ResourceIdx| left.primitives(instance).iter().find_map(|part| placed.host(*part));
            let (mut pairs, mut others) = (Vec::new(), Vec::new());
            for instance in &self.resource(clone).members {
                let host = self.primitives(instance).iter().find_map(|part| self.resource(*part).active);
                match free.iter().position(|one| host.is_some() && place(one) == host) {
                    Some(at) => pairs.push((*instance, free.remove(at))),
                    None => others.push((host.is_none(), *instance)),
                }
            }
            // Instances that ran get the remaining places first.
            others.sort();
            free.sort_by_key(|one| place(one).is_none());
            pairs.extend(others.into_iter().map(|(_, instance)| instance).zip(free));
            for (own, other) in pairs {
                let parts = self.parts_with(own).into_iter().zip(left.parts_with(other));
                parts.for_each(|(own, other)| all[own.get()] = Some(other));
            }
        }
        all
    }
}
