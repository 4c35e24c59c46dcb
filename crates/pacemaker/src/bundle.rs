//! Bundles: containers that the cluster runs on several nodes, each perhaps with a resource inside.

use super::index::{HostIdx, ResourceIdx};
use super::score::{AllocationScore, ScoreTable};
use super::working_set::WorkingSet;

/// A bundle. Its containers are the instances of a clone that are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// The clone of containers, which has the name of the bundle.
    pub whole: ResourceIdx,
    /// The clone of the resource inside, if there is one.
    pub inner: Option<ResourceIdx>,
    /// Its replicas, by number.
    pub replicas: Vec<Replica>,
}

/// A replica of a bundle: a container and the resources around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replica {
    /// The container.
    pub container: ResourceIdx,
    /// The IP address of the container, which starts first.
    pub address: Option<ResourceIdx>,
    /// The node in the container and what runs there, if the bundle has a resource inside.
    pub inside: Option<ReplicaNode>,
}

/// The node in a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaNode {
    /// The node.
    pub host: HostIdx,
    /// The connection to it.
    pub connection: ResourceIdx,
    /// The instance that runs there, and nowhere else.
    pub instance: ResourceIdx,
}

impl Bundle {
    /// The addresses of its containers.
    pub(super) fn addresses(&self) -> impl Iterator<Item = ResourceIdx> + '_ {
        self.replicas.iter().filter_map(|replica| replica.address)
    }
}

impl WorkingSet {
    /// The bundle whose containers are the instances of a clone.
    pub(super) fn bundle(&self, whole: ResourceIdx) -> Option<&Bundle> {
        self.bundles.iter().find(|bundle| bundle.whole == whole)
    }

    /// The only node of an instance in a bundle.
    pub fn own_node(&self, resource: ResourceIdx) -> Option<HostIdx> {
        let clone = self.resource(resource).instance_of.filter(|clone| self.resource(*clone).in_bundle)?;
        let bundle = self.bundles.iter().find(|bundle| bundle.inner == Some(clone))?;
        let mut insides = bundle.replicas.iter().filter_map(|replica| replica.inside);
        insides.find(|inside| inside.instance == resource).map(|inside| inside.host)
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
