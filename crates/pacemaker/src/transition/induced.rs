//! Effects of the change of one resource on others, until nothing changes any more. Every turn takes something away
//! from a resource (its undisturbed run, its live migration, its start), so that there is an end.

mod colocations;
mod instances;
mod partial;
mod remote_nodes;
mod roles;
mod state;
mod stopping;
mod unfencing;

use self::state::{InducedChanges, InducedRole};
use self::unfencing::unfenced_hosts;

use super::super::index::{HostIdx, ResourceIdx};
use super::super::placing::AllPlaced;
use super::super::working_set::{OrderedTask, OrderedTasks, ReplicaNode, Revision, RunCondition, WorkingSet};
use super::change::{ResourceChange, ResourceChanges};
use super::needs::{Need, needs, only_stops, promotion_needs};
use super::wait::WaitReason;

/// Changes of all resources in the end, and causes of those that do not follow from the resource's own place.
pub(super) fn changes(set: &WorkingSet, placed: &AllPlaced) -> ResourceChanges {
    let unfenced = unfenced_hosts(set, placed);
    let by_place = set.resource_indices().map(|resource| ResourceChange::of(set, placed, resource));
    let by_place: Vec<ResourceChange> = by_place.collect();
    let own_and_allowed = |resource: ResourceIdx| {
        let own = by_place[resource.get()];
        let reached = own.where_reached(set);
        let allowed = reached.allowed(set, resource, is_redefined(set, &by_place, resource));
        let change = allowed.with_unfenced(set, &unfenced, resource);
        let unfencing = change.stops_on().filter(|_| change != allowed).map(WaitReason::Unfencing);
        let missing = (reached != allowed).then_some(WaitReason::Quorum);
        let beyond = own.beyond(set).filter(|_| own != reached).map(WaitReason::Connection);
        let unknown_on = &set.resource(resource).unknown_on;
        let sought_on = unknown_on.iter().rfind(|host| set.host(**host).state.joining);
        match sought_on {
            Some(host) if matches!(change, ResourceChange::Start(_)) => {
                (change.not_started(), Some(WaitReason::Probe(*host)))
            }
            _ => (change, unfencing.or(missing).or(beyond)),
        }
    };
    let (changes, causes) = set.resource_indices().map(own_and_allowed).unzip();
    let count = set.resources.len();
    let mut induced = InducedChanges {
        set,
        placed,
        by_place,
        changes,
        causes,
        held: vec![false; count],
        unstarted: vec![false; count],
        restarts_with_group: vec![false; count],
        unmatched: Vec::new(),
        waits: vec![false; count],
        awaited: vec![false; count],
        roles: vec![InducedRole::default(); count],
        again: true,
    };
    // A guest node is fenced by a restart of its VM, which then does not migrate away with the resources in it.
    for (host, parts) in set.machines().filter(|(host, _)| set.host(*host).state.unclean) {
        let is_used = set.resources.iter().any(|resource| resource.active_hosts().any(|on| on == host));
        let is_lost = set.resource(parts.connection).active_hosts().any(|on| set.host(on).state.unclean);
        let machine = &mut induced.changes[parts.machine.get()];
        // One that is not managed ends with its lost host.
        if !set.is_managed(parts.machine) && machine.lasts_on(set).is_none() {
            continue;
        }
        *machine = match *machine {
            ResourceChange::Stay(host) if is_used || !is_lost => ResourceChange::Restart(host),
            ResourceChange::Migrate { from, to } if is_used => ResourceChange::Move { from, to },
            other => other,
        };
    }
    let awaited =
        set.orders.iter().filter(|order| order.tasks == OrderedTasks::STARTS).map(|order| order.first);
    let awaited = awaited.chain(set.choices.iter().flat_map(|choice| choice.firsts.iter().copied()));
    awaited.for_each(|first| induced.awaited[first.get()] = true);
    // Resources on a guest node that is to be fenced restart before others go by them.
    let mut needs: Vec<Need> = guest_needs(set, placed).into_iter().chain(needs(set)).collect();
    let stops = only_stops(set);
    needs.extend(promotion_needs(set));
    induced.unmatched = instances::unmatched(set, placed, &needs);
    while std::mem::take(&mut induced.again) {
        needs.iter().for_each(|need| induced.follow_need(need));
        set.choices.iter().enumerate().for_each(|(at, choice)| induced.follow_choice(at, choice));
        stops.iter().for_each(|stop| induced.follow_stop(stop));
        induced.follow_colocations();
        induced.follow_connections();
        induced.hold();
    }
    induced.hold_groups();
    induced.leave_unmanaged();
    induced.reload();
    let roles = induced.role_changes();
    let InducedChanges { changes, by_place, causes, .. } = induced;
    ResourceChanges { by_resource: changes, by_place, causes, roles, unfenced }
}

/// Returns true if the parameters of a resource changed since it was started on a host that can run resources; another agent
/// alone does not count. A connection by the name of its container's host changes with that.
fn is_redefined(set: &WorkingSet, by_place: &[ResourceChange], resource: ResourceIdx) -> bool {
    let details = set.resource(resource);
    let Some(host) = details.active.filter(|host| set.host(*host).can_run()) else { return false };
    let replicas = set.bundles.iter().flat_map(|bundle| &bundle.replicas);
    let is_connection = |inside: ReplicaNode| inside.connection == resource;
    let mut unnamed = replicas.filter(|replica| replica.address.is_none());
    let named_by = unnamed.find(|replica| replica.inside.is_some_and(is_connection));
    let other = named_by.and_then(|replica| by_place[replica.container.get()].runs_on());
    let is_own = matches!(details.revision, Revision::Parameters | Revision::AgentAndParameters);
    is_own || other.is_some_and(|other| other != host)
}

/// Needs of resources in guest nodes for the VMs, and of instances in containers for their connections.
fn guest_needs(set: &WorkingSet, placed: &AllPlaced) -> Vec<Need> {
    let mut needs = Vec::new();
    for (host, parts) in set.machines() {
        let there = set.resource_indices().filter(|resource| placed.host(*resource) == Some(host));
        let why = WaitReason::Machine(parts.machine);
        for then in there {
            needs.push(Need::of_starts(parts.machine, then, true, why));
            if set.host(host).replica {
                // A restart of the connection does not matter.
                needs.push(Need::of_starts(
                    parts.connection,
                    then,
                    false,
                    WaitReason::Connection(parts.connection),
                ));
            }
        }
    }
    needs
}

impl InducedChanges<'_> {
    fn follow_need(&mut self, need: &Need) {
        let set = self.set;
        match (need.tasks.first, need.tasks.then) {
            (OrderedTask::Stop | OrderedTask::Demote, _) => return self.follow_need_of_stop(need),
            (OrderedTask::Start, OrderedTask::Stop) => return self.follow_need_of_stopping(need),
            (_, OrderedTask::Stop | OrderedTask::Demote) => return,
            (_, OrderedTask::Promote) => return self.follow_need_of_promotion(need),
            (OrderedTask::Promote, _) => return self.follow_need_of_promoted(need),
            _ => {}
        }
        if set.resource(need.then).is_group() && !self.waits[need.then.get()] {
            self.waits[need.then.get()] =
                set.primitives(&need.first).iter().any(|first| self.of(*first).comes_up());
            self.again |= self.waits[need.then.get()];
        }
        for member in set.primitives(&need.then).iter() {
            // A held resource holds those behind it, through unmanaged members.
            if matches!(need.why, WaitReason::Group(_))
                && self.held[need.first.get()]
                && !set.is_managed(*member)
            {
                self.again |= !std::mem::replace(&mut self.held[member.get()], true);
                continue;
            }
            self.wait_for_blocked(need, *member);
            let change = self.needing(need, *member);
            let is_restart = self.of(*member) != change && matches!(change, ResourceChange::Restart(_));
            if is_restart && set.member(need.then, false) == Some(*member) {
                self.restarts_with_group[member.get()] = set.resource(need.then).is_group();
            }
            self.set(*member, change, need.why);
        }
    }

    /// Change of a resource by the changes of those that it needs.
    fn needing(&self, need: &Need, resource: ResourceIdx) -> ResourceChange {
        let now = self.of(resource);
        let is_group = |resource| self.set.resource(resource).is_group();
        if self.set.resource(need.first).is_clone() {
            return self.needing_clone(need, resource);
        }
        let all = self.set.primitives(&need.first);
        let firsts = || all.iter();
        // a member that needs its own group starts although the group as a whole cannot
        let is_member = self.set.resource(resource).group == Some(need.first);
        if !is_member && firsts().any(|first| self.is_missing(need, *first)) {
            // Pacemaker also sends migrating resources to a guest node that does not come up.
            let is_sent = now.migrates() && matches!(need.why, WaitReason::Machine(_));
            return if is_sent { now } else { self.without_needed(resource, need.symmetrical) };
        }
        let stops = |first: ResourceChange| first.goes_down() || (is_group(need.first) && first.migrates());
        match now {
            _ if !need.symmetrical => now,
            ResourceChange::Stay(host) | ResourceChange::Start(host)
                if self.has_begun(resource) && firsts().any(|first| self.interrupts(need, *first)) =>
            {
                ResourceChange::Restart(host)
            }
            // A group or clone has no live migration to give up. If a group is waited for, it stops whatever its members
            // do, unless it is unmanaged.
            ResourceChange::Migrate { from, to }
                if self.set.resource(need.then).is_primitive()
                    && !matches!(need.why, WaitReason::Machine(_))
                    && (!is_group(need.first) || self.set.resource(need.first).managed)
                    && firsts().any(|first| stops(self.of(*first)) || self.starts_before(need, *first)) =>
            {
                ResourceChange::Move { from, to }
            }
            _ => now,
        }
    }

    /// The change of a resource if something that it needs does not run. A start under way goes on, or ends with a stop if
    /// the order is `symmetrical`.
    fn without_needed(&self, resource: ResourceIdx, symmetrical: bool) -> ResourceChange {
        let (now, details) = (self.of(resource), self.set.resource(resource));
        match details.active.filter(|_| now.goes_on(details)) {
            Some(host) if symmetrical => ResourceChange::Stop(host),
            Some(_) => now,
            None => now.without_needed(symmetrical),
        }
    }

    /// Returns true if the start of a member of a group ends the live migration of the next one.
    fn starts_before(&self, need: &Need, member: ResourceIdx) -> bool {
        let is_in_group = matches!(need.why, WaitReason::Group(_));
        is_in_group && self.set.release.restarts_after_members() && self.of(member).comes_up()
    }

    /// The members of a group that should stop but cannot, as the next one must stop first and is unmanaged or held
    /// itself.
    fn held_members(&self, group: ResourceIdx) -> Vec<(ResourceIdx, HostIdx)> {
        let mut held = Vec::new();
        let mut is_held = false;
        for member in self.set.in_order(group).iter().rev() {
            let details = self.set.resource(*member);
            let runs = details.active.is_some() && details.condition != RunCondition::Supposed;
            let unmanaged = !self.set.is_managed(*member) && runs;
            let change = self.of(*member);
            let stops = change.stops_on();
            let is_stuck = unmanaged || matches!(change, ResourceChange::Held(_));
            is_held = is_stuck || (is_held && stops.is_some());
            held.extend(stops.filter(|_| is_held).map(|host| (*member, host)));
        }
        held
    }

    /// Notes held resources, for those that need them.
    fn hold(&mut self) {
        let set = self.set;
        for (member, _) in set.groups().flat_map(|group| self.held_members(group)).collect::<Vec<_>>() {
            if set.is_managed(member) && !std::mem::replace(&mut self.held[member.get()], true) {
                self.again = true;
            }
        }
        if set.release.starts_only_before_the_stoppable() {
            set.groups().for_each(|group| self.block_starts(group));
        }
    }

    /// Keeps members of a group from starting if the next one runs and cannot be stopped.
    fn block_starts(&mut self, group: ResourceIdx) {
        let set = self.set;
        for pair in set.in_order(group).windows(2) {
            let (member, next) = (pair[0], set.resource(pair[1]));
            let runs = next.active.is_some() && next.condition != RunCondition::Supposed;
            let is_stuck = runs && (!set.is_managed(pair[1]) || self.held[pair[1].get()]);
            if is_stuck && set.is_managed(member) && matches!(self.of(member), ResourceChange::Start(_)) {
                self.unstarted[member.get()] = true;
                self.set(member, self.of(member).not_started(), WaitReason::Group(group));
            }
        }
    }

    fn hold_groups(&mut self) {
        let set = self.set;
        for group in set.groups() {
            for (member, host) in self.held_members(group) {
                self.set(member, ResourceChange::Held(host), WaitReason::Group(group));
            }
        }
    }

    /// Makes resources that stay after all reload their parameters.
    fn reload(&mut self) {
        for resource in self.set.resource_indices() {
            let reloads = self.set.resource(resource).revision == Revision::Reload;
            let change = &mut self.changes[resource.get()];
            if let (ResourceChange::Stay(host), true) = (*change, reloads && self.set.is_managed(resource)) {
                *change = ResourceChange::Reload(host);
            }
        }
    }

    /// Leaves unmanaged resources alone, although others went by the changes that they should make.
    fn leave_unmanaged(&mut self) {
        let set = self.set;
        for resource in set.resource_indices().filter(|resource| !set.is_managed(*resource)) {
            let change = &mut self.changes[resource.get()];
            match (set.resource(resource).active, &change) {
                (Some(host), _) if change.stops_on().is_some() => *change = ResourceChange::Held(host),
                (Some(_), ResourceChange::Held(_)) => {}
                (active, _) => {
                    *change = active.map_or(ResourceChange::Idle, ResourceChange::Stay);
                    self.causes[resource.get()] = None;
                }
            }
        }
    }
}
