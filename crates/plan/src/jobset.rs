//! Jobsets: steps of a plan that can run at the same time.

use super::graph::Graph;
pub use super::graph::Jobset;
use htools_model::{Cluster, Step};

/// The jobsets of moves. Each move waits for the last earlier ones that touch one of its nodes.
pub fn jobsets(cluster: &Cluster, steps: &[Step]) -> Vec<Jobset> {
    Graph::of_touched(steps.iter().map(|step| step.nodes(cluster))).jobsets()
}

/// The jobsets of several plans without common nodes, executed side by side: the first jobsets together, then the
/// second ones, and so on. Each plan comes with the number of its steps. Positions count the steps of all plans in
/// sequence.
pub fn side_by_side<'p>(plans: impl IntoIterator<Item = (usize, &'p [Jobset])>) -> Vec<Jobset> {
    let mut joined: Vec<Jobset> = Vec::new();
    let mut offset = 0;
    for (steps, jobsets) in plans {
        joined.resize(joined.len().max(jobsets.len()), Jobset::new());
        for (set, more) in joined.iter_mut().zip(jobsets) {
            set.extend(more.iter().map(|step| step.behind(offset)));
        }
        offset += steps;
    }
    joined
}
