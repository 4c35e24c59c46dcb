//! Changes of resources in a transition: starts, stops, moves, live migrations and restarts.

use super::super::index::{HostIdx, ResourceIdx};
use super::super::placing::AllPlaced;
use super::super::working_set::{QuorumPolicy, Requirement, Resource, Revision, RunCondition, WorkingSet};
use super::action::{ActionTask, TransitionAction};
use super::wait::WaitReason;

/// Change of a primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceChange {
    /// It does not run, and is not started.
    Idle,
    /// It runs where it is.
    Stay(HostIdx),
    /// It is started.
    Start(HostIdx),
    /// It is stopped.
    Stop(HostIdx),
    /// It is stopped, and started elsewhere.
    Move {
        /// The host on which it runs.
        from: HostIdx,
        /// The host on which it is started.
        to: HostIdx,
    },
    /// It is moved by a live migration.
    Migrate {
        /// The host on which it runs.
        from: HostIdx,
        /// The host to which it goes.
        to: HostIdx,
    },
    /// It stays where it is, and reads its parameters again.
    Reload(HostIdx),
    /// It is restarted on its host: something that it needs is down for a while, or its configuration has changed.
    Restart(HostIdx),
    /// It should be stopped but is not, as it, or a later running member of its group, is not managed.
    Held(HostIdx),
    /// It has a host with room for it, but is not started, as something that it needs does not run.
    Blocked(HostIdx),
}

impl ResourceChange {
    /// Change by the hosts on which a resource runs and is placed, managed or not. Groups are idle.
    pub(super) fn of(set: &WorkingSet, placed: &AllPlaced, resource: ResourceIdx) -> ResourceChange {
        let details = set.resource(resource);
        if !details.is_primitive() {
            return ResourceChange::Idle;
        }
        let may_migrate = |from, to| {
            let state = set.host(from).state;
            let is_machine = set.host(from).guest.is_some_and(|parts| !parts.is_remote_node());
            let is_left = state.online && (is_machine || !state.unclean);
            // If it runs on two hosts, it can go from one to the other.
            let joins = !details.runs_too_often()
                || details.spares_expected() && details.also_on == [to]
                || details.sent_to == Some(to);
            let can_go = match details.condition {
                RunCondition::Sound => joins && details.left_on.is_empty(),
                condition => condition == RunCondition::Supposed,
            };
            // A resource cannot migrate to another agent.
            details.allow_migrate && can_go && !details.revision.has_other_agent() && is_left
        };
        // For others, a resource in maintenance restarts, although nothing is done about it.
        let restarts = || set.may_manage(resource) || set.is_in_maintenance(resource);
        match (details.active, placed.host(resource)) {
            (None, None) => ResourceChange::Idle,
            (None, Some(to)) => ResourceChange::Start(to),
            (Some(_), None) if details.condition == RunCondition::Supposed => ResourceChange::Idle,
            (Some(from), None) => ResourceChange::Stop(from),
            (Some(from), Some(to)) if from == to => match details.condition {
                RunCondition::Sound
                    if details.runs_too_often()
                        && restarts()
                        && (set.may_manage(resource) || !details.never_restarts) =>
                {
                    ResourceChange::Restart(to)
                }
                RunCondition::Sound | RunCondition::Starting
                    if details.failed_inside && set.is_managed(resource) =>
                {
                    ResourceChange::Restart(to)
                }
                RunCondition::Sound if details.revision.restarts() && set.is_managed(resource) => {
                    ResourceChange::Restart(to)
                }
                // A resource that is being started cannot be told to reload its parameters.
                RunCondition::Starting if details.revision != Revision::None && set.is_managed(resource) => {
                    ResourceChange::Restart(to)
                }
                RunCondition::Sound | RunCondition::Blocked => ResourceChange::Stay(to),
                // A failed resource that is not managed counts as running for others.
                RunCondition::Failed if !restarts() => ResourceChange::Stay(to),
                RunCondition::Failed => ResourceChange::Restart(to),
                RunCondition::Supposed if !set.may_manage(resource) => ResourceChange::Idle,
                RunCondition::Starting | RunCondition::Supposed => ResourceChange::Start(to),
            },
            (Some(from), Some(to)) if may_migrate(from, to) => ResourceChange::Migrate { from, to },
            (Some(from), Some(to)) => ResourceChange::Move { from, to },
        }
    }

    /// The change that is possible without quorum, for a resource whose definition changed or not. By `stop`, nothing keeps
    /// running or starts; by `freeze`, only resources that run already start anew, and by `demote` only instances of
    /// promotable clones. Resources stay on a host that would have to be fenced first.
    pub(super) fn allowed(self, set: &WorkingSet, resource: ResourceIdx, is_changed: bool) -> ResourceChange {
        let details = set.resource(resource);
        let Some(policy) = set.without_quorum.filter(|_| set.is_managed(resource)) else { return self };
        let is_promotable =
            || set.clone_of(resource).is_some_and(|one| set.resource(one).promotion.is_some());
        // Pacemaker quirk: a member of a group in a clone is stopped if another member is promoted and it is not.
        let lags = || set.lags_behind_promoted_member(resource);
        let goes_on = match policy {
            // Pacemaker quirk: a resource with a changed definition is stopped, and not started again.
            QuorumPolicy::Freeze => !is_changed && !lags(),
            QuorumPolicy::Demote => is_promotable() && !lags(),
            QuorumPolicy::Stop => false,
        };
        let change = match (details.active, self) {
            _ if set.requirement(resource) == Requirement::Nothing => self,
            // It does not run, although it should by the history.
            (Some(_), _) if details.condition == RunCondition::Supposed => self.not_started(),
            (Some(_), _) if goes_on => self,
            // A resource that was being started is stopped, too.
            (Some(at), ResourceChange::Start(_)) if policy != QuorumPolicy::Freeze => {
                ResourceChange::Stop(at)
            }
            _ => self.not_started(),
        };
        // On a lost guest node or node in a container, everything restarts, and so waits for the fencing.
        let is_inside = |host: &HostIdx| set.host(*host).guest.is_some_and(|parts| !parts.is_remote_node());
        let inside = details.active.filter(is_inside);
        match change.stops_on().or(inside) {
            // A VM can be lost while the connection to its guest node is not.
            Some(host) if (set.host(host).state.unclean || is_inside(&host)) && !set.can_fence(host) => {
                ResourceChange::Held(host)
            }
            _ => change,
        }
    }

    /// The change if hosts are unfenced: resources that require this are stopped there before, and fencing devices
    /// restart.
    pub(super) fn with_unfenced(
        self,
        set: &WorkingSet,
        unfenced: &[HostIdx],
        resource: ResourceIdx,
    ) -> ResourceChange {
        if !set.needs_unfenced_host(resource) || !set.is_managed(resource) {
            return self;
        }
        match self {
            ResourceChange::Stay(host) if unfenced.contains(&host) => ResourceChange::Restart(host),
            ResourceChange::Migrate { from, to }
                if unfenced.contains(&from) && !set.resource(resource).fences() =>
            {
                ResourceChange::Move { from, to }
            }
            other => other,
        }
    }

    /// The host on which it is stopped.
    pub fn stops_on(self) -> Option<HostIdx> {
        match self {
            ResourceChange::Stop(host) | ResourceChange::Restart(host) => Some(host),
            ResourceChange::Move { from, .. } | ResourceChange::Migrate { from, .. } => Some(from),
            _ => None,
        }
    }

    /// The host on which it is started, or arrives.
    pub fn starts_on(self) -> Option<HostIdx> {
        match self {
            ResourceChange::Start(host) | ResourceChange::Restart(host) => Some(host),
            ResourceChange::Move { to, .. } | ResourceChange::Migrate { to, .. } => Some(to),
            _ => None,
        }
    }

    /// The host that it leaves, or should leave.
    pub fn leaves(self) -> Option<HostIdx> {
        match self {
            ResourceChange::Held(host) => Some(host),
            other => other.stops_on(),
        }
    }

    /// The host to which it comes, or should come.
    pub fn comes_to(self) -> Option<HostIdx> {
        match self {
            ResourceChange::Blocked(host) => Some(host),
            other => other.starts_on(),
        }
    }

    /// The host on which it runs in the end.
    pub fn runs_on(self) -> Option<HostIdx> {
        match self {
            ResourceChange::Stay(host) | ResourceChange::Reload(host) | ResourceChange::Held(host) => {
                Some(host)
            }
            other => other.starts_on(),
        }
    }

    /// The host on which it runs in the end, for others that need it. A resource that is not managed ends with its host
    /// if that is fenced. One that should leave a host that cannot be fenced counts as not started elsewhere.
    pub(super) fn lasts_on(self, set: &WorkingSet) -> Option<HostIdx> {
        let is_unsure = |host: HostIdx| !set.frozen && set.host(host).state.unclean;
        self.runs_on().filter(|host| self.starts_on().is_some() || !is_unsure(*host))
    }

    /// Returns true for a start that had begun when the document was written, and is not given up.
    pub(super) fn goes_on(self, resource: &Resource) -> bool {
        resource.condition == RunCondition::Starting && matches!(self, ResourceChange::Start(_))
    }

    /// Returns true for a live migration.
    pub(crate) fn migrates(self) -> bool {
        matches!(self, ResourceChange::Migrate { .. })
    }

    /// Returns true if it is started after having been down.
    pub(super) fn comes_up(self) -> bool {
        self.starts_on().is_some() && !self.migrates()
    }

    /// Returns true if it is stopped, and so unusable for a while.
    pub(super) fn goes_down(self) -> bool {
        self.stops_on().is_some() && !self.migrates()
    }

    /// Returns true if a resource should run by its own place, but does not.
    pub(super) fn falls_short_of(self, by_place: ResourceChange) -> bool {
        by_place.runs_on().is_some() && self.runs_on().is_none()
    }

    /// The change if something that it needs does not run. A resource that stays goes on, unless the order is
    /// `symmetrical` and so applies to stops, too.
    pub(super) fn without_needed(self, symmetrical: bool) -> ResourceChange {
        if symmetrical || self.starts_on().is_some() { self.not_started() } else { self }
    }

    /// The change if it cannot be started; if it runs, it is stopped.
    pub(super) fn not_started(self) -> ResourceChange {
        match self {
            ResourceChange::Start(to) => ResourceChange::Blocked(to),
            ResourceChange::Stay(at) => ResourceChange::Stop(at),
            other if other.starts_on().is_some() => {
                other.stops_on().map_or(ResourceChange::Idle, ResourceChange::Stop)
            }
            other => other,
        }
    }
}

/// Change of the role of a primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoleChange {
    /// The host on which it is demoted.
    pub demoted_on: Option<HostIdx>,
    /// The host on which it is promoted.
    pub promoted_on: Option<HostIdx>,
    /// True if it should be promoted but is not, as something that this needs is missing.
    pub is_blocked: bool,
    /// True if it is promoted in the end.
    pub ends_promoted: bool,
    /// True if it restarts for another agent, which leaves its promotion to the next transition.
    pub is_postponed: bool,
}

impl RoleChange {
    /// Returns true if others find it promoted in the end.
    pub(super) fn counts_as_promoted(self) -> bool {
        self.ends_promoted || self.is_postponed
    }
}

/// Changes of all resources, and causes of those that do not follow from the resource's own place.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceChanges {
    /// Change of each resource; groups are idle.
    pub by_resource: Vec<ResourceChange>,
    /// Change of each resource by its own place, regardless of others.
    pub by_place: Vec<ResourceChange>,
    /// Cause of each resource's change, if that is not its own place.
    pub causes: Vec<Option<WaitReason>>,
    /// Change of the role of each primitive.
    pub roles: Vec<RoleChange>,
    /// The hosts that are unfenced.
    pub unfenced: Vec<HostIdx>,
}

impl ResourceChanges {
    /// Removes the effect of a step that is never carried out.
    pub(super) fn without(&mut self, step: &TransitionAction) {
        let Some(resource) = step.resource else { return };
        let change = &mut self.by_resource[resource.get()];
        let left = match (step.task, *change) {
            // The resource has arrived.
            (ActionTask::Start | ActionTask::Stop, ResourceChange::Migrate { .. }) => return,
            (ActionTask::Start, change) => change.not_started(),
            (ActionTask::Stop | ActionTask::MigrateTo | ActionTask::MigrateFrom, change) => {
                change.leaves().map_or(change, ResourceChange::Held)
            }
            _ => return,
        };
        if *change != left {
            (*change, self.causes[resource.get()]) = (left, Some(WaitReason::Circle));
        }
    }

    /// The primitives that should run but do not in the end, or only on a lost host that is not fenced. Spare instances
    /// do not count.
    pub fn down(&self, set: &WorkingSet, placed: &AllPlaced) -> Vec<ResourceIdx> {
        let spare = placed.spare(set);
        // A lost guest node comes back before anything starts there.
        let is_guest = |host: HostIdx| set.host(host).guest.is_some_and(|parts| !parts.is_remote_node());
        let runs = |one: &ResourceIdx| {
            let change = self.get(*one);
            change.runs_on().is_some_and(|host| !set.is_lost(host))
                || change.starts_on().is_some_and(is_guest)
        };
        let is_missed = |one: &ResourceIdx| set.resource(*one).is_primitive() && set.is_wanted(*one);
        let down = set.resource_indices().filter(|one| is_missed(one) && !runs(one) && !spare.contains(one));
        down.collect()
    }

    /// An instance that would change, and its clone, of which only the instances are managed. Pacemaker never comes to the
    /// changes of such an instance.
    pub fn without_clone(&self, set: &WorkingSet) -> Option<(ResourceIdx, ResourceIdx)> {
        let changes = |part: ResourceIdx| {
            let (change, role) = (self.get(part), self.roles[part.get()]);
            change.starts_on().or(change.stops_on()).or(role.demoted_on).or(role.promoted_on).is_some()
        };
        let mut clones = set.clones().filter(|clone| !set.resource(*clone).managed);
        clones.find_map(|clone| {
            let parts = set.primitives(&clone);
            let part = parts.iter().copied().find(|part| set.is_managed(*part) && changes(*part));
            part.map(|part| (part, clone))
        })
    }

    /// Returns true if a resource has a place but does not run there, as something that it needs is missing.
    pub(super) fn lacks_its_place(&self, resource: ResourceIdx) -> bool {
        self.get(resource).falls_short_of(self.by_place[resource.get()])
    }

    /// The change of one resource.
    pub fn get(&self, resource: ResourceIdx) -> ResourceChange {
        self.by_resource[resource.get()]
    }
}
