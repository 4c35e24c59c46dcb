//! Replays a transition by plain rules that know nothing of how it was made. Every resource gets from its present host
//! to its new one, one step at a time. Resources that others need are there first. No host holds more than it has at
//! any moment that the edges allow.

mod roles;
mod room;

use super::action::ActionTask::{
    Demote, Demoted, EnoughStarted, Fence, LoadStopped, MigrateFrom, MigrateTo, Promote, Promoted, Reload,
    Running, Shutdown, Start, Stop, Stopped, Unfence,
};
use super::{ActionTask, ResourceChange, Transition, WaitReason};
use crate::index::{AttributeIdx, HostIdx, ResourceIdx};
use crate::placing::AllPlaced;
use crate::working_set::{
    ChoiceOrder, OrderStrength, OrderedTask, OrderedTasks, RunCondition, StartOrder, Strategy, WorkingSet,
};
use htools_plan::graph::{Precedence, StepIdx};
use std::collections::{HashMap, HashSet};

pub use room::{Excess, excesses};

/// A fault of a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TransitionFault {
    /// A step is listed before one that it waits for.
    #[error("step {0} is listed before step {1}, for which it waits")]
    Backwards(StepIdx, StepIdx),
    /// A step does not match the host of its resource at that time.
    #[error("step {0} does not fit to where its resource runs")]
    Misplaced(StepIdx),
    /// A step concerns a resource that is not managed.
    #[error("step {0} concerns a resource that is not managed")]
    Unmanaged(StepIdx),
    /// A command goes to a host that is lost.
    #[error("step {0} goes to a lost host")]
    Lost(StepIdx),
    /// A resource does not end where its change says.
    #[error("resource {0} does not end where it should")]
    WrongEnd(ResourceIdx),
    /// A resource does not go where it was placed, and no cause is given.
    #[error("resource {0} does not go where it was placed")]
    Astray(ResourceIdx),
    /// An instance does not get the role for which it was placed, although nothing is missing.
    #[error("resource {0} does not get the role for which it was placed")]
    WrongRole(ResourceIdx),
    /// A resource runs in the end without one that it needs.
    #[error("resource {1} runs without resource {0}")]
    WithoutNeeded(ResourceIdx, ResourceIdx),
    /// Two steps can be carried out in the wrong order.
    #[error("step {1} need not wait for step {0}")]
    Unordered(StepIdx, StepIdx),
    /// A host can hold more than it has.
    #[error("step {0} can find too little room: {3} too little of capacity {2} on host {1}")]
    Overfull(StepIdx, HostIdx, AttributeIdx, i64),
}

/// All faults of a transition.
pub fn check(
    set: &WorkingSet,
    strategy: Strategy,
    placed: &AllPlaced,
    transition: &Transition,
) -> Vec<TransitionFault> {
    let mut checker = TransitionChecker {
        set,
        transition,
        precedence: transition.precedence(),
        steps: HashMap::new(),
        faults: Vec::new(),
    };
    for step in checker.possible() {
        let action = transition.step(step);
        if let Some(resource) = action.resource {
            checker.steps.insert((action.task, resource), step);
        }
    }
    checker.walk();
    checker.ends(placed);
    checker.orders(placed);
    checker.roles(placed);
    checker.role_orders();
    set.choices.iter().for_each(|choice| checker.choice(choice));
    if strategy != Strategy::Default {
        checker.room();
    }
    checker.faults
}

struct TransitionChecker<'a> {
    set: &'a WorkingSet,
    transition: &'a Transition,
    precedence: Precedence,
    steps: HashMap<(ActionTask, ResourceIdx), StepIdx>,
    faults: Vec<TransitionFault>,
}

/// Hosts of a primitive during the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PrimitivePlace {
    runs: Option<HostIdx>,
    /// The host to which a live migration takes it.
    under_way: Option<HostIdx>,
    /// The host that it left by a live migration, and on which it must still be stopped.
    left: Option<HostIdx>,
    /// True if it is promoted where it runs.
    promoted: bool,
}

impl TransitionChecker<'_> {
    fn possible(&self) -> impl Iterator<Item = StepIdx> + use<> {
        (0..self.transition.possible).map(StepIdx::new)
    }

    fn change(&self, resource: ResourceIdx) -> ResourceChange {
        self.transition.changes.get(resource)
    }

    /// Returns true if a primitive runs in the end, or would if it did not wait in a circle. Pacemaker goes by its
    /// intentions.
    fn comes_or_waits(&self, resource: ResourceIdx) -> bool {
        let waits = self.transition.changes.causes[resource.get()] == Some(WaitReason::Circle);
        waits || self.change(resource).lasts_on(self.set).is_some()
    }

    /// Hosts of a primitive at the beginning, and other hosts on which it must be stopped.
    fn beginning(&self, resource: ResourceIdx) -> (PrimitivePlace, Vec<HostIdx>) {
        let (details, change) = (self.set.resource(resource), self.change(resource));
        let is_supposed = details.condition == RunCondition::Supposed;
        let runs = details.active.filter(|_| !is_supposed || change.stops_on().is_some());
        let under_way = details.sent_to.filter(|to| change.migrates() && change.starts_on() == Some(*to));
        let others = details.also_on.iter().filter(|host| !is_supposed && under_way != Some(**host));
        let also_on = others.chain(&details.left_on).copied().collect();
        (PrimitivePlace { runs, under_way, left: None, promoted: details.promoted }, also_on)
    }

    /// Carries out one step after the other.
    fn walk(&mut self) {
        let (mut now, mut also_on): (Vec<PrimitivePlace>, Vec<Vec<HostIdx>>) =
            self.set.resource_indices().map(|resource| self.beginning(resource)).unzip();
        let mut last: Vec<Option<StepIdx>> = vec![None; now.len()];
        for step in self.possible() {
            let action = *self.transition.step(step);
            let late = self.transition.before(step).map(|edge| edge.before).find(|before| *before >= step);
            self.faults.extend(late.map(|before| TransitionFault::Backwards(step, before)));
            let to_lost = action.host.is_some_and(|host| self.set.host(host).state.unclean);
            if to_lost && !action.pseudo && action.task != Fence {
                self.faults.push(TransitionFault::Lost(step));
            }
            let (Some(resource), Some(host)) = (action.resource, action.host) else { continue };
            if !self.set.is_managed(resource) {
                self.faults.push(TransitionFault::Unmanaged(step));
            }
            // stops on several hosts do not wait for each other
            let also_on = &mut also_on[resource.get()];
            if let Some(at) = also_on.iter().position(|other| *other == host)
                && action.task == Stop
            {
                also_on.remove(at);
                let start = self.step(Start, resource);
                self.precedes(start.map(|_| step), start);
                continue;
            }
            // Pacemaker demotes a resource on all its hosts if it is promoted on one, before any of its stops.
            if action.task == Demote && self.set.resource(resource).promoted && also_on.contains(&host) {
                self.precedes(Some(step), self.step(Stop, resource));
                continue;
            }
            if action.task == Start && self.set.resource(resource).spares_expected() {
                also_on.retain(|other| *other != host);
            }
            if action.task == Start && !also_on.is_empty() {
                self.faults.push(TransitionFault::Misplaced(step));
            }
            // A demotion and a live migration do not wait for each other, but the stop waits for both.
            let change = self.change(resource);
            if action.task == Demote && change.migrates() && change.stops_on() == Some(host) {
                self.precedes(Some(step), self.step(Stop, resource));
                now[resource.get()].promoted = false;
                continue;
            }
            self.precedes(last[resource.get()].replace(step), Some(step));
            match after(now[resource.get()], action.task, host, action.peer) {
                Some(next) => now[resource.get()] = next,
                None => self.faults.push(TransitionFault::Misplaced(step)),
            }
        }
        for resource in self.set.resource_indices() {
            let end = PrimitivePlace {
                runs: self.change(resource).runs_on(),
                under_way: None,
                left: None,
                promoted: self.transition.changes.roles[resource.get()].ends_promoted,
            };
            let is_primitive = self.set.resource(resource).is_primitive();
            if is_primitive && now[resource.get()] != end {
                self.faults.push(TransitionFault::WrongEnd(resource));
            }
        }
    }

    /// Checks that resources go where they were placed, unless a cause is given.
    fn ends(&mut self, placed: &AllPlaced) {
        for resource in self.set.resource_indices() {
            let details = self.set.resource(resource);
            let expected = if self.set.is_managed(resource) { placed.host(resource) } else { details.active };
            let named = self.transition.changes.causes[resource.get()].is_some();
            let change = self.change(resource);
            if details.is_primitive()
                && change.runs_on() != expected
                && !named
                && !matches!(change, ResourceChange::Held(_))
            {
                self.faults.push(TransitionFault::Astray(resource));
            }
        }
    }

    /// Checks the promises of mandatory orders, in the end and on the way.
    fn orders(&mut self, placed: &AllPlaced) {
        let mut seen = HashSet::new();
        for order in self.set.orders.iter().filter(|order| order.tasks == OrderedTasks::STARTS) {
            if !seen.insert((order.first, order.then)) || order.strength != OrderStrength::Mandatory {
                continue;
            }
            // An unmanaged group or clone is never begun or done.
            let sides = [order.first, order.then].map(|end| self.set.resource(end));
            if sides.iter().any(|side| !side.is_primitive() && !side.managed) {
                continue;
            }
            if sides[0].is_clone() {
                self.after_a_clone(order, placed);
                continue;
            }
            for first in self.set.primitives(&order.first).iter() {
                for then in self.set.primitives(&order.then).iter() {
                    self.pair(*first, *then, order.symmetrical, !sides[1].is_primitive());
                }
            }
        }
        for group in self.set.groups() {
            for pair in self.set.in_order(group).windows(2) {
                self.pair(pair[0], pair[1], true, false);
            }
        }
    }

    /// Checks an order after a clone. One instance is enough, but all that start or stop are waited for. An order of
    /// starts alone does not bind interleaving instances on hosts without an instance of the clone.
    fn after_a_clone(&mut self, order: &StartOrder, placed: &AllPlaced) {
        let interleaves = self.set.resource(order.then).interleaves();
        let firsts = self.set.primitives(&order.first).into_owned();
        let runs = firsts.iter().any(|first| self.comes_or_waits(*first));
        for then in self.set.primitives(&order.then).iter() {
            let change = self.change(*then);
            let held = matches!(change, ResourceChange::Held(_)) || !self.set.is_managed(*then);
            let meets = |first: &ResourceIdx| placed.host(*first) == placed.host(*then);
            let starts = matches!(change, ResourceChange::Start(_));
            let bound = order.symmetrical || starts && (!interleaves || firsts.iter().any(meets));
            if bound && !held && !runs && change.runs_on().is_some() {
                self.faults.extend(firsts.first().map(|first| TransitionFault::WithoutNeeded(*first, *then)));
            }
            let waits = |first: &ResourceIdx| !change.migrates() && !self.change(*first).migrates();
            for first in firsts.iter().copied().filter(waits).collect::<Vec<_>>() {
                self.precedes(self.step(Start, first), self.step(Start, *then));
                if order.symmetrical {
                    self.precedes(self.step(Stop, *then), self.step(Stop, first));
                }
            }
        }
    }

    /// Checks an order after some of several resources. Some are enough, but all that start are waited for.
    fn choice(&mut self, choice: &ChoiceOrder) {
        let set = self.set;
        let is_promotion = choice.task == OrderedTask::Promote;
        let task = if is_promotion { Promote } else { Start };
        let runs = |first: &&ResourceIdx| {
            let runs = |part: &ResourceIdx| match is_promotion {
                true => self.transition.changes.roles[part.get()].counts_as_promoted(),
                false => self.comes_or_waits(*part),
            };
            set.resource(**first).is_group() || set.primitives(first).iter().any(runs)
        };
        let are_enough = choice.firsts.iter().filter(runs).count() >= choice.enough;
        for then in choice.dependents.iter().flat_map(|then| set.primitives(then).into_owned()) {
            let change = self.change(then);
            let held = matches!(change, ResourceChange::Held(_)) || !set.is_managed(then);
            if !are_enough && !held && change.runs_on().is_some() {
                self.faults.push(TransitionFault::WithoutNeeded(choice.firsts[0], then));
            }
            // For a group or a clone, its beginning is enough.
            for first in choice.firsts.iter().filter(|first| set.resource(**first).is_primitive()) {
                if !self.change(*first).migrates() && !change.migrates() {
                    self.precedes(self.step(task, *first), self.step(Start, then));
                }
            }
        }
    }

    /// Checks the order of two primitives. Parts of a group or clone that waits as a whole migrate without waiting.
    fn pair(&mut self, first: ResourceIdx, then: ResourceIdx, symmetrical: bool, of_whole: bool) {
        let group = self.set.resource(first).group;
        let in_one_group = group.is_some() && group == self.set.resource(then).group;
        // If members of a group are ordered against their own group, that is a circle, and nothing is promised.
        let adjacent = |pair: &[ResourceIdx]| pair[0] == first && pair[1] == then;
        let in_sequence = group.is_some_and(|group| self.set.in_order(group).windows(2).any(adjacent));
        if in_one_group && !in_sequence {
            return;
        }
        let (one, other) = (self.change(first), self.change(then));
        let bound = symmetrical || matches!(other, ResourceChange::Start(_));
        let held = matches!(other, ResourceChange::Held(_)) || !self.set.is_managed(then);
        if bound && !held && !self.comes_or_waits(first) && other.runs_on().is_some() {
            self.faults.push(TransitionFault::WithoutNeeded(first, then));
        }
        let goes_on = of_whole && other.migrates();
        if !one.migrates() && !goes_on {
            let start = self.step(Start, first);
            self.precedes(start, self.step(if other.migrates() { MigrateTo } else { Start }, then));
        }
        if symmetrical && !one.migrates() && !other.migrates() {
            self.precedes(self.step(Stop, then), self.step(Stop, first));
        }
    }

    fn step(&self, task: ActionTask, resource: ResourceIdx) -> Option<StepIdx> {
        self.steps.get(&(task, resource)).copied()
    }

    fn precedes(&mut self, before: Option<StepIdx>, after: Option<StepIdx>) {
        if let (Some(before), Some(after)) = (before, after)
            && before != after
            && !self.precedence.precedes(before, after)
        {
            self.faults.push(TransitionFault::Unordered(before, after));
        }
    }

    fn room(&mut self) {
        let excess = excesses(self.set, self.transition);
        let is_dropped = |step: StepIdx| self.transition.dropped.iter().any(|edge| edge.after == step);
        let faults = excess.into_iter().filter(|excess| !is_dropped(excess.step));
        self.faults.extend(
            faults.map(|excess| {
                TransitionFault::Overfull(excess.step, excess.host, excess.kind, excess.amount)
            }),
        );
    }
}

/// Hosts of a primitive after a step; `None` if the step does not fit.
fn after(
    now: PrimitivePlace,
    task: ActionTask,
    host: HostIdx,
    peer: Option<HostIdx>,
) -> Option<PrimitivePlace> {
    let still = now.under_way.is_none() && now.left.is_none();
    match task {
        // At the end of a live migration, this is only a mark.
        Start if still && now.runs == Some(host) => Some(now),
        Start if still && now.runs.is_none() => Some(PrimitivePlace { runs: Some(host), ..now }),
        // A promoted instance must be demoted before it stops.
        Stop if still && now.runs == Some(host) && !now.promoted => {
            Some(PrimitivePlace { runs: None, ..now })
        }
        Promote if still && now.runs == Some(host) => Some(PrimitivePlace { promoted: true, ..now }),
        Demote if still && now.runs == Some(host) => Some(PrimitivePlace { promoted: false, ..now }),
        Stop if now.left == Some(host) => Some(PrimitivePlace { left: None, ..now }),
        MigrateTo if still && now.runs == Some(host) && peer.is_some() => {
            Some(PrimitivePlace { under_way: peer, ..now })
        }
        MigrateFrom if now.under_way == Some(host) && now.runs == peer => {
            Some(PrimitivePlace { runs: Some(host), under_way: None, left: now.runs, ..now })
        }
        Reload if still && now.runs == Some(host) => Some(now),
        Promote | Promoted | Demote | Demoted | Start | Stop | MigrateTo | MigrateFrom | Reload | Fence
        | Unfence | LoadStopped | Running | Shutdown | Stopped | EnoughStarted => None,
    }
}
