//! Jobsets: steps of a plan that can run at the same time.

use super::graph::Graph;
pub use super::graph::Jobset;
use htools_model::{Cluster, Step};

/// The jobsets of moves: each waits for the last ones before it that touch one of its nodes.
pub fn jobsets(cluster: &Cluster, steps: &[Step]) -> Vec<Jobset> {
    Graph::of_touched(steps.iter().map(|step| step.nodes(cluster))).jobsets()
}

/// The jobsets of plans that have no node in common, carried out side by side: the first ones
/// together, the second ones, and so on. Each plan comes with the number of its steps; positions
/// are those in all plans one behind the other.
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
