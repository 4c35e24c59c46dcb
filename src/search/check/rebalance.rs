//! What balancing would make of a cluster: every group by itself, as `hbal` would do
//! it.

use rayon::prelude::*;

use super::GroupHealth;
use crate::model::{Cluster, GroupIdx};
use crate::search::{BalanceOptions, Balancer};

/// A group after it was balanced.
#[derive(Debug, Clone, PartialEq)]
pub struct Rebalanced {
    /// How many steps that took.
    pub steps: usize,
    /// What is wrong then.
    pub health: GroupHealth,
}

/// Balances copies of the groups, and looks at them again.
pub fn rebalance(
    cluster: &Cluster,
    groups: &[GroupIdx],
    options: BalanceOptions,
    capacity_checks: bool,
) -> Vec<Rebalanced> {
    let one = |group: &GroupIdx| {
        // instances of two groups do not move, so that no group changes another one
        let mut copy = cluster.clone();
        let mut balancer = Balancer::new(&mut copy, &cluster.nodes_of(*group), options);
        let steps =
            if balancer.is_balanced() { 0 } else { std::iter::from_fn(|| balancer.next_step()).count() };
        Rebalanced { steps, health: GroupHealth::of(&copy, *group, capacity_checks) }
    };
    groups.par_iter().map(one).collect()
}
