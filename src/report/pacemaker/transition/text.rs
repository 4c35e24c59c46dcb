//! The transition graph for people: the actions in order, and the actions that each waits for.

use std::collections::BTreeMap;

use super::{reason, shown_host};
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::pacemaker::transition::checker::excesses;
use crate::pacemaker::transition::{ActionTask, ResourceChange, Transition, TransitionAction, WaitReason};
use crate::pacemaker::working_set::FenceAction;
use crate::pacemaker::{ResourceIdx, WorkingSet};
use crate::plan::graph::{Precedence, StepIdx, Strength};

/// The lines: the actions in an order in which they can be executed, each with the last actions that it waits for.
/// Changes caused by other resources and problems follow. Pseudo actions are left out.
pub fn lines(set: &WorkingSet, transition: &Transition) -> Vec<String> {
    let mut page = TransitionPage::of(set, transition);
    page.actions();
    page.causes();
    page.warnings();
    page.lines
}

/// An action, with the last actions that it waits for.
pub(in crate::report) struct ActionRow {
    pub number: StepIdx,
    pub what: String,
    pub waits: Vec<String>,
}

/// The actions in an order in which they can be executed. Pseudo actions are left out.
pub(in crate::report) fn rows(set: &WorkingSet, transition: &Transition) -> Vec<ActionRow> {
    TransitionPage::of(set, transition).rows()
}

struct TransitionPage<'a> {
    set: &'a WorkingSet,
    transition: &'a Transition,
    precedence: Precedence,
    /// The number of every action that is shown.
    numbers: BTreeMap<StepIdx, StepIdx>,
    lines: Vec<String>,
}

impl<'a> TransitionPage<'a> {
    fn of(set: &'a WorkingSet, transition: &'a Transition) -> TransitionPage<'a> {
        let real = transition.all().filter(|step| !transition.step(*step).pseudo);
        let numbers = real.enumerate().map(|(at, step)| (step, StepIdx::new(at))).collect();
        TransitionPage { set, transition, precedence: transition.precedence(), numbers, lines: Vec::new() }
    }

    fn rows(&self) -> Vec<ActionRow> {
        let row = |(step, number): (&StepIdx, &StepIdx)| ActionRow {
            number: *number,
            what: self.what(self.transition.step(*step)),
            waits: self.waits(*step).into_iter().map(|wait| self.wait_words(wait)).collect(),
        };
        self.numbers.iter().map(row).collect()
    }

    fn wait_words(&self, (before, strength, why): (StepIdx, Strength, WaitReason)) -> String {
        let soft = if strength == Strength::Should { ", if that is done" } else { "" };
        format!("{}: {}{soft}", self.numbers[&before], reason(self.set, why))
    }

    fn actions(&mut self) {
        let count = self.numbers.len();
        if count == 0 {
            self.lines.push("Nothing is done.".to_owned());
            return;
        }
        self.lines.push(format!("Transition of {}:", counted(count, "action")));
        let width = count.to_string().len().max(3);
        for ActionRow { number, what, waits } in self.rows() {
            self.lines.push(format!("  {number:>width$}. {what}"));
            self.lines.extend(waits.iter().map(|wait| format!("  {:width$}  waits for {wait}", "")));
        }
    }

    /// The last actions that an action waits for, directly or through pseudo actions.
    fn waits(&self, step: StepIdx) -> Vec<(StepIdx, Strength, WaitReason)> {
        let mut found: BTreeMap<StepIdx, (Strength, WaitReason)> = BTreeMap::new();
        let mut seen = vec![false; self.transition.steps.len()];
        let mut left: Vec<(StepIdx, Strength, WaitReason)> =
            self.transition.before(step).map(|edge| (edge.before, edge.strength, edge.why)).collect();
        let is_mark = |(step, ..): &(StepIdx, Strength, WaitReason)| self.transition.step(*step).pseudo;
        // A direct wait names the reason, so it is handled first.
        left.sort_by_key(|wait| !is_mark(wait));
        while let Some((before, strength, why)) = left.pop() {
            if std::mem::replace(&mut seen[before.get()], true) {
                continue;
            }
            if !self.transition.step(before).pseudo {
                found.insert(before, (strength, why));
                continue;
            }
            for edge in self.transition.before(before) {
                let soft = edge.strength == Strength::Should;
                left.push((edge.before, if soft { Strength::Should } else { strength }, why));
            }
        }
        let is_possible = |step: &StepIdx| step.get() < self.transition.possible;
        let steps: Vec<StepIdx> = found.keys().copied().collect();
        let last = if is_possible(&step) { self.precedence.last(&steps) } else { steps };
        last.into_iter().map(|before| (before, found[&before].0, found[&before].1)).collect()
    }

    fn what(&self, action: &TransitionAction) -> String {
        let name =
            action.resource.map(|resource| shown_name(&self.set.resource(resource).id)).unwrap_or_default();
        let host = action.host.map(|host| shown_host(self.set, host)).unwrap_or_default();
        let peer = action.peer.map(|host| shown_host(self.set, host)).unwrap_or_default();
        match action.task {
            ActionTask::Fence => match action.fencing(self.set) {
                FenceAction::Reboot => format!("fence {host}"),
                FenceAction::Off => format!("fence {host}, which stays off"),
            },
            ActionTask::Unfence => format!("unfence {host}"),
            ActionTask::Shutdown => format!("let {host} leave the cluster"),
            ActionTask::MigrateTo => format!("migrate {name} from {host} to {peer}"),
            ActionTask::MigrateFrom => format!("take over {name} on {host} from {peer}"),
            ActionTask::Reload => format!("reload {name} on {host}"),
            task => format!("{task} {name} on {host}"),
        }
    }

    /// Changes of resources that other resources cause.
    fn causes(&mut self) {
        for resource in self.set.resource_indices() {
            if let (Some(why), Some(what)) =
                (self.transition.changes.causes[resource.get()], self.fate(resource))
            {
                let name = shown_name(&self.set.resource(resource).id);
                self.lines.push(format!("{name} {what}: {}", reason(self.set, why)));
            }
        }
    }

    /// Change of a resource that another resource causes.
    fn fate(&self, resource: ResourceIdx) -> Option<String> {
        let host = |host| shown_host(self.set, host);
        match self.transition.changes.get(resource) {
            ResourceChange::Stop(at) => Some(format!("is stopped on {}", host(at))),
            ResourceChange::Restart(at) => Some(format!("is restarted on {}", host(at))),
            ResourceChange::Move { .. } => Some("cannot be migrated while it runs".to_owned()),
            ResourceChange::Held(at) => Some(format!("should be stopped on {}, and cannot be", host(at))),
            ResourceChange::Blocked(at) => {
                Some(format!("is not started, and has its room on {} all the same", host(at)))
            }
            _ => None,
        }
    }

    fn warnings(&mut self) {
        let dropped = |step: StepIdx| self.transition.dropped.iter().any(|edge| edge.after == step);
        for excess in excesses(self.set, self.transition).into_iter().filter(|excess| dropped(excess.step)) {
            let name = self.transition.step(excess.step).resource;
            let name = name.map(|resource| shown_name(&self.set.resource(resource).id)).unwrap_or_default();
            self.lines.push(format!(
                "Warning: {name} does not wait for its room, because migrations would wait for each other in a circle: {} can lack {} of {} meanwhile",
                shown_host(self.set, excess.host),
                excess.amount,
                shown_name(&self.set.attributes[excess.kind.get()]),
            ));
        }
        let stuck: Vec<String> = self
            .transition
            .stuck()
            .filter_map(|step| self.numbers.get(&step))
            .map(ToString::to_string)
            .collect();
        if !stuck.is_empty() {
            self.lines.push(format!(
                "Warning: Pacemaker never starts these steps, because they wait for each other in a circle or for such steps: {}",
                stuck.join(", ")
            ));
        }
    }
}
