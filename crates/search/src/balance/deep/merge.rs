//! Replaces steps that move some instances twice by others with the same end, one for each instance.

use std::collections::BTreeMap;

use super::order::{OrderedSteps, order};
use crate::balance::BalanceOptions;
use htools_model::{Cluster, InstanceIdx, NodeIdx, Placement, Step};

/// Finds fewer steps with the same end as `steps`, within the set `nodes` (ascending). There is one step for
/// each instance that ends elsewhere, and one more for a detour; those that gain most come first. Returns
/// `None` if the steps would not be fewer, or if no order makes each step possible.
/// or if there is no order in which each is possible.
pub fn merged(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    steps: &[Step],
) -> Option<OrderedSteps> {
    let ends: BTreeMap<InstanceIdx, Placement> = steps.iter().map(|step| (step.instance, step.to)).collect();
    let placements: Vec<(InstanceIdx, Placement)> =
        ends.into_iter().filter(|(instance, end)| cluster.instance(*instance).placement() != *end).collect();
    let spare = steps.len().checked_sub(placements.len() + 1)?;
    let ordered = order(cluster, nodes, options, &placements, spare);
    (ordered.given_up.is_empty() && ordered.steps.len() < steps.len()).then_some(ordered)
}
