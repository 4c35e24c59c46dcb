//! The steps of a transition.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::working_set::{FenceAction, WorkingSet};
use htools_model::words;

words!(
    /// Kind of action, in Pacemaker's words.
    pub ActionTask, "action of a transition" {
        /// Takes a lost host down by force.
        Fence = "stonith",
        /// Gives a host access to shared devices.
        Unfence = "on",
        /// Stops a resource; for a group, its members begin to stop.
        Stop = "stop",
        /// All members of a group are stopped.
        Stopped = "stopped",
        /// Everything that leaves a host has left it.
        LoadStopped = "load_stopped",
        /// Sends a running resource to another host.
        MigrateTo = "migrate_to",
        /// Receives it there.
        MigrateFrom = "migrate_from",
        /// Has a resource read its parameters again.
        Reload = "reload-agent",
        /// Starts a resource; for a group, its members begin to start.
        Start = "start",
        /// All members of a group are started.
        Running = "running",
        /// Promotes an instance; for a clone or a group, its parts begin to be promoted.
        Promote = "promote",
        /// All parts of a clone or a group are promoted.
        Promoted = "promoted",
        /// Demotes an instance; for a clone or a group, its parts begin to be demoted.
        Demote = "demote",
        /// All parts of a clone or a group are demoted.
        Demoted = "demoted",
        /// Enough of several resources are started for those that follow.
        EnoughStarted = "one-or-more",
        /// Lets a host leave the cluster.
        Shutdown = "do_shutdown",
    }
);

/// A step of a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransitionAction {
    /// Kind of action.
    pub task: ActionTask,
    /// The resource concerned.
    pub resource: Option<ResourceIdx>,
    /// The host on which it is carried out; `None` for marks of groups and clones.
    pub host: Option<HostIdx>,
    /// The other host of a migration.
    pub peer: Option<HostIdx>,
    /// True if it only marks a point in the order, so that nothing is sent to a node.
    pub pseudo: bool,
    /// The choice for which this is the mark.
    pub choice: Option<ChoiceMark>,
    /// The fencing of a guest node, which can differ from that of other nodes; `None` for all other actions.
    pub fence: Option<FenceAction>,
}

/// A point at which enough of several resources are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChoiceMark {
    /// The choice, by its position in [`WorkingSet::choices`](crate::WorkingSet::choices).
    pub at: usize,
    /// Number of earlier steps that must be done; 0 if enough resources run already.
    pub enough: usize,
}

impl TransitionAction {
    /// A task without anything that it concerns.
    fn bare(task: ActionTask) -> TransitionAction {
        let (resource, host, peer, choice, fence) = (None, None, None, None, None);
        TransitionAction { task, resource, host, peer, pseudo: false, choice, fence }
    }

    /// The fencing for which a [`Fence`](ActionTask::Fence) stands.
    pub fn fencing(&self, set: &WorkingSet) -> FenceAction {
        self.fence.unwrap_or(set.fence_action)
    }

    /// An action on a host.
    pub(super) fn to_host(task: ActionTask, host: HostIdx) -> TransitionAction {
        let pseudo = task == ActionTask::LoadStopped;
        TransitionAction { host: Some(host), pseudo, ..TransitionAction::bare(task) }
    }

    /// An action on a primitive.
    pub(super) fn with(task: ActionTask, resource: ResourceIdx, host: HostIdx) -> TransitionAction {
        let (resource, host) = (Some(resource), Some(host));
        TransitionAction { resource, host, ..TransitionAction::bare(task) }
    }

    /// A mark among the actions on a group or a clone.
    pub(super) fn mark(task: ActionTask, group: ResourceIdx) -> TransitionAction {
        TransitionAction { resource: Some(group), pseudo: true, ..TransitionAction::bare(task) }
    }

    /// The point at which enough of several resources are started.
    pub(super) fn enough(choice: ChoiceMark) -> TransitionAction {
        let task = ActionTask::EnoughStarted;
        TransitionAction { pseudo: true, choice: Some(choice), ..TransitionAction::bare(task) }
    }
}
