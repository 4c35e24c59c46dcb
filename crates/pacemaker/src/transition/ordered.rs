//! Edges of orders of other actions than starts.

use super::super::index::ResourceIdx;
use super::super::promotion::Role;
use super::super::working_set::{Colocation, OrderedTask, StartOrder};
use super::action::ActionTask;
use super::action::ActionTask::{
    Demote, Demoted, MigrateFrom, MigrateTo, Promote, Promoted, Running, Start, Stop, Stopped,
};
use super::constraints::{Constraints, strength};
use super::wait::WaitReason;
use htools_plan::graph::{StepIdx, Strength};

/// An action of a resource in an order.
#[derive(Debug, Clone, Copy)]
struct OrderedAction {
    resource: ResourceIdx,
    task: OrderedTask,
}

impl OrderedAction {
    /// The action that takes this one back.
    fn inverse(self) -> OrderedAction {
        let task = match self.task {
            OrderedTask::Start => OrderedTask::Stop,
            OrderedTask::Stop => OrderedTask::Start,
            OrderedTask::Promote => OrderedTask::Demote,
            OrderedTask::Demote => OrderedTask::Promote,
        };
        OrderedAction { task, ..self }
    }

    /// The action, and the mark behind those of the parts of a group or clone.
    fn tasks(self) -> (ActionTask, ActionTask) {
        match self.task {
            OrderedTask::Start => (Start, Running),
            OrderedTask::Stop => (Stop, Stopped),
            OrderedTask::Promote => (Promote, Promoted),
            OrderedTask::Demote => (Demote, Demoted),
        }
    }
}

impl Constraints<'_> {
    /// Adds the edges of an order of other actions than starts, and those of its opposite.
    pub(super) fn other_order(&mut self, order: &StartOrder, why: WaitReason) {
        let first = OrderedAction { resource: order.first, task: order.tasks.first };
        let then = OrderedAction { resource: order.then, task: order.tasks.then };
        self.action_edge(first, then, order, why);
        if order.symmetrical {
            self.action_edge(then.inverse(), first.inverse(), order, why);
        }
    }

    fn action_edge(
        &mut self,
        before: OrderedAction,
        after: OrderedAction,
        order: &StartOrder,
        why: WaitReason,
    ) {
        let (own, mark) = before.tasks();
        let done = self.end(mark, own, before.resource, after.resource);
        let begins: Option<StepIdx> = match after.task {
            OrderedTask::Start => {
                let sent = self.actions.first_with(&[MigrateTo, MigrateFrom], after.resource);
                sent.or_else(|| self.actions.with(Start, after.resource))
            }
            // A live migration does not wait for a start.
            OrderedTask::Stop if before.task == OrderedTask::Start => self.actions.with(Stop, after.resource),
            OrderedTask::Stop => self.actions.first_with(&[MigrateTo, MigrateFrom, Stop], after.resource),
            _ => self.actions.with(after.tasks().0, after.resource),
        };
        self.actions.edge(done, begins, strength(order.strength), why);
    }

    /// Adds the edges of an anti-colocation of a role: one side leaves its role before the other side comes to its own.
    pub(super) fn roles_apart(&mut self, at: usize, colocation: &Colocation) {
        let sides = [
            RoleSide { resource: colocation.dependent, role: colocation.dependent_role },
            RoleSide { resource: colocation.primary, role: colocation.primary_role },
        ];
        for (leaves, comes) in [(sides[0], sides[1]), (sides[1], sides[0])] {
            for (own, mark) in leaves.leaving() {
                let left = self.end(*mark, *own, leaves.resource, comes.resource);
                for task in comes.coming() {
                    let begins = self.actions.with(*task, comes.resource);
                    self.actions.edge(left, begins, Strength::Must, WaitReason::Colocation(at));
                }
            }
        }
    }
}

/// A side of a colocation, in a role.
#[derive(Debug, Clone, Copy)]
struct RoleSide {
    resource: ResourceIdx,
    role: Option<Role>,
}

impl RoleSide {
    /// The actions by which it leaves its role, each with the mark behind those of the parts of a clone.
    fn leaving(self) -> &'static [(ActionTask, ActionTask)] {
        match self.role {
            None => &[(Stop, Stopped)],
            Some(Role::Promoted) => &[(Demote, Demoted)],
            Some(Role::Unpromoted) => &[(Promote, Promoted), (Stop, Stopped)],
        }
    }

    /// The actions by which it comes to its role.
    fn coming(self) -> &'static [ActionTask] {
        match self.role {
            None => &[Start],
            Some(Role::Promoted) => &[Promote],
            Some(Role::Unpromoted) => &[Demote, Start],
        }
    }
}
