//! The steps of a transition.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::working_set::FenceAction;
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
    /// How a guest node is fenced; `None` for all other actions.
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
    /// An action on a host.
    pub(super) fn to_host(task: ActionTask, host: HostIdx) -> TransitionAction {
        let pseudo = task == ActionTask::LoadStopped;
        TransitionAction {
            task,
            resource: None,
            host: Some(host),
            peer: None,
            pseudo,
            choice: None,
            fence: None,
        }
    }

    /// An action on a primitive.
    pub(super) fn with(task: ActionTask, resource: ResourceIdx, host: HostIdx) -> TransitionAction {
        let (resource, host) = (Some(resource), Some(host));
        TransitionAction { task, resource, host, peer: None, pseudo: false, choice: None, fence: None }
    }

    /// A mark among the actions on a group or a clone.
    pub(super) fn mark(task: ActionTask, group: ResourceIdx) -> TransitionAction {
        TransitionAction {
            task,
            resource: Some(group),
            host: None,
            peer: None,
            pseudo: true,
            choice: None,
            fence: None,
        }
    }

    /// The point at which enough of several resources are started.
    pub(super) fn enough(choice: ChoiceMark) -> TransitionAction {
        let task = ActionTask::EnoughStarted;
        TransitionAction {
            task,
            resource: None,
            host: None,
            peer: None,
            pseudo: true,
            choice: Some(choice),
            fence: None,
        }
    }
}
