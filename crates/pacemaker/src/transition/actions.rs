//! The actions and edges of a transition while it is built.

use std::collections::HashMap;

use super::super::index::{HostIdx, ResourceIdx};
use super::action::{ActionTask, TransitionAction};
use super::wait::WaitReason;
use htools_plan::graph::{Edge, StepIdx, Strength};

/// Actions in the order in which they were added, and edges between them.
#[derive(Debug, Default)]
pub(super) struct Actions {
    pub(super) all: Vec<TransitionAction>,
    pub(super) edges: Vec<Edge<WaitReason>>,
    /// Edges that Pacemaker leaves out, as they would close a circle.
    pub(super) dropped: Vec<Edge<WaitReason>>,
    /// Stops of a resource on further hosts, by its first stop.
    further_stops: HashMap<StepIdx, Vec<StepIdx>>,
    with: HashMap<(ActionTask, ResourceIdx), StepIdx>,
    to: HashMap<(ActionTask, HostIdx), StepIdx>,
}

impl Actions {
    pub(super) fn add(&mut self, action: TransitionAction) -> StepIdx {
        let step = StepIdx::new(self.all.len());
        match (action.resource, action.host) {
            (Some(resource), _) => self.with.insert((action.task, resource), step),
            (None, Some(host)) => self.to.insert((action.task, host), step),
            (None, None) => None,
        };
        self.all.push(action);
        step
    }

    /// Adds the stop of a resource on a further host.
    pub(super) fn add_further_stop(&mut self, first: StepIdx, action: TransitionAction) -> StepIdx {
        let step = StepIdx::new(self.all.len());
        self.further_stops.entry(first).or_default().push(step);
        self.all.push(action);
        step
    }

    /// An action, and the stops on further hosts beside it.
    fn with_further_stops(&self, step: StepIdx) -> Vec<StepIdx> {
        std::iter::once(step).chain(self.further_stops.get(&step).into_iter().flatten().copied()).collect()
    }

    pub(super) fn stop_on(&self, resource: ResourceIdx, host: HostIdx) -> Option<StepIdx> {
        let stops = self.with_further_stops(self.with(ActionTask::Stop, resource)?);
        stops.into_iter().find(|step| self.all[step.get()].host == Some(host))
    }

    /// The last stop of a resource.
    pub(super) fn last_stop(&self, resource: ResourceIdx) -> Option<StepIdx> {
        self.with_further_stops(self.with(ActionTask::Stop, resource)?).pop()
    }

    /// The action of a kind on a resource, if there is one.
    pub(super) fn with(&self, task: ActionTask, resource: ResourceIdx) -> Option<StepIdx> {
        self.with.get(&(task, resource)).copied()
    }

    /// The action on a resource of the first kind for which there is one.
    pub(super) fn first_with(&self, tasks: &[ActionTask], resource: ResourceIdx) -> Option<StepIdx> {
        tasks.iter().find_map(|task| self.with(*task, resource))
    }

    /// The action of a kind on a host, if there is one.
    pub(super) fn to(&self, task: ActionTask, host: HostIdx) -> Option<StepIdx> {
        self.to.get(&(task, host)).copied()
    }

    /// Makes an action wait for another one, if both exist. If a resource stops on several hosts, all its stops wait,
    /// and all are waited for.
    pub(super) fn edge(
        &mut self,
        before: impl Into<Option<StepIdx>>,
        after: impl Into<Option<StepIdx>>,
        strength: Strength,
        why: WaitReason,
    ) {
        let (Some(before), Some(after)) = (before.into(), after.into()) else { return };
        for before in self.with_further_stops(before) {
            for after in self.with_further_stops(after) {
                self.edge_alone(before, after, strength, why);
            }
        }
    }

    /// Like [`edge`](Self::edge), for these two actions alone.
    pub(super) fn edge_alone(
        &mut self,
        before: impl Into<Option<StepIdx>>,
        after: impl Into<Option<StepIdx>>,
        strength: Strength,
        why: WaitReason,
    ) {
        if let (Some(before), Some(after)) = (before.into(), after.into()) {
            self.edges.push(Edge { before, after, strength, why });
        }
    }
}
