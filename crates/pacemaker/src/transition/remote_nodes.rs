//! The end of actions on remote nodes, and the connections to these nodes.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::working_set::{RunCondition, WorkingSet};
use super::action::ActionTask::{Demote, Fence, MigrateFrom, MigrateTo, Start, Stop};
use super::actions::Actions;
use super::change::{ResourceChange, ResourceChanges};
use super::wait::WaitReason;
use htools_plan::graph::{StepIdx, Strength};

/// An action on a remote node.
#[derive(Debug, Clone, Copy)]
pub(super) struct RemoteAction {
    pub(super) node: HostIdx,
    /// The connection to the node.
    pub(super) connection: ResourceIdx,
    pub(super) step: StepIdx,
    /// True for a part of a live migration.
    pub(super) migrates: bool,
}

impl RemoteAction {
    /// Puts an action that is no start in order with the connection: before its end if it is up, or else after its start.
    pub(super) fn order(self, set: &WorkingSet, changes: &ResourceChanges, actions: &mut Actions) {
        let why = WaitReason::Connection(self.connection);
        let stop = actions.with(Stop, self.connection);
        let arrived = actions.with(MigrateFrom, self.connection);
        if arrived.is_some() && actions.with(MigrateTo, self.connection).is_none() {
            // The connection has already left its old place.
            [arrived, stop].into_iter().for_each(|part| {
                actions.edge_alone(part, self.step, Strength::Must, why);
            });
            return;
        }
        let is_lost = |step: &StepIdx| {
            let host = actions.all[step.get()].host;
            host.is_some_and(|host| set.host(host).state.unclean)
        };
        let Some(stop) = stop.filter(|stop| !is_lost(stop)) else {
            let is_up = set.resource(self.connection).active.is_some() && stop.is_none();
            if !is_up {
                let start = actions.with(Start, self.connection);
                actions.edge_alone(start, self.step, Strength::Must, why);
            }
            return;
        };
        if changes.is_fenced_without_connection(set, actions, self.node, self.connection) {
            return;
        }
        let task = actions.all[self.step.get()].task;
        if task == Demote {
            return;
        }
        actions.edge_alone(self.step, stop, Strength::Must, why);
        let is_stop = task == Stop;
        let sent = actions.with(MigrateTo, self.connection);
        actions.edge_alone(self.step, sent.filter(|_| is_stop && !self.migrates), Strength::Must, why);
    }
}

impl ResourceChanges {
    /// Returns true for a node that is fenced and whose connection failed and has no place. Fencing ends what runs on the
    /// node, so that the end of such a connection waits for nothing there; that of a working one does. Whether the
    /// connection starts in its place does not matter.
    pub(super) fn is_fenced_without_connection(
        &self,
        set: &WorkingSet,
        actions: &Actions,
        node: HostIdx,
        connection: ResourceIdx,
    ) -> bool {
        let is_failed = set.resource(connection).condition == RunCondition::Failed;
        let has_place = self.by_place[connection.get()].runs_on().is_some();
        is_failed && actions.to(Fence, node).is_some() && !has_place
    }

    /// A resource that would migrate live to or from a remote node whose connection is stopped, and not migrated.
    /// Pacemaker's own transition then lacks actions, or does not end.
    pub fn without_connection(&self, set: &WorkingSet) -> Option<ResourceIdx> {
        let is_stopped = |host: HostIdx| {
            let parts = set.host(host).guest.filter(|parts| parts.is_remote_node());
            let change = parts.map(|parts| self.get(parts.connection));
            change.is_some_and(|change| change.stops_on().is_some() && !change.migrates())
        };
        set.resource_indices().find(|resource| match self.by_place[resource.get()] {
            ResourceChange::Migrate { from, to } => is_stopped(from) || is_stopped(to),
            _ => false,
        })
    }
}

/// Makes the start of connections wait for the fencing of their nodes.
pub(super) fn reconnect(set: &WorkingSet, actions: &mut Actions) {
    for (node, parts) in set.guests().filter(|(_, parts)| parts.is_remote_node()) {
        let (fence, start) = (actions.to(Fence, node), actions.with(Start, parts.connection));
        actions.edge(fence, start, Strength::Must, WaitReason::Fencing(node));
    }
}
