//! Graph of the steps of a plan and their dependencies. Jobsets are one way to walk it.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use htools_model::words;

/// A step, by its position in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepIdx(usize);

impl StepIdx {
    /// The step at a position.
    pub fn new(position: usize) -> StepIdx {
        StepIdx(position)
    }

    /// The position, from 0.
    pub fn get(self) -> usize {
        self.0
    }

    /// The number shown to users, from 1.
    pub fn number(self) -> usize {
        self.0.saturating_add(1)
    }

    /// The same step after a plan of `steps` steps was put before its own plan.
    #[must_use]
    pub(crate) fn behind(self, steps: usize) -> StepIdx {
        StepIdx(self.0 + steps)
    }
}

/// Shown as its number.
impl fmt::Display for StepIdx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// Steps that do not wait for each other and can run at the same time, in order.
pub type Jobset = Vec<StepIdx>;

/// Reason that a step waits for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", content = "node", rename_all = "snake_case")]
pub enum EdgeReason<N> {
    /// Both move the same instance.
    Instance,
    /// The earlier step frees resources on this node: memory, disk, spindles or processors.
    Room(N),
    /// The earlier step keeps the memory free that this node reserves for its mirrored instances (N+1).
    Mirror(N),
    /// An instance with the same exclusion tag leaves this node.
    Tag(N),
    /// The power of nodes is switched one by one.
    Power,
    /// The order of operations on a node, such as draining it before it is evacuated.
    Order,
}

impl<N> EdgeReason<N> {
    /// Converts the node.
    ///
    /// # Errors
    /// The error of `map`.
    pub(crate) fn try_map<M, E>(self, map: impl FnOnce(N) -> Result<M, E>) -> Result<EdgeReason<M>, E> {
        Ok(match self {
            EdgeReason::Instance => EdgeReason::Instance,
            EdgeReason::Room(node) => EdgeReason::Room(map(node)?),
            EdgeReason::Mirror(node) => EdgeReason::Mirror(map(node)?),
            EdgeReason::Tag(node) => EdgeReason::Tag(map(node)?),
            EdgeReason::Power => EdgeReason::Power,
            EdgeReason::Order => EdgeReason::Order,
        })
    }
}

words!(
    /// Consequence for the later step if the earlier one fails.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub Strength, "strength of an edge" {
        /// It is not done, and neither are the steps that must follow it.
        Must = "must",
        /// It is done all the same: only the order matters.
        Should = "should",
        /// It lacks room and is not done; another plan may find room elsewhere.
        Space = "space",
    }
);

/// A dependency: one step waits for the end of another. The reason is an [`EdgeReason`], or one of another kind of
/// cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge<W> {
    /// The step that comes first.
    pub before: StepIdx,
    /// The step that waits for it.
    pub after: StepIdx,
    /// Consequence of a failure.
    pub strength: Strength,
    /// Reason for the order.
    #[serde(flatten)]
    pub why: W,
}

impl<W> Edge<W> {
    /// The same edge after a plan of `steps` steps was put before its own plan.
    #[must_use]
    pub fn behind(self, steps: usize) -> Edge<W> {
        Edge { before: self.before.behind(steps), after: self.after.behind(steps), ..self }
    }
}

/// The precedence relation between steps, direct or indirect.
#[derive(Debug, Clone, Default)]
pub struct Precedence {
    /// For each step, a bit for each of its predecessors.
    before: Vec<StepSet>,
}

/// A set of steps.
#[derive(Debug, Clone, Default)]
pub(super) struct StepSet(Vec<u64>);

impl StepSet {
    pub(super) fn insert(&mut self, step: StepIdx) {
        let (word, bit) = (step.0 / 64, step.0 % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    pub(super) fn contains(&self, step: StepIdx) -> bool {
        self.0.get(step.0 / 64).is_some_and(|word| word >> (step.0 % 64) & 1 == 1)
    }

    fn extend(&mut self, other: &StepSet) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }
}

impl Precedence {
    /// Precedence that edges between `steps` steps give. Edges of strength [`Should`](Strength::Should) are ignored.
    pub fn of<W>(steps: usize, edges: &[Edge<W>]) -> Precedence {
        let mut direct: Vec<Vec<StepIdx>> = vec![Vec::new(); steps];
        for edge in edges.iter().filter(|edge| edge.strength != Strength::Should) {
            direct[edge.after.0].push(edge.before);
        }
        let mut precedence = Precedence::default();
        direct.iter().for_each(|before| precedence.push(before));
        precedence
    }

    /// All predecessors of a step that waits for these.
    pub(super) fn all_before(&self, direct: &[StepIdx]) -> StepSet {
        let mut all = StepSet::default();
        for step in direct {
            all.extend(&self.before[step.0]);
            all.insert(*step);
        }
        all
    }

    /// Adds the next step, which waits for these.
    pub fn push(&mut self, direct: &[StepIdx]) {
        self.before.push(self.all_before(direct));
    }

    /// Tells if one step comes before another one in every order.
    pub fn precedes(&self, before: StepIdx, after: StepIdx) -> bool {
        self.before[after.0].contains(before)
    }

    /// The given steps (ascending) that do not precede any other of them.
    pub fn last(&self, steps: &[StepIdx]) -> Vec<StepIdx> {
        let implied = |step: &StepIdx| steps.iter().any(|other| self.precedes(*step, *other));
        steps.iter().copied().filter(|step| !implied(step)).collect()
    }
}

/// The steps of a plan, in an order that respects their dependencies, with the edges between them.
#[derive(Debug, Clone)]
pub(crate) struct Graph<N> {
    /// For each step, those that it waits for, in ascending order.
    before: Vec<Vec<StepIdx>>,
    /// For each node, the last step that touches it.
    last: HashMap<N, StepIdx>,
    /// The steps since the last barrier.
    open: Vec<StepIdx>,
    /// The steps before the last barrier.
    closed: Vec<StepIdx>,
}

impl<N> Default for Graph<N> {
    fn default() -> Graph<N> {
        Graph { before: Vec::new(), last: HashMap::new(), open: Vec::new(), closed: Vec::new() }
    }
}

impl<N: Eq + Hash> Graph<N> {
    /// The graph of steps that are given by the nodes that they touch.
    pub(crate) fn of_touched<T: IntoIterator<Item = N>>(steps: impl IntoIterator<Item = T>) -> Graph<N> {
        let mut graph = Graph::default();
        for nodes in steps {
            graph.push(nodes);
        }
        graph
    }

    /// Adds a step. It waits for the last earlier steps that touch its nodes. If none of these is after the last
    /// barrier, it waits for the steps before the barrier.
    pub(crate) fn push(&mut self, nodes: impl IntoIterator<Item = N>) -> StepIdx {
        let step = StepIdx(self.before.len());
        let mut before: Vec<StepIdx> = nodes
            .into_iter()
            .filter_map(|node| self.last.insert(node, step))
            .filter(|b| *b != step)
            .collect();
        let begin = self.open.first().copied().unwrap_or(step);
        if before.iter().all(|other| *other < begin) {
            before.extend(&self.closed);
        }
        before.sort_unstable();
        before.dedup();
        self.before.push(before);
        self.open.push(step);
        step
    }

    /// Makes all steps that are added later wait for all earlier ones.
    pub(crate) fn barrier(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let steps = std::mem::take(&mut self.open);
        let awaited: HashSet<StepIdx> = steps.iter().flat_map(|step| self.before(*step)).copied().collect();
        self.closed = steps.into_iter().filter(|step| !awaited.contains(step)).collect();
    }

    /// The number of steps.
    pub(crate) fn len(&self) -> usize {
        self.before.len()
    }

    /// The steps that a step waits for.
    pub(crate) fn before(&self, step: StepIdx) -> &[StepIdx] {
        &self.before[step.get()]
    }

    /// Groups the steps into jobsets, from the last one backwards. A step joins the current jobset if nothing in it
    /// waits for the step; otherwise it begins a new one, which runs before. Starting at the end keeps steps that the
    /// goal needs last together; starting at the beginning would give other jobsets.
    pub(crate) fn jobsets(&self) -> Vec<Jobset> {
        let mut sets: Vec<Jobset> = Vec::new();
        // For each step, the number of the last set in which something waits for it.
        let mut awaited = vec![0; self.len()];
        for step in (0..self.len()).rev().map(StepIdx) {
            if awaited[step.get()] == sets.len() {
                sets.push(Jobset::new());
            }
            self.before(step).iter().for_each(|other| awaited[other.get()] = sets.len());
            if let Some(set) = sets.last_mut() {
                set.push(step);
            }
        }
        sets.reverse();
        sets.iter_mut().for_each(|set| set.reverse());
        sets
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// The jobsets of steps by the nodes that they touch, as the manual defines them.
    fn by_nodes(steps: &[Vec<u8>]) -> Vec<Jobset> {
        let mut sets: Vec<Jobset> = Vec::new();
        let mut touched: HashSet<u8> = HashSet::new();
        for (at, nodes) in steps.iter().enumerate().rev() {
            if sets.is_empty() || nodes.iter().any(|node| touched.contains(node)) {
                sets.insert(0, Jobset::new());
                touched.clear();
            }
            sets[0].insert(0, StepIdx::new(at));
            touched.extend(nodes);
        }
        sets
    }

    /// Tells if a step comes after another one in every order that the graph allows.
    fn follows(graph: &Graph<u8>, step: StepIdx, other: StepIdx) -> bool {
        graph.before(step).iter().any(|before| *before == other || follows(graph, *before, other))
    }

    proptest! {
        #[test]
        fn jobsets_are_of_steps_on_different_nodes(
            steps in prop::collection::vec(prop::collection::vec(0u8..12, 1..5), 0..24),
        ) {
            let graph = Graph::of_touched(steps.clone());
            prop_assert_eq!(graph.jobsets(), by_nodes(&steps));
            for step in (0..steps.len()).map(StepIdx::new) {
                for other in (0..step.get()).map(StepIdx::new) {
                    let shared = steps[step.get()].iter().any(|node| steps[other.get()].contains(node));
                    prop_assert!(!shared || follows(&graph, step, other));
                }
            }
        }

        #[test]
        fn nothing_passes_a_barrier(
            stages in prop::collection::vec(prop::collection::vec(prop::collection::vec(0u8..9, 1..4), 0..5), 0..5),
        ) {
            let mut graph = Graph::default();
            let mut sets = Vec::new();
            for stage in &stages {
                graph.barrier();
                let begin = graph.len();
                let steps: Vec<StepIdx> = stage.iter().map(|nodes| graph.push(nodes.clone())).collect();
                for step in &steps {
                    prop_assert!((0..begin).all(|other| follows(&graph, *step, StepIdx::new(other))));
                }
                let of_stage = by_nodes(stage).into_iter();
                sets.extend(of_stage.map(|set| set.iter().map(|step| step.behind(begin)).collect::<Jobset>()));
            }
            prop_assert_eq!(graph.jobsets(), sets);
        }
    }
}
