//! Which steps of a plan can run at the same time.

use std::collections::HashSet;

use crate::model::{Cluster, NodeIdx, Placement};
use crate::search::Step;

/// Steps that touch different nodes and can run at the same time; positions in
/// the plan, in order.
pub type Jobset = Vec<usize>;

/// The nodes that a step touches: the instance's before and after. A secondary
/// counts before only where the disk template gives it a meaning.
fn nodes_of(cluster: &Cluster, step: &Step) -> impl Iterator<Item = NodeIdx> + use<> {
    let mirrored = cluster.instance(step.instance).template.has_secondary();
    let Placement { primary, secondary } = step.from;
    let before = [Some(primary), secondary.filter(|_| mirrored)];
    [Some(step.to.primary), step.to.secondary].into_iter().chain(before).flatten()
}

/// Groups the steps of a plan, from the last one backwards: a step joins the
/// jobset under construction if it touches none of that jobset's nodes, else it
/// begins a new one, which runs before. Looking back from the end keeps what the
/// goal needs last together; grouping from the start would give other jobsets.
pub fn jobsets(cluster: &Cluster, steps: &[Step]) -> Vec<Jobset> {
    let mut sets: Vec<Jobset> = Vec::new();
    let mut touched: HashSet<NodeIdx> = HashSet::new();
    for (position, step) in steps.iter().enumerate().rev() {
        let mut nodes = nodes_of(cluster, step);
        let disjoint = !nodes.any(|n| touched.contains(&n));
        if !disjoint || sets.is_empty() {
            sets.push(Jobset::new());
            touched.clear();
        }
        if let Some(set) = sets.last_mut() {
            set.push(position);
        }
        touched.extend(nodes_of(cluster, step));
    }
    sets.reverse();
    sets.iter_mut().for_each(|set| set.reverse());
    sets
}
