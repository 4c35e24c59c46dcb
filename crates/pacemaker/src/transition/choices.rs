//! Actions that wait for some of several resources.

use super::super::index::ResourceIdx;
use super::super::working_set::{ChoiceOrder, OrderedTask, WorkingSet};
use super::action::{ActionTask, ChoiceMark, TransitionAction};
use super::actions::Actions;
use super::change::ResourceChanges;
use super::wait::WaitReason;
use htools_plan::graph::{StepIdx, Strength};

/// Adds the marks at which enough of several resources are started, if some of these must still start.
pub(super) fn add(set: &WorkingSet, changes: &ResourceChanges, actions: &mut Actions) {
    for (at, choice) in set.choices.iter().enumerate() {
        let is_promotion = choice.task == OrderedTask::Promote;
        let task = if is_promotion { ActionTask::Promote } else { ActionTask::Start };
        let start = |resource: &ResourceIdx| actions.with(task, *resource);
        // For a clone or a group, its beginning counts.
        let started: Vec<StepIdx> = choice.firsts.iter().filter_map(start).collect();
        let runs = |part: ResourceIdx| match is_promotion {
            true => changes.roles.get(part.get()).is_some_and(|role| role.counts_as_promoted()),
            false => changes.get(part).lasts_on(set).is_some(),
        };
        let stays = |first: &&ResourceIdx| start(first).is_none() && ChoiceOrder::counts(set, **first, runs);
        let running = choice.firsts.iter().filter(stays).count();
        if started.is_empty() || running + started.len() < choice.enough {
            continue;
        }
        let enough = choice.enough.saturating_sub(running);
        let mark = actions.add(TransitionAction::enough(ChoiceMark { at, enough }));
        let strength = if enough > 0 { Strength::Must } else { Strength::Should };
        let why = WaitReason::Choice(at);
        started.into_iter().for_each(|start| actions.edge(start, mark, strength, why));
        for then in &choice.dependents {
            actions.edge(mark, actions.with(ActionTask::Start, *then), Strength::Must, why);
        }
    }
}
