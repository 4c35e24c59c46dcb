//! Order in which actions are listed, so that each comes after those that it waits for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::working_set::WorkingSet;
use super::action::TransitionAction;
use super::actions::Actions;
use htools_plan::graph::StepIdx;

pub(super) struct ActionSequence {
    pub(super) steps: Vec<StepIdx>,
    /// Number of actions that can be carried out. The rest waits in circles.
    pub(super) possible: usize,
}

/// The actions in an order in which they can be carried out. Of those that are free at the same time, the one that
/// waited for fewest comes first, then priority and name decide. Those that wait in circles come last.
pub(super) fn sequence(set: &WorkingSet, actions: &Actions) -> ActionSequence {
    let count = actions.all.len();
    let (mut awaited, mut following) = (vec![0usize; count], vec![Vec::new(); count]);
    for edge in &actions.edges {
        awaited[edge.after.get()] += 1;
        following[edge.before.get()].push(edge.after);
    }
    let waited = awaited.clone();
    let rank = |step: StepIdx| {
        let action = &actions.all[step.get()];
        Reverse((waited[step.get()], rank(set, action), step))
    };
    let all = || (0..count).map(StepIdx::new);
    let mut free: BinaryHeap<_> = all().filter(|step| awaited[step.get()] == 0).map(rank).collect();
    let mut sequence = Vec::with_capacity(count);
    while let Some(Reverse((_, _, step))) = free.pop() {
        sequence.push(step);
        for next in &following[step.get()] {
            awaited[next.get()] -= 1;
            if awaited[next.get()] == 0 {
                free.push(rank(*next));
            }
        }
    }
    let possible = sequence.len();
    let mut rest: Vec<StepIdx> = all().filter(|step| awaited[step.get()] > 0).collect();
    rest.sort_by_key(|step| Reverse(rank(*step)));
    sequence.extend(rest);
    ActionSequence { steps: sequence, possible }
}

/// Sort key: higher priority first, then by name.
fn rank<'a>(set: &'a WorkingSet, action: &TransitionAction) -> (i32, &'a str, &'static str) {
    let priority = action.resource.map_or(0, |resource| -set.resource(resource).priority.get());
    let name = match (action.resource, action.host) {
        (Some(resource), _) => set.resource(resource).id.as_str(),
        (None, Some(host)) => set.host(host).name.as_str(),
        (None, None) => action.choice.map_or("", |choice| set.choices[choice.at].mark.as_str()),
    };
    (priority, name, action.task.as_str())
}
