//! The steps of a transition.

use super::super::index::{HostIdx, ResourceIdx};
use crate::model::kinds::words;

words!(
    /// What an action does, in Pacemaker's words.
    pub ActionTask, "action of a transition" {
        /// Takes a lost host down by force.
        Fence = "stonith",
        /// Stops a resource; of a group: its members begin to stop.
        Stop = "stop",
        /// All members of a group are stopped.
        Stopped = "stopped",
        /// All that leaves a host has left it.
        LoadStopped = "load_stopped",
        /// Sends a running resource to another host.
        MigrateTo = "migrate_to",
        /// Receives it there.
        MigrateFrom = "migrate_from",
        /// Starts a resource; of a group: its members begin to start.
        Start = "start",
        /// All members of a group are started.
        Running = "running",
        /// Lets a host leave the cluster.
        Shutdown = "do_shutdown",
    }
);

/// A step of a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransitionAction {
    /// What it does.
    pub task: ActionTask,
    /// With which resource.
    pub resource: Option<ResourceIdx>,
    /// On which host it is carried out. What is done with groups is done on none.
    pub host: Option<HostIdx>,
    /// The other host of a migration.
    pub peer: Option<HostIdx>,
    /// Whether it only marks a point in the order, and nothing is sent anywhere.
    pub pseudo: bool,
}

impl TransitionAction {
    /// What is done to a host.
    pub(super) fn to_host(task: ActionTask, host: HostIdx) -> TransitionAction {
        let pseudo = task == ActionTask::LoadStopped;
        TransitionAction { task, resource: None, host: Some(host), peer: None, pseudo }
    }

    /// What is done with a primitive.
    pub(super) fn with(task: ActionTask, resource: ResourceIdx, host: HostIdx) -> TransitionAction {
        TransitionAction { task, resource: Some(resource), host: Some(host), peer: None, pseudo: false }
    }

    /// A point in what is done with a group.
    pub(super) fn mark(task: ActionTask, group: ResourceIdx) -> TransitionAction {
        TransitionAction { task, resource: Some(group), host: None, peer: None, pseudo: true }
    }
}
