//! Step after step moves some instances twice: the same end with one move for each.

use std::collections::BTreeMap;

use super::order::{Ordered, order};
use crate::balance::BalanceOptions;
use htools_model::{Cluster, InstanceIdx, NodeIdx, Placement, Step};

/// Other steps that lead from a cluster to where `steps` lead, within the set `nodes` (ascending): one for each
/// instance that is elsewhere then, and one more for a detour; those that gain most come first. Nothing if they are not fewer,
/// or if there is no order in which each is possible.
pub fn merged(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    steps: &[Step],
) -> Option<Ordered> {
    let ends: BTreeMap<InstanceIdx, Placement> = steps.iter().map(|step| (step.instance, step.to)).collect();
    let placements: Vec<(InstanceIdx, Placement)> =
        ends.into_iter().filter(|(instance, end)| cluster.instance(*instance).placement() != *end).collect();
    let spare = steps.len().checked_sub(placements.len() + 1)?;
    let ordered = order(cluster, nodes, options, &placements, spare);
    (ordered.given_up.is_empty() && ordered.steps.len() < steps.len()).then_some(ordered)
}
