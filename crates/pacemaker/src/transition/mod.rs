//! The transition of a Pacemaker cluster: the actions that bring resources to their new hosts, and their order, as
//! Pacemaker 2.1.5 makes them. docs/pacemaker.md describes the rules.

pub(crate) mod action;
mod actions;
mod bundles;
pub mod change;
pub mod checker;
mod choices;
pub(super) mod circles;
mod connections;
mod constraints;
mod induced;
pub(super) mod needs;
mod notifications;
mod ordered;
mod own;
mod remote_nodes;
mod roles;
mod room;
mod searches;
mod sequence;
pub(crate) mod wait;

pub use self::action::{ActionTask, ChoiceMark, TransitionAction};
pub use self::change::{ResourceChange, ResourceChanges, RoleChange};
pub use self::circles::WaitCircle;
pub use self::wait::WaitReason;

use self::actions::Actions;
use self::sequence::ActionSequence;
use super::placing::AllPlaced;
use super::working_set::{Strategy, WorkingSet};
use htools_plan::graph::{Edge, Precedence, StepIdx, Strength};

/// All actions that bring resources to their new hosts, as a graph of steps that wait for others.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    /// Changes of the resources in the end, by the steps that can be carried out.
    pub changes: ResourceChanges,
    /// The steps in an order in which they can be carried out, followed by those that never can.
    pub steps: Vec<TransitionAction>,
    /// Number of steps that can be carried out. The others wait for each other in a circle, or for those that do.
    pub possible: usize,
    /// Edges of the graph, sorted by the later step.
    pub edges: Vec<Edge<WaitReason>>,
    /// Edges by which a migration would wait for its room and thus for itself, so it does not. Its target may hold more
    /// than it has for a while.
    pub dropped: Vec<Edge<WaitReason>>,
    /// The circles in which steps wait for each other.
    pub circles: Vec<WaitCircle>,
}

/// Fate of a step when another one fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepFate {
    /// It is carried out.
    Done,
    /// It is the one that fails.
    Failed,
    /// It needs the failed step, or can never be carried out.
    Dropped,
}

impl ResourceChanges {
    /// Changes of the resources of a cluster that were placed by a strategy.
    pub fn of(set: &WorkingSet, strategy: Strategy, placed: &AllPlaced) -> ResourceChanges {
        transition(set, strategy, placed).changes
    }
}

/// The transition of a cluster whose resources were placed by a strategy.
pub fn transition(set: &WorkingSet, strategy: Strategy, placed: &AllPlaced) -> Transition {
    let set = &*set.with_connections_placed(placed);
    let mut changes = induced::changes(set, placed);
    let mut actions = Actions::default();
    own::add(set, &changes, &mut actions);
    roles::add(set, &changes, &mut actions);
    bundles::add(set, &changes, &mut actions);
    constraints::add(set, &changes, &mut actions);
    notifications::add(set, &changes, &mut actions);
    connections::add(set, &changes, &mut actions);
    choices::add(set, &changes, &mut actions);
    if strategy != Strategy::Default {
        room::add(set, &mut actions);
        room::break_circles(set, placed, &mut actions);
    }
    let ActionSequence { steps: sequence, possible } = sequence::sequence(set, &actions);
    let circles = match &sequence[possible..] {
        [] => Vec::new(),
        // Searches on remote nodes take no part in this waiting, and circles through guest nodes and containers are not
        // told from those that Pacemaker resolves. Steps that are stuck here need not be stuck there.
        _ if set.unsearched().is_some() || set.machines().next().is_some() || !set.bundles.is_empty() => {
            Vec::new()
        }
        stuck => {
            stuck.iter().for_each(|step| changes.without(&actions.all[step.get()]));
            circles::circles(&actions)
        }
    };
    let mut places = vec![StepIdx::new(0); sequence.len()];
    sequence.iter().enumerate().for_each(|(at, step)| places[step.get()] = StepIdx::new(at));
    let in_sequence = |edges: Vec<Edge<WaitReason>>| {
        let place = |step: StepIdx| places[step.get()];
        let placed =
            |edge: Edge<WaitReason>| Edge { before: place(edge.before), after: place(edge.after), ..edge };
        let mut edges: Vec<Edge<WaitReason>> = edges.into_iter().map(placed).collect();
        edges.sort_by_key(|edge| (edge.after, edge.before, edge.strength != Strength::Must, edge.why));
        edges.dedup_by_key(|edge| (edge.after, edge.before));
        edges
    };
    Transition {
        changes,
        steps: sequence.iter().map(|step| actions.all[step.get()]).collect(),
        possible,
        edges: in_sequence(actions.edges),
        dropped: in_sequence(actions.dropped),
        circles,
    }
}

impl Transition {
    /// The action of a step.
    pub fn step(&self, step: StepIdx) -> &TransitionAction {
        &self.steps[step.get()]
    }

    /// All steps.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = StepIdx> + use<> {
        (0..self.steps.len()).map(StepIdx::new)
    }

    /// The steps that wait for each other in a circle, or for those that do: they are never carried out.
    pub fn stuck(&self) -> impl Iterator<Item = StepIdx> + use<> {
        (self.possible..self.steps.len()).map(StepIdx::new)
    }

    /// The edges to the steps that a step waits for.
    pub fn before(&self, step: StepIdx) -> impl Iterator<Item = &Edge<WaitReason>> {
        let begin = self.edges.partition_point(|edge| edge.after < step);
        self.edges[begin..].iter().take_while(move |edge| edge.after == step)
    }

    /// Precedence of the steps that can be carried out: which come before which in every order.
    pub fn precedence(&self) -> Precedence {
        let mut precedence = Precedence::default();
        for step in self.all().take(self.possible) {
            let direct: Vec<StepIdx> = self.before(step).map(|edge| edge.before).collect();
            precedence.push(&direct);
        }
        precedence
    }

    /// Fate of each step if one fails and no new plan is made. Steps that must follow it, or lack room without it, are
    /// dropped. Steps that only should follow it are done.
    pub fn if_fails(&self, failing: StepIdx) -> Vec<StepFate> {
        let mut fates = Vec::with_capacity(self.steps.len());
        for step in self.all() {
            let needs = |before: &StepIdx| fates.get(before.get()) != Some(&StepFate::Done);
            let edges = self.before(step).filter(|edge| edge.strength != Strength::Should);
            let befores: Vec<StepIdx> = edges.map(|edge| edge.before).collect();
            let lost = befores.iter().filter(|before| needs(before)).count();
            let spare =
                self.step(step).choice.map_or(0, |choice| befores.len().saturating_sub(choice.enough));
            let is_lost = step.get() >= self.possible || lost > spare;
            fates.push(if is_lost {
                StepFate::Dropped
            } else if step == failing {
                StepFate::Failed
            } else {
                StepFate::Done
            });
        }
        fates
    }
}
