//! What balancing would make of a cluster: every group by itself, as `hbal` would do
//! it.

use std::convert::Infallible;

use rayon::prelude::*;

use super::GroupHealth;
use crate::model::{Cluster, Draft, GroupIdx, Step};
use crate::search::balance::run_watched;
use crate::search::{BalanceOptions, Balancer, Deadline, Stopped};

/// A group after it was balanced.
#[derive(Debug, Clone, PartialEq)]
pub struct Rebalanced {
    /// How many steps that took.
    pub steps: usize,
    /// What ended its search early, if anything did.
    pub stopped: Option<Stopped>,
    /// What is wrong then.
    pub health: GroupHealth,
}

/// Balances the groups on trial, as far as there is time, and looks at them again.
pub fn rebalance(
    cluster: &Cluster,
    groups: &[GroupIdx],
    options: BalanceOptions,
    capacity_checks: bool,
    deadline: &Deadline,
) -> Vec<Rebalanced> {
    let one = |copy: &mut Option<Draft>, group: &GroupIdx| {
        // instances of two groups do not move, so that no group changes another one
        let copy = copy.get_or_insert_with(|| Draft::of(cluster));
        let nodes = cluster.nodes_of(*group);
        let nobody = |_: &Balancer<'_>, _: &[Step]| Ok::<(), Infallible>(());
        let Ok(found) = run_watched(copy, &nodes, options, (deadline, 0), nobody);
        let health = GroupHealth::of(copy, *group, capacity_checks);
        Rebalanced { steps: found.steps.len(), stopped: found.stopped, health }
    };
    groups.par_iter().map_init(|| None, one).collect()
}
