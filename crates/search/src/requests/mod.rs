//! Answers to allocator requests: where instances go, or why they go nowhere.

mod groups;
mod moving;
mod placing;
pub mod room;
pub mod why;

use std::sync::Arc;

pub use groups::{GroupChoice, GroupTrial};

use self::room::RoomPlan;
use self::why::InTheWay;
use super::moves::MoveRules;
use super::place::evacuation::{Moved, Stuck};
use super::place::{Conditions, PlaceSearch};
use super::why::{GroupBar, Hold};
use super::{Deadline, Stopped};
use htools_ganeti::load::iallocator::Request;
use htools_model::redundancy::global::Scope;
use htools_model::{Cluster, Draft, GroupIdx, Instance, InstanceIdx, NodeIdx};

/// What decides which nodes may be the primary ones of new instances, in the place of the score.
pub trait PrimaryRule: std::fmt::Debug + Send + Sync {
    /// Of these nodes of a group those that may be the primary one of a new instance, best first.
    fn ranked(
        &self,
        cluster: &Cluster,
        instance: &Instance,
        group: GroupIdx,
        nodes: &[NodeIdx],
    ) -> Vec<NodeIdx>;
}

/// What the command line says about answering.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Soft limits do not count (`--ignore-soft-errors`).
    pub ignore_soft_errors: bool,
    /// Nodes need not stay expendable (`--no-capacity-checks`).
    pub no_capacity_checks: bool,
    /// Full names of the nodes that may be used for a new instance, instead of
    /// those that the request names (`--restrict-allocation-to`).
    pub restrict_to: Option<Vec<String>>,
    /// An evacuation may lead to other groups where the own one has no room
    /// (`--other-groups`).
    pub other_groups: bool,
    /// What is in the way of instances is worked out, too (`--json`, `-v`).
    pub explain: bool,
    /// Moves that make room for a new instance are looked for (`--make-room`).
    pub make_room: bool,
    /// What chooses the primary nodes of new instances; none: the score.
    pub primaries: Option<Arc<dyn PrimaryRule>>,
    /// When to answer with what was found.
    pub deadline: Deadline,
}

impl Settings {
    fn conditions(&self) -> Conditions {
        let redundancy = (!self.no_capacity_checks).then(Scope::default);
        Conditions { ignore_soft_errors: self.ignore_soft_errors, redundancy }
    }

    fn rules(&self) -> MoveRules {
        MoveRules { ignore_soft_errors: self.ignore_soft_errors, ..MoveRules::default() }
    }
}

/// What came of a request.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The answer.
    pub answer: Result<Answer, Failure>,
    /// The cluster as it would be then; as it was, if the request failed.
    pub cluster: Cluster,
    /// New instances in it.
    pub added: Vec<InstanceIdx>,
    /// What was in the way of instances, if that was to be worked out: of a single new
    /// instance in any case, of others where they failed.
    pub why: Vec<InTheWay>,
    /// How to make room for a new instance, if that was looked for.
    pub room: RoomFound,
}

/// What came of looking for moves that make room.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RoomFound {
    /// They were not looked for: nobody asked, or there is no need or no use.
    #[default]
    NotSought,
    /// There are none, or none were found within the limits of the search.
    NotFound,
    /// They are these.
    Found(RoomPlan),
}

/// What is noted on the way to an answer.
#[derive(Debug, Default)]
struct Notes {
    added: Vec<InstanceIdx>,
    why: Vec<InTheWay>,
    room: RoomFound,
}

impl Notes {
    /// Notes what was in the way of an instance, beside what was before.
    fn explain(&mut self, why: InTheWay) {
        match self.why.last_mut() {
            Some(last) if last.instance == why.instance => {
                last.groups.extend(why.groups);
                last.moves = last.moves.take().or(why.moves);
            }
            _ => self.why.push(why),
        }
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A place for a new instance.
    Allocated {
        /// How it was found.
        choice: GroupChoice,
        /// Primary and secondary node.
        nodes: Vec<NodeIdx>,
    },
    /// Places for several new instances.
    MultiAllocated {
        /// Those that have one, with their nodes.
        allocated: Vec<(String, Vec<NodeIdx>)>,
        /// Those that have none.
        failed: Vec<(String, Failure)>,
    },
    /// A new secondary (DRBD) or primary node.
    Relocated {
        /// The node.
        node: NodeIdx,
    },
    /// Other nodes for instances.
    Evacuated {
        /// Those that have found some, with the group they are in then.
        moved: Vec<(Moved, GroupIdx)>,
        /// Those that have not.
        failed: Vec<(InstanceIdx, Failure)>,
    },
    /// A secondary node for an instance that had none.
    SecondaryAllocated {
        /// How it was found.
        search: Box<PlaceSearch>,
        /// The node.
        node: NodeIdx,
    },
}

/// Why a request, or a part of one, failed.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// No one group, or several, have this name.
    UnknownGroup(String),
    /// Not one place is tried in the group that the request names for the instance.
    Barred(GroupIdx, String, GroupBar),
    /// No group has a place.
    NoGroup(GroupChoice),
    /// There is no group to go to: those that the request names, if it does, have no
    /// nodes or hold the instances that are to leave.
    NoTargetGroups(Vec<GroupIdx>),
    /// No place was found.
    NotFound(Box<PlaceSearch>),
    /// More than one node cannot be exchanged at a time.
    Exchange(i64),
    /// Instances without mirrored disks cannot be relocated.
    NotMirrored,
    /// The nodes to leave are not the one node that can be left: which role it has,
    /// the node itself (none, if the instance lacks it), the nodes given.
    NotItsNode(&'static str, Option<NodeIdx>, Vec<NodeIdx>),
    /// The instance has a secondary already.
    HasSecondary,
    /// The search ended before anything was tried.
    NoTime(Stopped),
    /// It may not leave its group.
    Held(Hold),
    /// It cannot be moved.
    Stuck(Stuck),
    /// It cannot be moved in its group, and not to another one.
    NowhereElse(Stuck, Box<Failure>),
}

/// Whether the request is for new instances whose places are compared by lost
/// allocations, not by score.
pub fn is_dedicated(cluster: &Cluster, request: &Request) -> bool {
    match request {
        Request::Allocate { group, .. } | Request::MultiAllocate { group, .. } => {
            placing::find_group(cluster, group.as_deref())
                .is_ok_and(|group| placing::is_dedicated(cluster, group))
        }
        _ => false,
    }
}

/// Answers a request about a cluster, to whose instances and nodes it refers.
pub fn answer(cluster: Cluster, request: Request, settings: &Settings) -> Reply {
    let mut cluster = Draft::from(cluster);
    let start = cluster.mark();
    let mut notes = Notes::default();
    let answer = match request {
        Request::Allocate { instance, group, restrict_to } => {
            placing::allocate(&mut cluster, &mut notes, instance, group, restrict_to, settings)
        }
        Request::MultiAllocate { instances, group } => {
            placing::multi_allocate(&mut cluster, &mut notes, instances, group, settings)
        }
        Request::AllocateSecondary { instance } => {
            placing::allocate_secondary(&mut cluster, instance, settings)
        }
        Request::Relocate { instance, required_nodes, from } => {
            moving::relocate(&mut cluster, &mut notes, instance, required_nodes, &from, settings)
        }
        Request::NodeEvacuate { instances, mode } => {
            Ok(moving::node_evacuate(&mut cluster, &mut notes, &instances, mode, settings))
        }
        Request::ChangeGroup { instances, targets } => {
            Ok(moving::change_group(&mut cluster, &mut notes, &instances, &targets, settings))
        }
    };
    let Notes { added, why, room } = notes;
    if answer.is_err() {
        cluster.back_to(start);
        return Reply { answer, cluster: cluster.into_cluster(), added: Vec::new(), why, room };
    }
    Reply { answer, cluster: cluster.into_cluster(), added, why, room }
}
