//! Bundles: containers that the cluster runs on several nodes, each perhaps with a resource inside.

use super::index::{HostIdx, ResourceIdx};

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

impl Replica {
    /// The resources around the container: its address, and the connection to the node in it.
    pub(super) fn companions(&self) -> impl Iterator<Item = ResourceIdx> + use<> {
        self.address.into_iter().chain(self.inside.map(|inside| inside.connection))
    }
}

impl Bundle {
    /// The instances inside of its containers.
    pub(super) fn instances(&self) -> impl Iterator<Item = ResourceIdx> + '_ {
        self.replicas.iter().filter_map(|replica| Some(replica.inside?.instance))
    }

    /// The addresses of its containers.
    pub(super) fn addresses(&self) -> impl Iterator<Item = ResourceIdx> + '_ {
        self.replicas.iter().filter_map(|replica| replica.address)
    }
}
