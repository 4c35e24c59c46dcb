//! Needs between the steps of a plan: the edges without which some order of steps would break a rule.
//!
//! Each step is added when all orders of the earlier steps are legal, and waits for as few of them as keep it so. The
//! worst use of a node is a closure of maximum weight: every step that may have begun is there, and leaving instances
//! stay until their step has ended, so a migration has its memory on both nodes. Adding a step allows no new orders of
//! the earlier ones. So each edge that was needed when its step was added is needed in the end, and none is implied by
//! others.
//!
//! On a node that fails N+1, the rule for an arrival depends on what was there before, so such steps follow all earlier
//! ones on this node. The reserve of a group (`--keep-reserve`) is handled in the same way.

mod group;
mod node;
mod surplus;
mod touch;

use std::collections::HashMap;

use self::group::TouchedGroup;
use self::node::{NodeNeed, TouchedNode};
use self::touch::{ArrivalTerms, touches};
use super::checker::{CheckOptions, ReplayedCluster};
use super::graph::{Edge, EdgeReason, Precedence, StepIdx, StepSet, Strength};
use htools_model::{Cluster, GroupIdx, InstanceIdx, NodeIdx, Step};

/// The edges between the steps of a plan that is legal in its own order. They are sorted by the waiting step, then by
/// the one that it waits for.
pub fn edges(cluster: &Cluster, steps: &[Step], options: CheckOptions) -> Vec<Edge<EdgeReason<NodeIdx>>> {
    let state = ReplayedCluster::new(cluster);
    let mut needs = Needs {
        state: &state,
        nodes: HashMap::new(),
        groups: HashMap::new(),
        moved: HashMap::new(),
        precedence: Precedence::default(),
        edges: Vec::new(),
    };
    let terms = ArrivalTerms { ignore_soft_errors: options.ignore_soft_errors };
    for (at, step) in steps.iter().enumerate() {
        needs.push(StepIdx::new(at), step, &terms);
    }
    needs.edges
}

/// The steps so far.
struct Needs<'c> {
    state: &'c ReplayedCluster<'c>,
    nodes: HashMap<NodeIdx, TouchedNode<'c>>,
    /// Groups for which more than N+1 is required; `None` for the others.
    groups: HashMap<GroupIdx, Option<TouchedGroup>>,
    /// The last step of each instance.
    moved: HashMap<InstanceIdx, StepIdx>,
    precedence: Precedence,
    edges: Vec<Edge<EdgeReason<NodeIdx>>>,
}

impl Needs<'_> {
    fn push(&mut self, at: StepIdx, step: &Step, terms: &ArrivalTerms) {
        let cluster = self.state.cluster;
        let mut waits: Vec<(StepIdx, Strength, EdgeReason<NodeIdx>)> = Vec::new();
        waits.extend(
            self.moved.insert(step.instance, at).map(|before| (before, Strength::Must, EdgeReason::Instance)),
        );
        let mut demands = Vec::new();
        for (idx, touch) in touches(cluster, at, step, terms) {
            let node = self.nodes.entry(idx).or_insert_with(|| TouchedNode::of(self.state, idx));
            let space = |before| (before, Strength::Space, EdgeReason::Mirror(idx));
            let is_free = touch.is_free();
            if node.push(touch) && !is_free {
                waits.extend(node.steps().filter(|before| *before != at).map(space));
                node.settled = Some(at);
            } else {
                waits.extend(node.settled.map(space));
                demands.extend(node.demands(idx));
            }
        }
        for (group, to) in touched_groups(cluster, step).filter(|_| !terms.ignore_soft_errors) {
            let touched = self.groups.entry(group).or_insert_with(|| TouchedGroup::of(cluster, group));
            let before = touched.as_mut().map(|touched| touched.push(cluster, group, at, step));
            let keeps = |before| (before, Strength::Space, EdgeReason::Mirror(to));
            waits.extend(before.into_iter().flatten().map(keeps));
        }
        let fixed: Vec<StepIdx> = waits.iter().map(|(before, ..)| *before).collect();
        waits.extend(self.needed(&demands, &fixed).into_iter().map(|(b, why)| (b, Strength::Space, why)));
        let mut direct: Vec<StepIdx> = waits.iter().map(|(before, ..)| *before).collect();
        direct.sort_unstable();
        direct.dedup();
        let direct = self.precedence.last(&direct);
        for before in &direct {
            // The first reason is the strongest.
            let (_, strength, why) = *waits.iter().find(|(b, ..)| b == before).expect("it is one of them");
            self.edges.push(Edge { before: *before, after: at, strength, why });
        }
        self.precedence.push(&direct);
    }

    /// A minimal set of steps, besides `fixed`, that the next step must wait for so that all demands are met.
    fn needed(&self, demands: &[NodeNeed], fixed: &[StepIdx]) -> Vec<(StepIdx, EdgeReason<NodeIdx>)> {
        let before = |among: &[StepIdx]| self.precedence.all_before(&[fixed, among].concat());
        let is_met = |demand: &NodeNeed, before: &StepSet| {
            self.nodes[&demand.node].is_met(demand, before, &self.precedence)
        };
        let at_least = before(&[]);
        // Waiting for more steps allows fewer orders. So a demand that is met remains so.
        let open: Vec<&NodeNeed> = demands.iter().filter(|demand| !is_met(demand, &at_least)).collect();
        let Some(first) = open.first() else { return Vec::new() };
        // The first demand that is not met after these steps.
        let unmet = |among: &[StepIdx]| -> Option<&NodeNeed> {
            let before = before(among);
            open.iter().copied().find(|demand| !is_met(demand, &before))
        };
        let mut helpers: Vec<StepIdx> =
            demands.iter().flat_map(|demand| self.nodes[&demand.node].helpers(demand)).collect();
        helpers.sort_unstable();
        helpers.dedup();
        // Steps that are early in the plan end early.
        let enough = (1..=helpers.len()).collect::<Vec<usize>>();
        let enough = enough.partition_point(|count| unmet(&helpers[..*count]).is_some());
        helpers.truncate(enough + 1);
        let mut needed: Vec<(StepIdx, EdgeReason<NodeIdx>)> =
            helpers.iter().map(|helper| (*helper, first.reason())).collect();
        for helper in helpers.iter().rev() {
            let others: Vec<StepIdx> = needed.iter().map(|(step, _)| *step).filter(|s| s != helper).collect();
            match unmet(&others) {
                None => needed.retain(|(step, _)| step != helper),
                Some(demand) => {
                    let found = needed.iter_mut().find(|(step, _)| step == helper);
                    found.into_iter().for_each(|(_, why)| *why = demand.reason());
                }
            }
        }
        needed
    }
}

/// The groups between or within which a step moves a primary, each with the node that stands for it in an edge.
fn touched_groups(cluster: &Cluster, step: &Step) -> impl Iterator<Item = (GroupIdx, NodeIdx)> {
    let group = |node: NodeIdx| cluster.node(node).spec.group;
    let moves = step.legs().any(|(_, from, to)| from.primary != to.primary);
    let [from, to] = [step.from.primary, step.to.primary];
    let source = (group(from) != group(to)).then_some((group(from), from));
    [Some((group(to), to)), source].into_iter().flatten().filter(move |_| moves)
}
