//! Edges of orders, groups, colocations and fencing.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::super::index::{HostIdx, ResourceIdx};
use super::super::score::AllocationScore;
use super::super::working_set::{
    OrderStrength, OrderedPair, OrderedTask, OrderedTasks, Requirement, ResourceForm, StartOrder, WorkingSet,
};
use super::action::ActionTask;
use super::action::ActionTask::{
    Demote, Fence, MigrateFrom, MigrateTo, Promote, Running, Shutdown, Start, Stop, Stopped, Unfence,
};
use super::actions::Actions;
use super::bundles;
use super::change::ResourceChanges;
use super::connections;
use super::needs::stands_aside;
use super::wait::WaitReason;
use htools_plan::graph::{StepIdx, Strength};

/// Adds the edges of all constraints.
pub(super) fn add(set: &WorkingSet, changes: &ResourceChanges, actions: &mut Actions) {
    let mut constraints = Constraints { set, changes, actions };
    // Of several orders of the same two resources, the first counts for starts, and the first that applies to stops
    // counts for these.
    let (mut started, mut stopped) = (HashSet::new(), HashSet::new());
    for (at, order) in set.orders.iter().enumerate().filter(|(_, order)| is_followed(set, order)) {
        if order.tasks != OrderedTasks::STARTS {
            constraints.other_order(order, WaitReason::Order(at));
            continue;
        }
        let pair = OrderedPair { first: order.first, then: order.then };
        let (starts, stops) = match stands_aside(set, order) {
            true => (true, order.symmetrical),
            false => (started.insert(pair), order.symmetrical && stopped.insert(pair)),
        };
        for pair in std::iter::once(pair).chain(constraints.by_instance(order)) {
            if starts {
                constraints.starts(pair, strength(order.strength), WaitReason::Order(at));
            }
            if stops {
                constraints.stops(pair, strength(order.strength), WaitReason::Order(at));
            }
        }
    }
    for (at, choice) in set.choices.iter().enumerate() {
        for pair in &choice.stops {
            let (strength, why) = (strength(choice.strength), WaitReason::Choice(at));
            if choice.task == OrderedTask::Promote {
                constraints.stop_before_demotion(*pair, strength, why);
            } else if stopped.insert(*pair) {
                constraints.stops(*pair, strength, why);
            }
        }
    }
    set.groups().for_each(|group| constraints.group(group));
    set.clones().for_each(|clone| constraints.clone_instances(clone));
    constraints.apart();
    constraints.fencing();
    constraints.unfencing();
}

/// Returns true if an order is followed. An unmanaged group or clone is never begun or done, even if its parts start
/// and stop.
fn is_followed(set: &WorkingSet, order: &StartOrder) -> bool {
    [order.first, order.then].map(|end| set.resource(end)).iter().all(|end| end.is_primitive() || end.managed)
}

/// Effect of a failure of the earlier action on the later one.
pub(super) fn strength(order: OrderStrength) -> Strength {
    match order {
        OrderStrength::Mandatory => Strength::Must,
        OrderStrength::Optional | OrderStrength::Serialize => Strength::Should,
    }
}

pub(super) struct Constraints<'a> {
    pub(super) set: &'a WorkingSet,
    pub(super) changes: &'a ResourceChanges,
    pub(super) actions: &'a mut Actions,
}

impl Constraints<'_> {
    fn migrates(&self, resource: ResourceIdx) -> bool {
        self.changes.get(resource).migrates()
    }

    /// Makes the second resource wait for the first. If the first arrives by a live migration, the second waits for its
    /// arrival, not for its stop on the old host.
    fn starts(&mut self, pair: OrderedPair, strength: Strength, why: WaitReason) {
        let OrderedPair { first, then } = pair;
        let both_start = [first, then].iter().all(|one| self.actions.with(Start, *one).is_some());
        if both_start && strength == Strength::Must {
            self.unfence_before(first, self.actions.with(Stop, then));
        }
        if strength == Strength::Must {
            self.look_before_restart(pair);
        }
        let started = self.end(Running, Start, first, then);
        let start = self.actions.with(Start, then);
        match (self.migrates(first), self.actions.first_with(&[MigrateTo, MigrateFrom], then)) {
            (true, Some(sent)) => {
                self.actions.edge(self.actions.with(MigrateFrom, first), sent, strength, why);
                // Those that wait for the later resource wait for all of the earlier one.
                self.actions.edge(started, start, strength, why);
            }
            (false, Some(sent)) => self.actions.edge(started, sent, strength, why),
            (_, None) => self.actions.edge(started, start, strength, why),
        }
    }

    /// Makes the stop of the first resource wait for that of the second.
    fn stops(&mut self, pair: OrderedPair, strength: Strength, why: WaitReason) {
        let OrderedPair { first, then } = pair;
        self.look_for(then, self.actions.with(Stop, first));
        self.look_before_stop(pair);
        let stopped = self.end(Stopped, Stop, then, first);
        let stop = if !self.migrates(then) {
            self.actions.first_with(&[MigrateTo, MigrateFrom, Stop], first)
        } else if strength == Strength::Must {
            self.actions.with(Stop, first)
        } else {
            None
        };
        self.actions.edge(stopped, stop, strength, why);
    }

    /// Makes the demotion of the first resource wait for the stop of the second.
    fn stop_before_demotion(&mut self, pair: OrderedPair, strength: Strength, why: WaitReason) {
        let stopped = self.end(Stopped, Stop, pair.then, pair.first);
        self.actions.edge(stopped, self.actions.with(Demote, pair.first), strength, why);
    }

    /// Makes a step wait until a primitive was looked for on all hosts, on some of them after unfencing. Resources that
    /// are ordered with it stop only then.
    fn look_for(&mut self, sought: ResourceIdx, step: Option<StepIdx>) {
        self.unfence_before(sought, step);
        connections::look_for(self.set, self.changes, self.actions, sought, step);
    }

    /// Makes a step wait until the hosts are unfenced on which a primitive is looked for. Instances of a clone are looked
    /// for only where they come.
    fn unfence_before(&mut self, sought: ResourceIdx, step: Option<StepIdx>) {
        let details = self.set.resource(sought);
        let comes_to = self.changes.get(sought).comes_to();
        for host in
            details.unsure_on.iter().filter(|host| details.instance_of.is_none() || comes_to == Some(**host))
        {
            let unfence = self.actions.to(Unfence, *host);
            self.actions.edge(unfence, step, Strength::Must, WaitReason::Unfencing(*host));
        }
    }

    /// The last action of a kind on a resource; for a group, the mark after its members. Members do not wait for that
    /// of their own group. Pacemaker quirk: others do not wait for the end of a bundle that sends notifications, but for
    /// its beginning.
    pub(super) fn end(
        &self,
        mark: ActionTask,
        own: ActionTask,
        resource: ResourceIdx,
        waiting: ResourceIdx,
    ) -> Option<StepIdx> {
        if self.set.resource(resource).is_primitive() {
            return self.actions.with(own, resource);
        }
        let is_member = self.set.resource(waiting).group == Some(resource);
        let notifies = self.set.bundle(resource).is_some() && self.set.resource(resource).notifies;
        self.actions.with(if notifies { own } else { mark }, resource).filter(|_| !is_member)
    }

    /// Adds the edges of a group. Its members act between its marks, one after the other.
    fn group(&mut self, group: ResourceIdx) {
        let members = &self.set.resource(group).members;
        let why = WaitReason::Group(group);
        for member in members {
            self.look_for(*member, self.actions.with(Stopped, group));
            for (task, end) in [(Start, Running), (Stop, Stopped)] {
                let own = self.actions.with(task, *member);
                self.actions.edge(self.actions.with(task, group), own, Strength::Must, why);
                self.actions.edge(own, self.actions.with(end, group), Strength::Must, why);
            }
        }
        let members = self.set.in_order(group);
        for pair in members.windows(2) {
            let pair = OrderedPair { first: pair[0], then: pair[1] };
            self.starts(pair, Strength::Must, why);
            self.stops(pair, Strength::Must, why);
            if self.set.release.starts_only_before_the_stoppable() {
                let stop = self.actions.with(Stop, pair.then);
                self.actions.edge(stop, self.actions.with(Start, pair.first), Strength::Must, why);
            }
        }
        self.look_before_members(members);
        // Members that do not run do not separate the others.
        for pair in self.acting(members, Stop).windows(2).filter(|pair| pair[0].0 + 1 < pair[1].0) {
            let mut between = members[pair[0].0 + 1..pair[1].0].iter();
            if !self.migrates(pair[1].1) && between.all(|member| self.set.resource(*member).active.is_none())
            {
                self.stops(OrderedPair { first: pair[0].1, then: pair[1].1 }, Strength::Must, why);
            }
        }
    }

    /// The resources with an action of a kind that had not begun yet, and their positions.
    fn acting(&self, resources: &[ResourceIdx], task: ActionTask) -> Vec<(usize, ResourceIdx)> {
        let all = resources.iter().copied().enumerate();
        let goes_on = |resource: ResourceIdx| self.changes.get(resource).goes_on(self.set.resource(resource));
        all.filter(|(_, resource)| self.actions.with(task, *resource).is_some() && !goes_on(*resource))
            .collect()
    }

    /// Adds the edges of a clone. Its instances act between its marks.
    fn clone_instances(&mut self, clone: ResourceIdx) {
        let why = WaitReason::Clone(clone);
        for instance in &self.set.resource(clone).members {
            self.look_for(*instance, self.actions.with(Stopped, clone));
            self.look_before_instances(clone, *instance);
            for (task, mark) in [(Start, Running), (Stop, Stopped)] {
                let own = self.actions.with(task, *instance);
                self.actions.edge(self.actions.with(task, clone), own, Strength::Must, why);
                let end = self.end(mark, task, *instance, clone);
                self.actions.edge(end, self.actions.with(mark, clone), Strength::Must, why);
            }
        }
        if matches!(self.set.resource(clone).form, ResourceForm::Clone { ordered: true, .. }) {
            self.one_by_one(clone);
        }
    }

    /// Starts the instances of a clone in order, and stops them in the opposite order. Idle primitives do not separate
    /// the others; then only starts and stops by their own places count.
    fn one_by_one(&mut self, clone: ResourceIdx) {
        let why = WaitReason::Clone(clone);
        let instances = &self.set.resource(clone).members;
        for pair in instances.windows(2) {
            let pair = OrderedPair { first: pair[0], then: pair[1] };
            self.starts(pair, Strength::Should, why);
            self.stops(pair, Strength::Should, why);
        }
        if instances.iter().any(|instance| !self.set.resource(*instance).is_primitive()) {
            return;
        }
        for task in [Start, Stop] {
            let mut acting = self.acting(instances, task);
            acting.retain(|(_, instance)| {
                let by_place = self.changes.by_place[instance.get()];
                self.set.release.passes_over_instances()
                    || bundles::restarts_alone(self.set, self.changes, *instance)
                    || if task == Start { by_place.starts_on() } else { by_place.stops_on() }.is_some()
            });
            if task == Stop {
                acting.reverse();
            }
            // As for neighbors, nothing stops after an instance that migrates.
            let changes = self.changes;
            let is_free = |pair: &&[(usize, ResourceIdx)]| task == Stop && changes.get(pair[0].1).migrates();
            // Up to Pacemaker 2.1.5, an instance that should start by its own place, but cannot, separates the others.
            let is_stuck = |at: usize| {
                let starts = changes.by_place[instances[at].get()].starts_on().is_some();
                task == Start
                    && !self.set.release.passes_over_instances()
                    && starts
                    && changes.lacks_its_place(instances[at])
            };
            let is_open = |pair: &&[(usize, ResourceIdx)]| {
                let mut between = pair[0].0 + 1..pair[1].0;
                task == Stop || !between.any(is_stuck)
            };
            let apart = acting.windows(2).filter(|pair| pair[0].0.abs_diff(pair[1].0) > 1).filter(is_open);
            for pair in apart.filter(|pair| !is_free(pair)) {
                let (before, after) =
                    (self.actions.with(task, pair[0].1), self.actions.with(task, pair[1].1));
                self.actions.edge(before, after, Strength::Should, why);
            }
        }
    }

    /// The pairs of instances to which the order of two clones applies as well, if the later clone interleaves.
    /// Instances form a pair if they run on, come to, or leave the same host.
    fn by_instance(&self, order: &StartOrder) -> Vec<OrderedPair> {
        let (first, then) = (self.set.resource(order.first), self.set.resource(order.then));
        if !first.is_clone() || !then.interleaves() {
            return Vec::new();
        }
        let of_bundle = self.set.bundle(order.then).is_some();
        let mut there: HashMap<HostIdx, Vec<ResourceIdx>> = HashMap::new();
        for other in &then.members {
            self.hosts(*other).into_iter().for_each(|host| there.entry(host).or_default().push(*other));
        }
        // Containers need the same place before, or after.
        let meets = |pair: &OrderedPair| {
            let changes = [pair.first, pair.then].map(|one| self.changes.get(one));
            let same = |hosts: [Option<HostIdx>; 2]| hosts[0].is_some() && hosts[0] == hosts[1];
            !of_bundle || same(changes.map(|one| one.runs_on())) || same(changes.map(|one| one.stops_on()))
        };
        let meet = |one: &ResourceIdx| -> BTreeSet<OrderedPair> {
            let others = self.hosts(*one).into_iter().filter_map(|host| there.get(&host)).flatten();
            others.map(|other| OrderedPair { first: *one, then: *other }).filter(meets).collect()
        };
        first.members.iter().flat_map(meet).collect()
    }

    /// Hosts on which parts of an instance run in the end, or stop.
    fn hosts(&self, instance: ResourceIdx) -> BTreeSet<HostIdx> {
        let parts = self.set.primitives(&instance);
        let changes = parts.iter().map(|part| self.changes.get(*part));
        changes.flat_map(|change| [change.runs_on(), change.stops_on()]).flatten().collect()
    }

    /// Adds the edges of anti-colocations: a resource starts on a host only when the other one is gone from there.
    /// Groups and clones have no host to compare, so they wait in any case.
    fn apart(&mut self) {
        for (at, colocation) in self.set.colocations.iter().enumerate() {
            if colocation.score != AllocationScore::MINUS_INFINITY {
                continue;
            }
            if colocation.dependent_role.is_some() || colocation.primary_role.is_some() {
                self.roles_apart(at, colocation);
                continue;
            }
            let (one, other) = (colocation.dependent, colocation.primary);
            for (leaves, comes) in [(one, other), (other, one)] {
                let is_whole = |resource| !self.set.resource(resource).is_primitive();
                let to = self.changes.get(comes).starts_on();
                let meets = to.and_then(|host| self.actions.stop_on(leaves, host));
                let start = self.actions.with(Start, comes);
                self.actions.edge_alone(meets, start, Strength::Must, WaitReason::Colocation(at));
                if is_whole(leaves) || is_whole(comes) {
                    // A bundle leaves no host if only the instances in its containers stop.
                    let stops = |part: &ResourceIdx| self.actions.with(Stop, *part).is_some();
                    let is_left = self.set.bundle(leaves).is_none()
                        || self.set.resource(leaves).members.iter().any(stops);
                    let stopped = self.end(Stopped, Stop, leaves, comes).filter(|_| is_left);
                    self.actions.edge(stopped, start, Strength::Must, WaitReason::Colocation(at));
                }
            }
        }
    }

    /// Adds the edges of unfencing. Resources that require it stop before and start after it. A live migration waits
    /// only for hosts on which the resource may run without being known.
    fn unfencing(&mut self) {
        for host in self.set.host_indices() {
            let Some(unfence) = self.actions.to(Unfence, host) else { continue };
            let why = WaitReason::Unfencing(host);
            for resource in self.set.resource_indices().filter(|one| self.set.needs_unfenced_host(*one)) {
                let start = self.actions.with(Start, resource);
                // It is looked for there before it is started anywhere.
                let is_unsure = self.set.resource(resource).unsure_on.contains(&host);
                let waits = |start: &StepIdx| is_unsure || self.actions.all[start.get()].host == Some(host);
                self.actions.edge(unfence, start.filter(waits), Strength::Must, why);
                let sent = self.actions.first_with(&[MigrateTo, MigrateFrom], resource);
                self.actions.edge(unfence, sent.filter(|_| is_unsure), Strength::Must, why);
                if !self.set.resource(resource).fences() {
                    let stop = self.actions.stop_on(resource, host);
                    self.actions.edge_alone(stop, unfence, Strength::Must, why);
                }
            }
        }
    }

    /// Adds the edges of fencing. While a host may still run anything, no resource is started or migrated that requires
    /// fencing, or that may run there. The coordinator stays, too.
    fn fencing(&mut self) {
        let connections: HashSet<ResourceIdx> =
            self.set.guests().map(|(_, parts)| parts.connection).collect();
        for host in self.set.host_indices() {
            let Some(fence) = self.actions.to(Fence, host) else { continue };
            let why = WaitReason::Fencing(host);
            let waits = |resource: &ResourceIdx| {
                let details = self.set.resource(*resource);
                let requires = self.set.requirement(*resource) >= Requirement::Fencing;
                details.is_primitive() && (requires || details.unsure_on.contains(&host))
            };
            for resource in self.set.resource_indices().filter(waits) {
                let requires = self.set.requirement(resource) >= Requirement::Fencing;
                // A live migration waits for the fencing of a guest node only if the resource requires fencing.
                let is_connection = connections.contains(&resource);
                let is_member = self.set.host(host).guest.is_none();
                let begins: &[ActionTask] = match requires || is_member && !is_connection {
                    true => &[MigrateTo, MigrateFrom, Start],
                    false => &[Start],
                };
                let start = self.actions.first_with(begins, resource);
                self.actions.edge(fence, start, Strength::Must, why);
                let promotion = self.actions.with(Promote, resource).filter(|_| requires);
                self.actions.edge(fence, promotion, Strength::Must, why);
            }
            let shutdown = self.set.coordinator.and_then(|host| self.actions.to(Shutdown, host));
            self.actions.edge(fence, shutdown, Strength::Must, why);
        }
    }
}
