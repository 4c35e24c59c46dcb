//! What waits for what in a plan. Jobsets are one way to walk it.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use super::jobset::Jobset;

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

    /// The number that people know it by, from 1.
    pub fn number(self) -> usize {
        self.0.saturating_add(1)
    }

    /// The same step of a plan that stands behind another one of so many steps.
    #[must_use]
    pub fn behind(self, steps: usize) -> StepIdx {
        StepIdx(self.0 + steps)
    }
}

/// By its number.
impl fmt::Display for StepIdx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// Why a step waits for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeReason<N> {
    /// Both touch this node.
    Node(N),
    /// The power of nodes is switched one after the other.
    Power,
    /// Something is done to all nodes before the next thing is done to any.
    Order,
}

/// That a step waits for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge<N> {
    /// The step that comes first.
    pub before: StepIdx,
    /// The one that waits for it.
    pub after: StepIdx,
    /// What would go wrong otherwise.
    pub why: EdgeReason<N>,
}

/// The steps of a plan, in an order that respects what they wait for, and the edges between them.
#[derive(Debug, Clone)]
pub struct Graph<N> {
    /// By step, those that it waits for, in ascending order.
    before: Vec<Vec<StepIdx>>,
    /// By node, the last step that touches it.
    last: HashMap<N, StepIdx>,
    /// The steps since the last barrier.
    open: Vec<StepIdx>,
    /// Those before it.
    closed: Vec<StepIdx>,
}

impl<N> Default for Graph<N> {
    fn default() -> Graph<N> {
        Graph { before: Vec::new(), last: HashMap::new(), open: Vec::new(), closed: Vec::new() }
    }
}

impl<N: Eq + Hash> Graph<N> {
    /// The graph of steps of which each is given by the nodes that it touches.
    pub fn of_touched<T: IntoIterator<Item = N>>(steps: impl IntoIterator<Item = T>) -> Graph<N> {
        let mut graph = Graph::default();
        for nodes in steps {
            graph.push(nodes);
        }
        graph
    }

    /// Adds a step. It waits for the last ones before it that touch one of its nodes, and if it
    /// waits for none since the last barrier, for those before that.
    pub fn push(&mut self, nodes: impl IntoIterator<Item = N>) -> StepIdx {
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

    /// What is added from now on waits for all that was added before.
    pub fn barrier(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let steps = std::mem::take(&mut self.open);
        let awaited: HashSet<StepIdx> = steps.iter().flat_map(|step| self.before(*step)).copied().collect();
        self.closed = steps.into_iter().filter(|step| !awaited.contains(step)).collect();
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        self.before.len()
    }

    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.before.is_empty()
    }

    /// The steps that a step waits for.
    pub fn before(&self, step: StepIdx) -> &[StepIdx] {
        &self.before[step.get()]
    }

    /// Groups the steps, from the last one backwards: a step joins the jobset under construction
    /// if nothing in it waits for the step, else it begins a new one, which runs before. Looking
    /// back from the end keeps what the goal needs last together; grouping from the start would
    /// give other jobsets.
    pub fn jobsets(&self) -> Vec<Jobset> {
        let mut sets: Vec<Jobset> = Vec::new();
        // by step, the number of the last set in which something waits for it
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

    /// Whether a step comes after another one in every order that the graph allows.
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
