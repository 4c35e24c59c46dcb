//! Waiting for room on hosts, and the circles that result.

use super::super::index::ResourceIdx;
use super::super::placing::AllPlaced;
use super::super::working_set::WorkingSet;
use super::action::{ActionTask, TransitionAction};
use super::actions::Actions;
use super::wait::WaitReason;
use htools_plan::graph::{StepIdx, Strength};

/// Adds a mark for each host between the resources that leave it and those that come.
pub(super) fn add(set: &WorkingSet, actions: &mut Actions) {
    let needs_room = |action: &TransitionAction| {
        let Some(details) = action.resource.map(|resource| set.resource(resource)) else { return false };
        // Remains of a resource take no capacity.
        let is_left = action.host.is_some_and(|host| details.left_on.contains(&host));
        let is_mark = is_left && action.task == ActionTask::Stop;
        !is_mark && !details.utilization.is_empty()
    };
    let steps = actions.all.len();
    for host in set.host_indices() {
        actions.add(TransitionAction::to_host(ActionTask::LoadStopped, host));
    }
    for step in (0..steps).map(StepIdx::new) {
        let action = actions.all[step.get()];
        let Some(host) = action.host.filter(|_| needs_room(&action)) else { continue };
        match (action.task, action.peer) {
            (ActionTask::Stop, _) => {
                let mark = actions.to(ActionTask::LoadStopped, host);
                actions.edge_alone(step, mark, Strength::Space, WaitReason::Room(host));
            }
            (ActionTask::Start, _) => {
                let mark = actions.to(ActionTask::LoadStopped, host);
                actions.edge(mark, step, Strength::Space, WaitReason::Room(host));
            }
            (ActionTask::MigrateTo, Some(target)) => {
                let mark = actions.to(ActionTask::LoadStopped, target);
                actions.edge(mark, step, Strength::Space, WaitReason::Room(target));
            }
            _ => {}
        }
    }
}

/// Breaks circles in which migrations wait for each other's room. In each circle, the one whose resource was placed
/// last goes ahead without room.
pub(super) fn break_circles(set: &WorkingSet, placed: &AllPlaced, actions: &mut Actions) {
    let mut following = vec![Vec::new(); actions.all.len()];
    for edge in &actions.edges {
        following[edge.before.get()].push(edge.after);
    }
    let primitives = |resource| set.primitives(resource).into_owned();
    let resources: Vec<ResourceIdx> = placed.sequence.iter().flat_map(primitives).collect();
    for resource in resources.into_iter().rev() {
        let Some(sent) = actions.with(ActionTask::MigrateTo, resource) else { continue };
        let Some(target) = actions.all[sent.get()].peer else { continue };
        let Some(mark) = actions.to(ActionTask::LoadStopped, target) else { continue };
        if following[mark.get()].contains(&sent) && reaches(&following, sent, mark) {
            following[mark.get()].retain(|step| *step != sent);
            let (dropped, kept) =
                actions.edges.drain(..).partition(|edge| (edge.before, edge.after) == (mark, sent));
            actions.edges = kept;
            actions.dropped.extend::<Vec<_>>(dropped);
        }
    }
}

/// Returns true if `to` comes after `from`.
fn reaches(following: &[Vec<StepIdx>], from: StepIdx, to: StepIdx) -> bool {
    let mut seen = vec![false; following.len()];
    let mut left = vec![from];
    while let Some(next) = left.pop() {
        if next == to {
            return true;
        }
        if !std::mem::replace(&mut seen[next.get()], true) {
            left.extend(&following[next.get()]);
        }
    }
    false
}
