//! Steps that wait for each other in a circle. Pacemaker never gets to them, or to those behind them.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, VecDeque};

use super::super::components::strong_components;
use super::super::index::ResourceIdx;
use super::super::working_set::WorkingSet;
use super::actions::Actions;
use super::change::{ResourceChange, ResourceChanges};
use super::wait::WaitReason;
use super::{choices, constraints, own};
use htools_plan::graph::{Edge, StepIdx};

/// Resources that wait for each other in a circle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitCircle {
    /// The resources, by position. Groups and clones among them stand for the marks before and after their parts.
    pub resources: BTreeSet<ResourceIdx>,
    /// Reasons for waiting.
    pub reasons: BTreeSet<WaitReason>,
}

impl WaitCircle {
    fn of(actions: &Actions, circle: &[Edge<WaitReason>]) -> WaitCircle {
        let resource = |edge: &Edge<WaitReason>| actions.all[edge.after.get()].resource;
        let is_said = |why: &WaitReason| !matches!(why, WaitReason::Change(_));
        WaitCircle {
            resources: circle.iter().filter_map(resource).collect(),
            reasons: circle.iter().map(|edge| edge.why).filter(is_said).collect(),
        }
    }
}

/// One circle of each set of steps that all wait for each other: the shortest one through its first step.
pub(super) fn circles(actions: &Actions) -> Vec<WaitCircle> {
    let components = WaitComponents::of(actions);
    let (mut circles, mut told) = (BTreeSet::new(), BTreeSet::new());
    for step in (0..actions.all.len()).map(StepIdx::new) {
        if told.contains(&components.component[step.get()]) {
            continue;
        }
        if let Some(circle) = components.shortest(step) {
            told.insert(components.component[step.get()]);
            circles.insert(WaitCircle::of(actions, &circle));
        }
    }
    circles.into_iter().collect()
}

/// The circles in which resources would wait for each other if all of them were started at once, or all stopped.
pub(crate) fn latent(set: &WorkingSet) -> Vec<WaitCircle> {
    let Some(host) = set.host_indices().next() else { return Vec::new() };
    let changes = [ResourceChange::Start(host), ResourceChange::Stop(host)];
    let all = changes.into_iter().flat_map(|change| circles(&all_at_once(set, change)));
    // The same circle backwards does not count as another one.
    let mut seen = BTreeSet::new();
    all.filter(|circle| seen.insert(circle.reasons.clone())).collect()
}

/// Actions if every primitive changes in the same way.
fn all_at_once(set: &WorkingSet, change: ResourceChange) -> Actions {
    let change_of =
        |resource| if set.resource(resource).is_primitive() { change } else { ResourceChange::Idle };
    let by_resource: Vec<ResourceChange> = set.resource_indices().map(change_of).collect();
    let causes = vec![None; by_resource.len()];
    let by_place = by_resource.clone();
    let changes = ResourceChanges { by_resource, by_place, causes, roles: Vec::new(), unfenced: Vec::new() };
    let mut actions = Actions::default();
    own::add(set, &changes, &mut actions);
    constraints::add(set, &changes, &mut actions);
    choices::add(set, &changes, &mut actions);
    actions
}

/// The steps that each step waits for, and the sets of steps that wait for each other.
struct WaitComponents<'a> {
    /// Edges to the steps that each step waits for.
    before: Vec<Vec<&'a Edge<WaitReason>>>,
    /// Set of each step, named by one of its steps.
    component: Vec<usize>,
}

impl WaitComponents<'_> {
    fn of(actions: &Actions) -> WaitComponents<'_> {
        let mut before = vec![Vec::new(); actions.all.len()];
        for edge in &actions.edges {
            before[edge.after.get()].push(edge);
        }
        let steps_before =
            |edges: &Vec<&Edge<WaitReason>>| edges.iter().map(|edge| edge.before.get()).collect();
        let component = strong_components(&before.iter().map(steps_before).collect::<Vec<_>>());
        WaitComponents { before, component }
    }

    /// The shortest circle through a step, if there is one.
    fn shortest(&self, step: StepIdx) -> Option<Vec<Edge<WaitReason>>> {
        let component = self.component[step.get()];
        let mut reached: HashMap<StepIdx, &Edge<WaitReason>> = HashMap::new();
        let mut left = VecDeque::from([step]);
        while let Some(next) = left.pop_front() {
            for edge in
                self.before[next.get()].iter().filter(|edge| self.component[edge.before.get()] == component)
            {
                if let Entry::Vacant(new) = reached.entry(edge.before) {
                    new.insert(edge);
                    left.push_back(edge.before);
                }
            }
            if let Some(last) = reached.get(&step) {
                let way = std::iter::successors(Some(*last), |edge| {
                    Some(edge.after).filter(|after| *after != step).map(|after| reached[&after])
                });
                return Some(way.copied().collect());
            }
        }
        None
    }
}
