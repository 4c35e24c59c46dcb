//! Reasons for waiting.

use super::super::index::{HostIdx, ResourceIdx};

/// Reason why an action waits for another one, or why a resource changes as another one does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitReason {
    /// Both belong to the change of this resource.
    Change(ResourceIdx),
    /// An order, by its position in [`WorkingSet::orders`](crate::WorkingSet::orders).
    Order(usize),
    /// An order in which some are enough, by its position in [`WorkingSet::choices`](crate::WorkingSet::choices).
    Choice(usize),
    /// This group starts its members one after the other.
    Group(ResourceIdx),
    /// This clone stops and starts its instances together, or in order.
    Clone(ResourceIdx),
    /// A colocation, by its position in [`WorkingSet::colocations`](crate::WorkingSet::colocations).
    Colocation(usize),
    /// Resources that stop on this host make room for those that come.
    Room(HostIdx),
    /// Until this host is fenced, anything may run there.
    Fencing(HostIdx),
    /// This host has access to shared devices only afterwards.
    Unfencing(HostIdx),
    /// Resources in this VM, which is a guest node, run no longer than the VM.
    Machine(ResourceIdx),
    /// This connection leads to a node, and actions there need it.
    Connection(ResourceIdx),
    /// Hosts are fenced one after the other.
    OneByOne,
    /// There is no quorum.
    Quorum,
    /// It must first be looked for on this host, which is about to join.
    Probe(HostIdx),
    /// It waits for itself in a circle, or for others that do.
    Circle,
    /// This host leaves when nothing runs on it any more.
    Shutdown(HostIdx),
}
