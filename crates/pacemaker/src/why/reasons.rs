//! Hindrances that keep a resource from a host, and advantages that decide for one.

use crate::capacity::Capacities;
use crate::index::{AttributeIdx, HostIdx, ResourceIdx};
use crate::score::AllocationScore;

/// The first thing that keeps a resource from a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostHindrance {
    /// The host is no member of the cluster.
    Offline,
    /// It was lost, and is to be fenced.
    Unclean,
    /// It is about to leave.
    ShuttingDown,
    /// It is in standby.
    Standby,
    /// It is in maintenance.
    Maintenance,
    /// The resource is meant to be stopped.
    Stopped,
    /// The resource is an instance that its clone should not have any more.
    Surplus,
    /// The resource is no longer configured.
    Orphaned,
    /// Nothing is to run in this cluster.
    StopAll,
    /// It failed there this often, which is too often.
    Failures(AllocationScore),
    /// It runs on several hosts, and is only to be stopped then.
    RunsTwice,
    /// A location constraint forbids it: its id.
    Location(String),
    /// The resource may only be where this constraint, and others like it, name a host: its id.
    Exclusive(String),
    /// In an opt-in cluster, no constraint allows it.
    NotOptedIn,
    /// By a colocation it must be with another one, which is elsewhere, or nowhere.
    With(TogetherRule, Option<HostIdx>),
    /// By a colocation it must not be with another one, which is there.
    Apart(TogetherRule),
    /// It never runs in a guest node, which this one is.
    Guest,
    /// Another instance of its clone is there.
    Instance(ResourceIdx),
    /// Its clone is not wanted there, and no instance of it goes there: the clone's score.
    CloneUnwanted(AllocationScore),
    /// Others want to be with it, and not there.
    Wishes(Vec<ResourceIdx>),
    /// It needs another one to run first, which does not.
    Needs(ResourceIdx),
    /// There is too little of these kinds of capacity, by so much; together with all that must be with it, if there
    /// are others.
    Room(Vec<(AttributeIdx, i64)>),
    /// Wanted less than not at all: its score.
    Unwanted(AllocationScore),
}

/// A colocation as a resource meets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TogetherRule {
    /// The constraint's id.
    pub id: String,
    /// The other resource.
    pub other: ResourceIdx,
    /// The attribute in which their hosts are to agree or differ; none: the host itself.
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
    /// Fewer resources were placed there before: so many, and so many.
    Fewer(usize, usize),
    /// The resource runs there, and no other host is better.
    Runs,
    /// Its name is the first.
    Name,
    /// The resource is not managed, and stays.
    Unmanaged,
    /// The best placement of all has it there.
    Optimum,
}

/// Finding about one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFinding {
    /// The host.
    pub host: HostIdx,
    /// The resource's score there, before capacities were looked at; none in an opt-in cluster without a constraint.
    pub score: Option<AllocationScore>,
    /// The hindrance that forbids it.
    pub hindrance: Option<HostHindrance>,
}

/// A host that has the room if others leave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomTaken {
    /// The host.
    pub host: HostIdx,
    /// The resources that were placed there before, in order.
    pub by: Vec<ResourceIdx>,
    /// The fewest of them, last placed first, without which there would be room; none, if all of them were not enough.
    pub give_way: Vec<ResourceIdx>,
}

/// Why a resource is where it is.
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
    /// For one that has no place: the hosts that lack nothing but room.
    pub taken: Vec<RoomTaken>,
    /// Room that the hosts had to have: more than the resource needs, if others must be with it.
    pub needed: Capacities,
    /// All that must be with it, itself first.
    pub chain: Vec<ResourceIdx>,
}
