//! Bundles in a working set: the nodes in their containers, and the scores of what is inside.

use super::bundle::Bundle;
use super::index::{HostIdx, ResourceIdx};
use super::score::{AllocationScore, ScoreTable};
use super::working_set::WorkingSet;

impl WorkingSet {
    /// Returns true if the cluster has guest nodes, remote nodes or bundles.
    pub fn has_guests_or_bundles(&self) -> bool {
        self.has_guests() || !self.bundles.is_empty()
    }

    /// The bundle whose containers are the instances of a clone.
    pub(super) fn bundle(&self, whole: ResourceIdx) -> Option<&Bundle> {
        self.bundles.iter().find(|bundle| bundle.whole == whole)
    }

    /// The clone whose instances have the roles of a resource: for a bundle, that of the resource inside.
    pub(super) fn with_roles(&self, resource: ResourceIdx) -> ResourceIdx {
        self.bundle(resource).and_then(|bundle| bundle.inner).unwrap_or(resource)
    }

    /// Returns true if the instances of a clone, or the containers of a bundle, go by those of another one on their own
    /// hosts where they are colocated. With a bundle they always do.
    pub(super) fn goes_by_instances(&self, dependent: ResourceIdx, primary: ResourceIdx) -> bool {
        match self.bundle(primary) {
            Some(_) => self.resource(dependent).is_clone(),
            None => self.resource(dependent).interleaves_with(self.resource(primary)),
        }
    }

    /// The instance that runs in a container.
    pub(super) fn instance_inside(&self, container: ResourceIdx) -> Option<ResourceIdx> {
        let bundle = self.bundle(self.resource(container).instance_of?)?;
        let replica = bundle.replicas.iter().find(|replica| replica.container == container)?;
        replica.inside.map(|inside| inside.instance)
    }

    /// The bundle around a clone.
    pub(super) fn bundle_around(&self, clone: ResourceIdx) -> Option<ResourceIdx> {
        self.bundles.iter().find(|bundle| bundle.inner == Some(clone)).map(|bundle| bundle.whole)
    }

    /// The only node of an instance in a bundle.
    pub fn own_node(&self, resource: ResourceIdx) -> Option<HostIdx> {
        let clone = self.resource(resource).instance_of.filter(|clone| self.resource(*clone).in_bundle)?;
        let bundle = self.bundles.iter().find(|bundle| bundle.inner == Some(clone))?;
        let mut insides = bundle.replicas.iter().filter_map(|replica| replica.inside);
        insides.find(|inside| inside.instance == resource).map(|inside| inside.host)
    }

    /// Adds nodes in containers that the list of nodes has, too, to the scores of resources that come before them. The
    /// nodes are closed to these. Only the bundle itself learns that later.
    pub(super) fn open_listed_replicas(&mut self) {
        let WorkingSet { bundles, resources, hosts, .. } = self;
        let inner: Vec<ResourceIdx> = bundles.iter().flat_map(Bundle::instances).collect();
        for bundle in bundles.iter() {
            for (number, replica) in bundle.replicas.iter().enumerate() {
                let Some(inside) = replica.inside.filter(|inside| hosts[inside.host.get()].listed) else {
                    continue;
                };
                for at in (0..bundle.whole.get()).filter(|at| !inner.contains(&ResourceIdx::new(*at))) {
                    resources[at].scores.set(inside.host, AllocationScore::MINUS_INFINITY);
                }
                for (at, earlier) in bundle.replicas[..=number].iter().enumerate() {
                    let others = earlier.inside.filter(|_| at < number).map(|other| other.connection);
                    for part in [Some(earlier.container), earlier.address, others].into_iter().flatten() {
                        resources[part.get()].scores.set(inside.host, AllocationScore::ZERO);
                    }
                }
            }
        }
    }

    /// Returns true if a resource may run on a host without being known there. In a container, only the instance that
    /// belongs there can.
    pub(super) fn may_hide_on(&self, resource: ResourceIdx, host: HostIdx) -> bool {
        self.own_node(resource).map_or(!self.host(host).replica, |own| own == host)
    }

    /// Sets the scores of the resources inside of bundles. Each instance knows only its own node.
    pub(super) fn open_replicas(&mut self) {
        let WorkingSet { bundles, resources, hosts, .. } = self;
        for bundle in bundles.iter() {
            for inside in bundle.replicas.iter().filter_map(|replica| replica.inside) {
                let mut own = ScoreTable::empty(hosts.len());
                own.set(inside.host, hosts[inside.host.get()].base);
                resources[inside.instance.get()].scores = own;
                if let Some(inner) = bundle.inner {
                    resources[inner.get()].scores.set(inside.host, AllocationScore::MINUS_INFINITY);
                }
            }
        }
    }
}
