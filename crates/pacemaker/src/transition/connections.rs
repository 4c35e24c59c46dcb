//! Actions on guest and remote nodes, which the cluster reaches by a connection: a resource of its own.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::shown_order::by_shown_name;
use super::super::working_set::{FenceAction, RunCondition, WorkingSet};
use super::action::ActionTask::{Demote, Fence, MigrateFrom, MigrateTo, Promote, Reload, Start, Stop};
use super::action::TransitionAction;
use super::actions::Actions;
use super::change::ResourceChanges;
use super::remote_nodes::{self, RemoteAction};
use super::wait::WaitReason;
use htools_plan::graph::{StepIdx, Strength};

/// A node with the resources behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectedHost {
    host: HostIdx,
    /// The connection to it.
    connection: ResourceIdx,
    /// The VM that is the node; `None` for a node that the cluster does not run itself.
    machine: Option<ResourceIdx>,
}

/// The nodes of a cluster that have a connection.
fn connected(set: &WorkingSet) -> impl Iterator<Item = ConnectedHost> + '_ {
    set.guests().map(|(host, parts)| ConnectedHost {
        host,
        connection: parts.connection,
        machine: (!parts.is_remote_node()).then_some(parts.machine),
    })
}

/// Adds the fencing of guest nodes. Each is a mark that the VM is down.
pub(super) fn fence(set: &WorkingSet, changes: &ResourceChanges, actions: &mut Actions) {
    for one in connected(set).filter(|one| set.host(one.host).state.unclean) {
        let Some(machine) = one.machine.filter(|machine| one.is_fenced(set, *machine)) else { continue };
        let comes_back = changes.by_place[machine.get()].runs_on().is_some()
            || set.host(one.host).replica && fails_redefined(set, machine);
        let fence = if comes_back { FenceAction::Reboot } else { FenceAction::Off };
        let action = TransitionAction::to_host(Fence, one.host);
        actions.add(TransitionAction { pseudo: true, fence: Some(fence), ..action });
    }
}

/// Adds the edges between a connection and the actions on its node.
pub(super) fn add(set: &WorkingSet, changes: &ResourceChanges, actions: &mut Actions) {
    for one in connected(set) {
        let why = WaitReason::Connection(one.connection);
        actions.edge(one.goes_down(set, actions), actions.to(Fence, one.host), Strength::Must, why);
        let comes = one.comes(actions);
        for step in (0..actions.all.len()).map(StepIdx::new) {
            let action = actions.all[step.get()];
            let Some(resource) = action.resource else { continue };
            let migrates = changes.get(resource).migrates();
            match action.task {
                // A resource with its place on the node leaves its old place only once the node is there.
                Stop if action.host != Some(one.host) && one.is_to_get(changes, resource) && !migrates => {
                    for start in one.arrival(actions) {
                        actions.edge_alone(start, step, Strength::Must, why);
                    }
                }
                Start if action.host == Some(one.host) && !migrates => {
                    one.follow(&comes, step, why, actions);
                }
                // Pacemaker deletes the history of another agent on the node before the resource starts anywhere, and
                // with `remove-after-stop` that of each resource that stops there.
                Start
                    if one.has_other_agent(set, resource)
                        || set.removes_after_stop && one.is_left_by(set, changes, resource) =>
                {
                    one.follow(&one.arrival(actions), step, why, actions);
                }
                Promote | Reload if action.host == Some(one.host) => {
                    one.follow(&comes, step, why, actions);
                }
                Stop | Demote | MigrateTo | MigrateFrom
                    if action.host == Some(one.host) && one.machine.is_none() =>
                {
                    let (node, connection) = (one.host, one.connection);
                    RemoteAction { node, connection, step, migrates }.order(set, changes, actions);
                }
                Stop | Demote | MigrateTo | MigrateFrom if action.host == Some(one.host) => {
                    one.precede(step, migrates, actions, why);
                }
                _ => {}
            }
        }
    }
    remote_nodes::reconnect(set, actions);
    for resource in set.resource_indices().filter(|one| set.resource(*one).is_primitive()) {
        // It is looked for before it comes to any node.
        let sent = actions.first_with(&[MigrateTo, MigrateFrom, Start], resource);
        look_for(set, changes, actions, resource, sent);
    }
    for one in connected(set).filter(|one| !one.is_searched(set, changes)) {
        one.end_before_starts(set, changes, actions);
    }
    for one in connected(set) {
        one.look_before_end(set, changes, actions);
        one.free_machine(actions);
    }
}

/// Makes a step wait until a resource was looked for on the nodes that know nothing of it, after these have come up.
pub(super) fn look_for(
    set: &WorkingSet,
    changes: &ResourceChanges,
    actions: &mut Actions,
    sought: ResourceIdx,
    step: Option<StepIdx>,
) {
    let unknown_on = &set.resource(sought).unknown_on;
    if unknown_on.is_empty() {
        return;
    }
    let is_sought = |one: &ConnectedHost| {
        unknown_on.contains(&one.host)
            && one.is_searched(set, changes)
            && is_sought_on(set, changes, sought, one.host)
    };
    for one in connected(set).filter(is_sought) {
        let connected = actions.with(Start, one.connection);
        actions.edge(connected, step, Strength::Must, WaitReason::Connection(one.connection));
    }
}

/// Returns true if it is this instance of a clone that is looked for on a guest or remote node: the one with its place there, or
/// else the first. All instances that are told apart are looked for.
fn is_sought_on(set: &WorkingSet, changes: &ResourceChanges, sought: ResourceIdx, host: HostIdx) -> bool {
    let clone = set.clone_of(sought).filter(|clone| !set.resource(*clone).is_unique());
    let Some(clone) = clone else { return true };
    let is_to_get = |instance: &&ResourceIdx| {
        let mut parts = set.primitives(instance).to_vec().into_iter();
        parts.any(|part| changes.by_place[part.get()].runs_on() == Some(host))
    };
    let instances = &set.resource(clone).members;
    let here = instances.iter().find(is_to_get).or(instances.first());
    here.is_some_and(|instance| set.primitives(instance).contains(&sought))
}

fn is_on_lost(set: &WorkingSet, resource: ResourceIdx) -> bool {
    set.resource(resource).active_hosts().any(|host| set.host(host).state.unclean)
}

/// Returns true for a VM that failed on a host that is not lost.
fn fails_alone(set: &WorkingSet, machine: ResourceIdx) -> bool {
    set.resource(machine).condition == RunCondition::Failed && !is_on_lost(set, machine)
}

/// Returns true for a container that failed on a host that can run resources, and has another definition now. Pacemaker
/// quirk: the node in it is rebooted, even if the container stays down.
fn fails_redefined(set: &WorkingSet, container: ResourceIdx) -> bool {
    let details = set.resource(container);
    let is_open = details.active.is_some_and(|host| set.host(host).can_run());
    fails_alone(set, container) && is_open && details.revision.restarts()
}

impl ConnectedHost {
    /// Returns true if an unclean guest node is fenced. That its connection failed is not enough if nothing runs there.
    fn is_fenced(self, set: &WorkingSet, machine: ResourceIdx) -> bool {
        // Pacemaker only notes it for a VM that is not stopped.
        if !set.may_manage(machine) || !set.can_fence(self.host) {
            return false;
        }
        let is_failed = fails_alone(set, machine);
        let is_here = |one: &ResourceIdx| set.resource(*one).active_hosts().any(|host| host == self.host);
        // A resource that a failure blocks was managed when it failed.
        let counts = |one: &ResourceIdx| {
            let details = set.resource(*one);
            details.is_primitive() && (set.may_manage(*one) || details.blocked_by_failure)
        };
        let is_used = set.resource_indices().any(|one| is_here(&one) && counts(&one));
        is_used || is_on_lost(set, self.connection) || is_failed
    }

    /// Returns true if resources are looked for on the node. On a guest node, they are if its VM is to stay where it runs,
    /// and on a remote node unless it is fenced.
    fn is_searched(self, set: &WorkingSet, changes: &ResourceChanges) -> bool {
        let is_unclean = set.host(self.host).state.unclean;
        let Some(machine) = self.machine else { return !is_unclean };
        let details = set.resource(machine);
        let is_sound = matches!(details.condition, RunCondition::Sound | RunCondition::Starting);
        let to = changes.by_place[machine.get()].runs_on();
        let is_fenced = is_unclean && self.is_fenced(set, machine);
        is_sound && !is_fenced && details.active.is_some() && details.active == to
    }

    /// Makes resources start only when a VM that is not searched is down, if they may run in it.
    fn end_before_starts(self, set: &WorkingSet, changes: &ResourceChanges, actions: &mut Actions) {
        let Some(machine) = self.machine.filter(|machine| !changes.get(*machine).migrates()) else { return };
        let may_be_up = set.resource(self.connection).active.is_some()
            || changes.by_place[self.connection.get()].starts_on().is_some();
        let down = actions.with(Stop, machine).filter(|_| may_be_up);
        for resource in set.resource_indices() {
            let may_be_there = |part: &ResourceIdx| set.resource(*part).unknown_on.contains(&self.host);
            if set.outermost(resource) == resource && set.primitives(&resource).iter().any(may_be_there) {
                let start = actions.with(Start, resource);
                actions.edge(down, start, Strength::Must, WaitReason::Machine(machine));
            }
        }
    }

    /// Ends the connection only after the resources on the node were looked for elsewhere, unless it has left already, or
    /// fencing ends all that runs there.
    fn look_before_end(self, set: &WorkingSet, changes: &ResourceChanges, actions: &mut Actions) {
        let is_over = match self.machine {
            Some(_) => actions.to(Fence, self.host).is_some(),
            None => changes.is_fenced_without_connection(set, actions, self.host, self.connection),
        };
        let has_left = actions.with(MigrateFrom, self.connection).is_some()
            && actions.with(MigrateTo, self.connection).is_none();
        if is_over || has_left {
            return;
        }
        let ends = [Stop, MigrateTo].map(|task| actions.with(task, self.connection));
        for resource in set.resource_indices() {
            if set.resource(resource).active_hosts().any(|host| host == self.host) {
                ends.iter().for_each(|end| look_for(set, changes, actions, resource, *end));
            }
        }
    }

    /// Removes edges that contradict that a VM comes up before what runs in it, and goes down before a fenced guest node
    /// counts as fenced.
    fn free_machine(self, actions: &mut Actions) {
        let Some(machine) = self.machine else { return };
        let is_fenced = actions.to(Fence, self.host).is_some();
        let all = &actions.all;
        actions.edges.retain(|edge| {
            let (before, after) = (&all[edge.before.get()], &all[edge.after.get()]);
            let is_within = before.host == Some(self.host) && after.resource == Some(machine);
            let is_contrary = match before.task {
                Start | Promote => matches!(after.task, Start | MigrateTo | MigrateFrom),
                Stop | Demote => is_fenced && after.task == Stop,
                _ => false,
            };
            !(is_within && is_contrary)
        });
    }

    /// Returns true if a resource has its place on the node, started or not.
    fn is_to_get(self, changes: &ResourceChanges, resource: ResourceIdx) -> bool {
        changes.by_place[resource.get()].starts_on() == Some(self.host)
    }

    /// Returns true if a resource stops on the node, which is not fenced.
    fn is_left_by(self, set: &WorkingSet, changes: &ResourceChanges, resource: ResourceIdx) -> bool {
        let change = changes.get(resource);
        let stops = !change.migrates() && change.stops_on() == Some(self.host);
        stops && !set.host(self.host).state.unclean
    }

    /// Returns true if a resource runs on the node by the history of another agent.
    fn has_other_agent(self, set: &WorkingSet, resource: ResourceIdx) -> bool {
        let details = set.resource(resource);
        details.revision.has_other_agent() && details.active == Some(self.host)
    }

    /// The step by which a guest node counts as fenced: the last end of its VM, or of its connection if only that runs.
    /// Pacemaker quirk: the fencing of the VM's node counts instead if that node comes first by name.
    fn goes_down(self, set: &WorkingSet, actions: &Actions) -> Option<StepIdx> {
        let machine = self.machine?;
        let alone = (set.resource(machine).active.is_none()).then_some(self.connection);
        let down = [Some(machine), alone].into_iter().flatten().find_map(|one| actions.last_stop(one));
        let on = down.and_then(|step| actions.all[step.get()].host);
        let hosts = by_shown_name(set);
        let turn = |host: HostIdx| hosts.iter().position(|other| *other == host);
        let fenced = on.filter(|on| turn(*on) < turn(self.host)).and_then(|on| actions.to(Fence, on));
        fenced.or(down)
    }

    /// The steps by which the node comes up.
    fn comes(self, actions: &Actions) -> Vec<StepIdx> {
        let machine = self.machine.and_then(|machine| actions.with(Start, machine));
        machine.into_iter().chain(self.arrival(actions)).collect()
    }

    /// The steps after which the connection is where it should be. A connection to a remote node that migrates has arrived
    /// once it is down at its old place.
    fn arrival(self, actions: &Actions) -> Vec<StepIdx> {
        let sent = actions.with(MigrateFrom, self.connection).filter(|_| self.machine.is_none());
        match sent {
            Some(sent) => actions.with(Stop, self.connection).into_iter().chain([sent]).collect(),
            None => actions.with(Start, self.connection).into_iter().collect(),
        }
    }

    /// Makes a step wait until the node is up.
    fn follow(self, comes: &[StepIdx], step: StepIdx, why: WaitReason, actions: &mut Actions) {
        comes.iter().for_each(|before| actions.edge_alone(*before, step, Strength::Must, why));
    }

    /// Makes the end of the connection wait for a step. What must be stopped on an unclean node stops by its fencing.
    fn precede(self, step: StepIdx, migrates: bool, actions: &mut Actions, why: WaitReason) {
        if actions.to(Fence, self.host).is_some() {
            return;
        }
        let stop = actions.with(Stop, self.connection);
        actions.edge_alone(step, stop, Strength::Must, why);
        let is_stop = actions.all[step.get()].task == Stop;
        let sent = actions.with(MigrateTo, self.connection).filter(|_| is_stop && !migrates);
        actions.edge_alone(step, sent, Strength::Must, why);
    }
}
