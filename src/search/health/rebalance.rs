//! What balancing would make of a cluster: every group by itself, as `hbal` would do
//! it.

use rayon::prelude::*;

use super::GroupHealth;
use crate::model::{Cluster, Draft, GroupIdx};
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
        let mut balancer = Balancer::new(copy, &cluster.nodes_of(*group), options);
        let (mut steps, mut stopped) = (0, None);
        if !balancer.is_balanced() {
            while balancer.may_continue() && options.max_length != steps as i64 {
                stopped = deadline.reached();
                if stopped.is_some() || balancer.next_step().is_none() {
                    break;
                }
                steps += 1;
            }
        }
        Rebalanced { steps, stopped, health: GroupHealth::of(copy, *group, capacity_checks) }
    };
    groups.par_iter().map_init(|| None, one).collect()
}
