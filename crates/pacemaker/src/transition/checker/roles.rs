//! Checks of roles: which instances are promoted in the end, and the order of promotions and demotions.

use std::collections::HashSet;

use super::{TransitionChecker, TransitionFault};
use crate::index::ResourceIdx;
use crate::placing::AllPlaced;
use crate::transition::ActionTask::{self, Demote, Promote, Start, Stop};
use crate::transition::ResourceChange;
use crate::working_set::{OrderStrength, OrderedTask, StartOrder};

impl TransitionChecker<'_> {
    /// Checks that instances get the roles for which they were placed, unless a cause is given or something that they
    /// need is missing, and that a clone demotes before it promotes.
    pub(super) fn roles(&mut self, placed: &AllPlaced) {
        let set = self.set;
        for clone in set.clones().filter(|clone| set.resource(*clone).promotion.is_some()) {
            let parts = set.primitives(&clone).into_owned();
            for part in parts.iter().copied().filter(|part| set.is_managed(*part)) {
                let role = self.transition.changes.roles[part.get()];
                let change = self.change(part);
                let is_there = change.runs_on().is_some() && change.runs_on() == placed.host(part);
                let wanted = placed.promoted[part.get()] && !set.demotes_for_lack_of_quorum(part);
                let is_as_placed = role.ends_promoted == wanted || role.is_blocked || role.is_postponed;
                // A restart for another resource can cost the role.
                let named = self.transition.changes.causes[part.get()].is_some();
                let is_held = matches!(change, ResourceChange::Held(_));
                if is_there && !named && !is_held && !is_as_placed {
                    self.faults.push(TransitionFault::WrongRole(part));
                }
            }
            let steps = |task| parts.iter().filter_map(|part| self.step(task, *part)).collect::<Vec<_>>();
            let (demotions, promotions) = (steps(Demote), steps(Promote));
            for demotion in &demotions {
                for promotion in &promotions {
                    self.precedes(Some(*demotion), Some(*promotion));
                }
            }
        }
    }

    /// Checks the promises of mandatory orders about promotions before starts, and starts before promotions.
    pub(super) fn role_orders(&mut self) {
        let set = self.set;
        let mut seen = HashSet::new();
        for order in &set.orders {
            let is_new = seen.insert((order.first, order.then, order.tasks));
            let sides = [order.first, order.then].map(|end| set.resource(end));
            let is_loose = sides[1].interleaves();
            let is_managed = sides.iter().all(|side| side.is_primitive() || side.managed);
            if is_new && order.strength == OrderStrength::Mandatory && is_managed && !is_loose {
                self.role_order(order);
            }
        }
    }

    fn role_order(&mut self, order: &StartOrder) {
        let Some([first_task, then_task]) = steps_of(order) else { return };
        let set = self.set;
        let firsts = set.primitives(&order.first).into_owned();
        let staying: Vec<ResourceIdx> =
            firsts.iter().copied().filter(|first| !self.change(*first).migrates()).collect();
        let ends_promoted =
            |part: &ResourceIdx| self.transition.changes.roles[part.get()].counts_as_promoted();
        let is_met = first_task == Start || firsts.iter().any(ends_promoted);
        for then in set.primitives(&order.then).iter() {
            let change = self.change(*then);
            let is_held = matches!(change, ResourceChange::Held(_)) || !set.is_managed(*then);
            let is_bound = order.symmetrical || matches!(change, ResourceChange::Start(_));
            if then_task == Start && is_bound && !is_held && !is_met && change.runs_on().is_some() {
                self.faults.extend(firsts.first().map(|first| TransitionFault::WithoutNeeded(*first, *then)));
            }
            if change.migrates() {
                continue;
            }
            for first in staying.iter().copied() {
                self.precedes(self.step(first_task, first), self.step(then_task, *then));
                if order.symmetrical {
                    self.precedes(
                        self.step(opposite(then_task), *then),
                        self.step(opposite(first_task), first),
                    );
                }
            }
        }
    }
}

/// The steps of the two sides of an order about roles; `None` for any other order.
fn steps_of(order: &StartOrder) -> Option<[ActionTask; 2]> {
    let step = |task: OrderedTask| match task {
        OrderedTask::Start => Some(Start),
        OrderedTask::Promote => Some(Promote),
        OrderedTask::Stop | OrderedTask::Demote => None,
    };
    let steps = [step(order.tasks.first)?, step(order.tasks.then)?];
    steps.contains(&Promote).then_some(steps)
}

/// The step that undoes a start or a promotion.
fn opposite(task: ActionTask) -> ActionTask {
    if task == Promote { Demote } else { Stop }
}
