//! Answers allocator requests: finds places for instances, or the reasons why there are none.

mod groups;
mod moving;
mod placing;
pub mod room;
pub mod why;

use std::sync::Arc;

pub use groups::{GroupChoice, GroupTrial};

use self::room::RoomPlan;
use self::why::PlacementObstacles;
use super::moves::MoveRules;
use super::place::evacuation::{EvacuationObstacle, Moved};
use super::place::{Conditions, PlaceSearch};
use super::why::{GroupObstacle, StayCause};
use super::{Deadline, Stopped};
use htools_ganeti::load::iallocator::Request;
use htools_model::redundancy::global::Scope;
use htools_model::{Cluster, Draft, GroupIdx, Instance, InstanceIdx, NodeIdx};

/// A rule that selects the possible primary nodes of new instances, instead of the score.
pub trait PrimaryRule: std::fmt::Debug + Send + Sync {
    /// The nodes among `nodes` that may become the primary of a new instance, best first.
    fn ranked(
        &self,
        cluster: &Cluster,
        instance: &Instance,
        group: GroupIdx,
        nodes: &[NodeIdx],
    ) -> Vec<NodeIdx>;
}

/// Command-line settings for answers.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Ignore soft limits (`--ignore-soft-errors`).
    pub ignore_soft_errors: bool,
    /// Nodes need not stay expendable (`--no-capacity-checks`).
    pub no_capacity_checks: bool,
    /// Full names of the nodes that may be used for a new instance, instead of those in the request
    /// (`--restrict-allocation-to`).
    pub restrict_to: Option<Vec<String>>,
    /// Evacuate to other groups if the instance's group has no room (`--other-groups`).
    pub other_groups: bool,
    /// Find the obstacles for each instance, too (`--json`, `-v`).
    pub explain: bool,
    /// Search for moves that make room for a new instance (`--make-room`).
    pub make_room: bool,
    /// Rule that chooses the primary nodes of new instances; `None` to use the score.
    pub primaries: Option<Arc<dyn PrimaryRule>>,
    /// Time at which the answer must be given with the results so far.
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

/// Reply to a request.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The answer.
    pub answer: Result<Answer, Failure>,
    /// The cluster after the request; unchanged if the request failed.
    pub cluster: Cluster,
    /// The new instances.
    pub added: Vec<InstanceIdx>,
    /// Obstacles, if they were requested: always for a single new instance, and for other instances if they
    /// failed.
    pub why: Vec<PlacementObstacles>,
    /// Moves that make room for a new instance, if they were requested.
    pub room: RoomFound,
}

/// Result of the search for moves that make room.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RoomFound {
    /// No search was made: it was not requested, not needed or useless.
    #[default]
    NotSearched,
    /// There are no such moves, or none were found within the limits of the search.
    NotFound,
    /// These moves make room.
    Found(RoomPlan),
}

/// Additional results collected for the reply.
#[derive(Debug, Default)]
struct ReplyNotes {
    added: Vec<InstanceIdx>,
    why: Vec<PlacementObstacles>,
    room: RoomFound,
}

impl ReplyNotes {
    /// Adds the obstacles of an instance to those already noted.
    fn explain(&mut self, why: PlacementObstacles) {
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
        /// The groups that were tried.
        choice: GroupChoice,
        /// Primary and secondary node.
        nodes: Vec<NodeIdx>,
    },
    /// Places for several new instances.
    MultiAllocated {
        /// Instances with a place, with their nodes.
        allocated: Vec<(String, Vec<NodeIdx>)>,
        /// Instances without a place, with the reasons.
        failed: Vec<(String, Failure)>,
    },
    /// A new secondary (DRBD) or primary node.
    Relocated {
        /// The new node.
        node: NodeIdx,
    },
    /// New nodes for instances.
    Evacuated {
        /// Instances that were moved, with their new groups.
        moved: Vec<(Moved, GroupIdx)>,
        /// Instances that were not moved, with the reasons.
        failed: Vec<(InstanceIdx, Failure)>,
    },
    /// A secondary node for an instance that had none.
    SecondaryAllocated {
        /// The search for the node.
        search: Box<PlaceSearch>,
        /// The new secondary.
        node: NodeIdx,
    },
}

/// The reason why a request, or a part of one, failed.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// No group or several groups have this name.
    UnknownGroup(String),
    /// No place can be tried in the group that the request names.
    GroupExcluded(GroupIdx, String, GroupObstacle),
    /// No group has a place.
    NoGroup(GroupChoice),
    /// There is no target group. The groups that the request names, if any, have no nodes or contain the
    /// instances that must leave.
    NoTargetGroups(Vec<GroupIdx>),
    /// No place was found.
    NotFound(Box<PlaceSearch>),
    /// Only one node can be replaced at a time.
    Exchange(i64),
    /// Instances without mirrored disks cannot be relocated.
    NotMirrored,
    /// The request does not name the one node that can be left. The fields are the role of that node, the node
    /// itself if it exists, and the nodes in the request.
    NotItsNode(&'static str, Option<NodeIdx>, Vec<NodeIdx>),
    /// The instance has a secondary already.
    HasSecondary,
    /// The search ended before anything was tried.
    NoTime(Stopped),
    /// It may not leave its group.
    Held(StayCause),
    /// It cannot be moved.
    Stuck(EvacuationObstacle),
    /// It cannot be moved in its group, and not to another one.
    NowhereElse(EvacuationObstacle, Box<Failure>),
}

/// Returns true if the request is for new instances whose places are compared by lost allocations instead of
/// the score.
pub fn is_dedicated(cluster: &Cluster, request: &Request) -> bool {
    match request {
        Request::Allocate { group, .. } | Request::MultiAllocate { group, .. } => {
            placing::find_group(cluster, group.as_deref())
                .is_ok_and(|group| placing::is_dedicated(cluster, group))
        }
        _ => false,
    }
}

/// Answers a request about a cluster; instances and nodes in the request belong to that cluster.
pub fn answer(cluster: Cluster, request: Request, settings: &Settings) -> Reply {
    let mut cluster = Draft::from(cluster);
    let start = cluster.mark();
    let mut notes = ReplyNotes::default();
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
    let ReplyNotes { added, why, room } = notes;
    if answer.is_err() {
        cluster.back_to(start);
        return Reply { answer, cluster: cluster.into_cluster(), added: Vec::new(), why, room };
    }
    Reply { answer, cluster: cluster.into_cluster(), added, why, room }
}
