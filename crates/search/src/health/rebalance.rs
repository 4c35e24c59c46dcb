//! Effect of balancing on the health of a cluster. Every group is balanced by itself, as `hbal` does.

use std::convert::Infallible;

use rayon::prelude::*;

use super::GroupHealth;
use crate::balance::deep::DeepOptions;
use crate::balance::deep::headway::{DeepWatch, SearchProgress};
use crate::balance::deep::plan::{DeepGoal, plan};
use crate::balance::run_watched;
use crate::{BalanceOptions, Balancer, Deadline, Stopped};
use htools_model::{Cluster, Draft, GroupIdx, NodeIdx, Step};

/// A group after it was balanced.
#[derive(Debug, Clone, PartialEq)]
pub struct Rebalanced {
    /// The steps.
    pub steps: Vec<Step>,
    /// Reason for an early end of the search, if there was one.
    pub stopped: Option<Stopped>,
    /// Health of the group after the steps.
    pub health: GroupHealth,
}

/// Options of a trial balance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialBalance {
    /// Conditions for the steps.
    pub options: BalanceOptions,
    /// Search for the best placement instead of step by step. The length in `options` then limits the number of
    /// instances that move.
    pub deep: bool,
    /// Number of changes that a deep search tries in each group; `None` for the default.
    pub effort: Option<u64>,
}

impl TrialBalance {
    /// Balances some nodes (ascending). Returns the steps and the reason for an early end.
    fn run(&self, draft: &mut Draft, nodes: &[NodeIdx], deadline: &Deadline) -> (Vec<Step>, Option<Stopped>) {
        if self.deep {
            let usual = DeepOptions::of(draft, nodes);
            let goal = DeepGoal::Best(DeepOptions {
                effort: self.effort.unwrap_or(usual.effort),
                max_moves: u64::try_from(self.options.max_length).ok(),
                ..usual
            });
            let found = plan(
                draft,
                nodes,
                &self.options,
                &goal,
                DeepWatch { deadline, headway: &SearchProgress::default() },
            );
            return (found.ordered.steps, found.stopped);
        }
        let nobody = |_: &Balancer<'_>, _: &[Step]| Ok::<(), Infallible>(());
        let Ok(found) = run_watched(draft, nodes, self.options, deadline, 0, nobody);
        (found.steps, found.stopped)
    }
}

/// Balances the groups on trial until the deadline and examines them again.
pub fn rebalance(
    cluster: &Cluster,
    groups: &[GroupIdx],
    how: &TrialBalance,
    capacity_checks: bool,
    deadline: &Deadline,
) -> Vec<Rebalanced> {
    let one = |copy: &mut Option<Draft>, group: &GroupIdx| {
        // No instance changes its group, so the groups do not affect each other.
        let copy = copy.get_or_insert_with(|| Draft::of(cluster));
        let nodes = cluster.nodes_of(*group);
        let (steps, stopped) = how.run(copy, nodes, deadline);
        let health = GroupHealth::of(copy, *group, capacity_checks);
        Rebalanced { steps, stopped, health }
    };
    groups.par_iter().map_init(|| None, one).collect()
}
