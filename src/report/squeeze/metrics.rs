//! Metrics of `hsqueeze`: nodes that are on or off, that could be switched off, or that are needed again.

use crate::model::standby::is_standby;
use crate::model::{Cluster, NodeIdx};
use crate::report::form::metrics::{Family, GroupLabels, Sheet};
use crate::search::squeeze::{Decision, GroupPlan, Squeeze};

/// Adds the planned changes of nodes.
pub(crate) fn tell(sheet: &mut Sheet, found: &Squeeze, cluster: &Cluster) {
    let groups = GroupLabels::of(cluster);
    for plans in found.by_group() {
        tell_group(sheet, plans, cluster, groups.get(plans[0].group));
    }
    sheet.flag(Family::SqueezeComplete, &[], found.stopped.is_none());
}

fn tell_group(sheet: &mut Sheet, plans: &[GroupPlan], cluster: &Cluster, group: &str) {
    let nodes = cluster.nodes_of(plans[0].group);
    let off: Vec<NodeIdx> = nodes.iter().copied().filter(|node| cluster.node(*node).spec.offline).collect();
    let standby = off.iter().filter(|node| is_standby(cluster, **node)).count();
    let online = nodes.len() - off.len();
    for (state, count) in [("online", online), ("standby", standby), ("other", off.len() - standby)] {
        sheet.count(Family::SqueezeNodes, &[group, state], count);
    }
    let switched = |decision| {
        plans.iter().filter(|plan| plan.decision == decision).map(|plan| plan.nodes.len()).sum::<usize>()
    };
    sheet.count(Family::SqueezeSpare, &[group], switched(Decision::Condense));
    sheet.count(Family::SqueezeWanted, &[group], switched(Decision::Expand));
    sheet.count(Family::SqueezeMoves, &[group], plans.iter().map(|plan| plan.steps.len()).sum::<usize>());
    sheet.flag(Family::SqueezeEnough, &[group], plans.iter().all(|plan| plan.enough));
}
