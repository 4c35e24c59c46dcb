//! Hindrances that keep a resource from a host, and advantages that decide for one.

use crate::capacity::Capacities;
use crate::index::{AttributeIdx, HostIdx, ResourceIdx};
use crate::score::AllocationScore;
use crate::tickets::TicketRule;

/// The first thing that keeps a resource from a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostHindrance {
    /// The host is no member of the cluster.
    Offline,
    /// It was lost, and must be fenced.
    Unclean,
    /// It is shutting down.
    ShuttingDown,
    /// It is in standby.
    Standby,
    /// It is in maintenance.
    Maintenance,
    /// The resource is meant to be stopped.
    Stopped,
    /// The resource is a surplus instance of its clone.
    Surplus,
    /// The resource is no longer configured.
    Orphaned,
    /// Nothing is to run in this cluster.
    StopAll,
    /// It failed there too often: its fail count.
    Failures(AllocationScore),
    /// It runs on several hosts, and is then stopped on all of them.
    RunsTwice,
    /// A location constraint forbids it: its id.
    Location(String),
    /// The resource may run only where this constraint, and others like it, name a host: its id.
    Exclusive(String),
    /// A ticket constraint forbids it, as the ticket is not granted or in standby.
    Ticket(TicketRule),
    /// In an opt-in cluster, no constraint allows it.
    NotOptedIn,
    /// By a colocation, it must be with another one, which is on the other host given, or nowhere.
    With(TogetherRule, Option<HostIdx>),
    /// By a colocation, it must not be with another one, which is there.
    Apart(TogetherRule),
    /// It can never run on a guest or remote node, which this host is.
    Guest,
    /// Another instance of its clone is there.
    Instance(ResourceIdx),
    /// As many instances of its clone are there as may be: their number.
    Instances(usize),
    /// Its clone is not wanted there, so no instance goes there: the clone's score.
    CloneUnwanted(AllocationScore),
    /// Other resources want to be with it, but not there.
    Wishes(Vec<ResourceIdx>),
    /// This resource would have to run first, and does not.
    Needs(ResourceIdx),
    /// There is too little of these kinds of capacity, by these amounts. If others must be with it, room for all of
    /// them counts.
    Room(Vec<(AttributeIdx, i64)>),
    /// It has this score below 0 there.
    Unwanted(AllocationScore),
}

/// A colocation from the point of view of one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TogetherRule {
    /// The constraint's id.
    pub id: String,
    /// The other resource.
    pub other: ResourceIdx,
    /// Node attribute in which their hosts must agree or differ; `None` means the host itself.
    pub attribute: Option<String>,
}

/// Advantage of a host over the next best one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advantage {
    /// It was the only one.
    Only,
    /// It has a higher score.
    Score(AllocationScore, AllocationScore),
    /// It has the most free capacity.
    Room,
    /// Fewer resources were placed there before: their numbers on this host and on the other one.
    Fewer(usize, usize),
    /// The resource runs there, and no other host is better.
    Runs,
    /// Its name is the first.
    Name,
    /// The resource is not managed, and stays.
    Unmanaged,
    /// The best placement puts it there.
    Optimum,
}

/// Finding about one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFinding {
    /// The host.
    pub host: HostIdx,
    /// Score of the resource there, before capacities were considered; `None` in an opt-in cluster without a
    /// constraint.
    pub score: Option<AllocationScore>,
    /// The hindrance that forbids it.
    pub hindrance: Option<HostHindrance>,
}

/// A host that would have room if others left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomTaken {
    /// The host.
    pub host: HostIdx,
    /// The resources that were placed there before, in order.
    pub by: Vec<ResourceIdx>,
    /// The fewest of them, last placed first, without which there would be room; empty if all of them are not enough.
    pub give_way: Vec<ResourceIdx>,
}

/// Reasons for the place of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceReasons {
    /// The primitive.
    pub resource: ResourceIdx,
    /// Its new host.
    pub host: Option<HostIdx>,
    /// Advantage that decided for that host, and the next best one.
    pub advantage: Option<(Advantage, Option<HostIdx>)>,
    /// Findings about each host, in order of their names.
    pub hosts: Vec<HostFinding>,
    /// For a resource without a place, the hosts that lack nothing but room.
    pub taken: Vec<RoomTaken>,
    /// Capacity that a host needed: more than the resource needs, if others must be with it.
    pub needed: Capacities,
    /// All resources that must be with it, itself first.
    pub chain: Vec<ResourceIdx>,
}
