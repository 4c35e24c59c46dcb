//! What balancing would make of a cluster: every group by itself, as `hbal` would do
//! it.

use std::convert::Infallible;

use rayon::prelude::*;

use super::GroupHealth;
use crate::balance::deep::DeepOptions;
use crate::balance::deep::headway::{DeepWatch, Headway};
use crate::balance::deep::plan::{DeepGoal, plan};
use crate::balance::run_watched;
use crate::{BalanceOptions, Balancer, Deadline, Stopped};
use htools_model::{Cluster, Draft, GroupIdx, NodeIdx, Step};

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

/// How to balance on trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialBalance {
    /// What is asked of steps.
    pub options: BalanceOptions,
    /// Whether to look for the best placement, not for one step after the other; the length of `options` is then the most
    /// instances that move.
    pub deep: bool,
    /// Changes that a deep search tries in each group, if not the usual number.
    pub effort: Option<u64>,
}

impl TrialBalance {
    /// Balances some nodes (ascending): how many steps that took, and what ended it early.
    fn run(&self, draft: &mut Draft, nodes: &[NodeIdx], deadline: &Deadline) -> (usize, Option<Stopped>) {
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
                DeepWatch { deadline, headway: &Headway::default() },
            );
            return (found.ordered.steps.len(), found.stopped);
        }
        let nobody = |_: &Balancer<'_>, _: &[Step]| Ok::<(), Infallible>(());
        let Ok(found) = run_watched(draft, nodes, self.options, deadline, 0, nobody);
        (found.steps.len(), found.stopped)
    }
}

/// Balances the groups on trial, as far as there is time, and looks at them again.
pub fn rebalance(
    cluster: &Cluster,
    groups: &[GroupIdx],
    how: &TrialBalance,
    capacity_checks: bool,
    deadline: &Deadline,
) -> Vec<Rebalanced> {
    let one = |copy: &mut Option<Draft>, group: &GroupIdx| {
        // instances of two groups do not move, so that no group changes another one
        let copy = copy.get_or_insert_with(|| Draft::of(cluster));
        let nodes = cluster.nodes_of(*group);
        let (steps, stopped) = how.run(copy, nodes, deadline);
        let health = GroupHealth::of(copy, *group, capacity_checks);
        Rebalanced { steps, stopped, health }
    };
    groups.par_iter().map_init(|| None, one).collect()
}
