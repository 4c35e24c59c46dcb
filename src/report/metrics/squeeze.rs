//! What `hsqueeze` knows: nodes that are on or off, that could go, or are needed again.

use super::{Family, GroupLabels, Sheet};
use crate::model::standby::is_standby;
use crate::model::{Cluster, NodeIdx};
use crate::search::squeeze::{Decision, GroupPlan, Squeeze};

/// Tells what is to be done about nodes.
pub fn tell(sheet: &mut Sheet, found: &Squeeze, cluster: &Cluster) {
    let groups = GroupLabels::of(cluster);
    for plan in &found.plans {
        tell_group(sheet, plan, cluster, groups.get(plan.group));
    }
    sheet.flag(Family::SqueezeComplete, &[], found.stopped.is_none());
}

fn tell_group(sheet: &mut Sheet, plan: &GroupPlan, cluster: &Cluster, group: &str) {
    let nodes = cluster.nodes_of(plan.group);
    let off: Vec<NodeIdx> = nodes.iter().copied().filter(|node| cluster.node(*node).spec.offline).collect();
    let standby = off.iter().filter(|node| is_standby(cluster, **node)).count();
    let online = nodes.len() - off.len();
    for (state, count) in [("online", online), ("standby", standby), ("other", off.len() - standby)] {
        sheet.count(Family::SqueezeNodes, &[group, state], count);
    }
    let switched = |decision| if plan.decision == decision { plan.nodes.len() } else { 0 };
    sheet.count(Family::SqueezeSpare, &[group], switched(Decision::Condense));
    sheet.count(Family::SqueezeWanted, &[group], switched(Decision::Expand));
    sheet.count(Family::SqueezeMoves, &[group], plan.steps.len());
    sheet.flag(Family::SqueezeEnough, &[group], plan.enough);
}
