//! The steps of a plan as lines, with names in columns.

use crate::model::{Cluster, InstanceIdx, NodeIdx, Placement, Step};
use crate::plan::command::notation;
use crate::report::balance::components::score;
use crate::report::form::table::Align;

/// Column widths in the lines of the steps.
pub(crate) struct StepColumns {
    instance: usize,
    nodes: usize,
}

impl StepColumns {
    /// Widths for the names of some nodes and instances.
    pub(crate) fn of(cluster: &Cluster, nodes: &[NodeIdx], instances: &[InstanceIdx]) -> StepColumns {
        let width = |name: &str| name.chars().count();
        let instance = instances.iter().map(|i| width(cluster.instance(*i).alias())).max();
        let node = nodes.iter().map(|n| width(cluster.node(*n).spec.alias())).max();
        StepColumns { instance: instance.unwrap_or(0), nodes: 2 * node.unwrap_or(0) + 1 }
    }

    /// The line of a step, with a text after its score.
    pub(crate) fn line(&self, cluster: &Cluster, number: usize, step: &Step, more: &str) -> String {
        let alias = |n: NodeIdx| cluster.node(n).spec.alias();
        let nodes = |p: Placement| match p.secondary {
            Some(s) => format!("{}:{}", alias(p.primary), alias(s)),
            None => alias(p.primary).to_owned(),
        };
        format!(
            "  {number:3}. {} {} => {} {:>12}{more} a={}",
            Align::Left.pad(cluster.instance(step.instance).alias(), self.instance),
            Align::Left.pad(&nodes(step.from), self.nodes),
            Align::Left.pad(&nodes(step.to), self.nodes),
            score(step.score),
            notation(cluster, step.mv)
        )
    }
}
