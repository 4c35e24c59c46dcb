//! The actions and edges of a transition while it is made.

use std::collections::HashMap;

use super::super::index::{HostIdx, ResourceIdx};
use super::action::{ActionTask, TransitionAction};
use super::wait::WaitReason;
use crate::plan::graph::{Edge, StepIdx, Strength};

/// Actions in the order in which they were thought of, and edges between them.
#[derive(Debug, Default)]
pub(super) struct Actions {
    pub(super) all: Vec<TransitionAction>,
    pub(super) edges: Vec<Edge<WaitReason>>,
    /// Edges that Pacemaker leaves out, as they would close a circle.
    pub(super) dropped: Vec<Edge<WaitReason>>,
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

    /// What is done with a resource, if it is done.
    pub(super) fn with(&self, task: ActionTask, resource: ResourceIdx) -> Option<StepIdx> {
        self.with.get(&(task, resource)).copied()
    }

    /// The first of some things that is done with a resource.
    pub(super) fn first_with(&self, tasks: &[ActionTask], resource: ResourceIdx) -> Option<StepIdx> {
        tasks.iter().find_map(|task| self.with(*task, resource))
    }

    /// What is done to a host, if it is done.
    pub(super) fn to(&self, task: ActionTask, host: HostIdx) -> Option<StepIdx> {
        self.to.get(&(task, host)).copied()
    }

    /// Lets an action wait for another one, if both are there.
    pub(super) fn edge(
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
