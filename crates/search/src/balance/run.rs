//! Balances one set of nodes or several groups from beginning to end. The result has all steps and their gain;
//! an observer can follow them.

use std::cmp::Ordering;
use std::convert::Infallible;

use rayon::prelude::*;

use super::tally::Tally;
use super::{BalanceOptions, Balancer};
use crate::moves::perform;
use crate::{Deadline, Stopped};
use htools_model::redundancy::n_plus_one::unavoidable_score;
use htools_model::score::{Board, Components};
use htools_model::{Cluster, Draft, GroupIdx, NodeIdx, Step};

/// Score of a set of nodes before anything is moved.
#[derive(Debug, Clone, PartialEq)]
pub struct InitialScore {
    /// The metrics behind the score.
    pub components: Components,
    /// Part of the score that is unavoidable because memory is reserved.
    pub unavoidable: f64,
}

impl InitialScore {
    /// Computes the score of the set `nodes` (ascending).
    pub fn of(cluster: &Cluster, nodes: &[NodeIdx]) -> InitialScore {
        let components = Board::new(cluster, nodes).components();
        InitialScore { components, unavoidable: unavoidable_score(cluster, nodes) }
    }

    /// Returns true if there is nothing to gain.
    pub fn is_balanced(&self, min_score: f64) -> bool {
        self.components.score() - self.unavoidable < min_score
    }

    /// Orders the worse score first, and scores that are not numbers last.
    pub fn worst_first(&self, other: &InitialScore) -> Ordering {
        let (a, b) = (self.components.score(), other.components.score());
        a.is_nan().cmp(&b.is_nan()).then(b.total_cmp(&a))
    }
}

/// Result of balancing a set of nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Balancing {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The metrics after the last step.
    pub last: Components,
    /// Reason for an early end of the search, if there was one.
    pub stopped: Option<Stopped>,
    /// Work done by the search.
    pub tally: Tally,
}

/// Balances the set `nodes` (ascending) and performs the steps on the draft.
///
/// ```
/// # use htools_ganeti::load::{merge, text};
/// # use htools_model::{Draft, Mib};
/// use htools_search::{BalanceOptions, balance};
///
/// # let data = std::fs::read("../../data/unbalanced-drbd.data")?;
/// # let raw = text::parse_bytes(&data, "unbalanced-drbd.data")?;
/// # let mut cluster = merge::merge(raw, &merge::MergeOptions::default())?;
/// # merge::finish(&mut cluster, Mib::ZERO);
/// let mut draft = Draft::from(cluster);
/// let nodes = draft.all_nodes();
/// let found = balance::run(&mut draft, &nodes, BalanceOptions::default());
/// assert!(!found.steps.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(draft: &mut Draft, nodes: &[NodeIdx], options: BalanceOptions) -> Balancing {
    let nobody = |_: &Balancer<'_>, _: &[Step]| Ok::<(), Infallible>(());
    let Ok(found) = run_watched(draft, nodes, options, &Deadline::never(), 0, nobody);
    found
}

/// Like [`run`], but stops at the deadline once `least` steps are made. `observe` is called after each step
/// with the state and all steps so far.
///
/// # Errors
/// The first error that `observe` returns.
pub fn run_watched<E>(
    draft: &mut Draft,
    nodes: &[NodeIdx],
    options: BalanceOptions,
    deadline: &Deadline,
    least: usize,
    mut observe: impl FnMut(&Balancer<'_>, &[Step]) -> Result<(), E>,
) -> Result<Balancing, E> {
    let mut balancer = Balancer::new(draft, nodes, options);
    let (mut steps, mut stopped) = (Vec::new(), None);
    let to_gain = !balancer.is_balanced();
    // A search that ends by itself is complete, even after the deadline.
    while to_gain && balancer.may_continue() && options.max_length != steps.len() as i64 {
        stopped = deadline.reached().filter(|_| steps.len() >= least);
        if stopped.is_some() {
            break;
        }
        let Some(step) = balancer.next_step() else { break };
        steps.push(step);
        observe(&balancer, &steps)?;
    }
    Ok(Balancing { steps, last: balancer.components(), stopped, tally: balancer.tally() })
}

/// Balances the worst group that can be improved; `None` if there is no such group.
pub fn worst(draft: &mut Draft, options: BalanceOptions) -> Option<(GroupIdx, Balancing)> {
    let group = |group: GroupIdx| {
        let nodes = draft.nodes_of(group);
        (group, InitialScore::of(draft, nodes), nodes.to_vec())
    };
    let mut groups: Vec<_> = draft.groups_with_nodes().into_iter().map(group).collect();
    groups.retain(|(_, initial_score, _)| !initial_score.is_balanced(options.min_score));
    groups.sort_by(|a, b| a.1.worst_first(&b.1));
    groups.into_iter().find_map(|(group, _, nodes)| {
        let found = run(draft, &nodes, options);
        (!found.steps.is_empty()).then_some((group, found))
    })
}

/// Balances every group of a draft, as many at a time as there are threads. The steps of one group do not
/// affect another.
pub fn all(draft: &mut Draft, options: BalanceOptions) -> Vec<(GroupIdx, Balancing)> {
    all_until(draft, options, &Deadline::never())
}

/// Like [`all`], but stops at the deadline.
pub fn all_until(
    draft: &mut Draft,
    options: BalanceOptions,
    deadline: &Deadline,
) -> Vec<(GroupIdx, Balancing)> {
    let start: &Cluster = draft;
    let one = |own: &mut Option<Draft>, group: &GroupIdx| {
        let own = own.get_or_insert_with(|| Draft::of(start));
        let nobody = |_: &Balancer<'_>, _: &[Step]| Ok::<(), Infallible>(());
        let Ok(found) = run_watched(own, start.nodes_of(*group), options, deadline, 0, nobody);
        (*group, found)
    };
    let found: Vec<(GroupIdx, Balancing)> =
        start.groups_with_nodes().par_iter().map_init(|| None, one).collect();
    for step in found.iter().flat_map(|(_, found)| &found.steps) {
        let made = perform(draft, step.instance, step.mv, &options.rules);
        made.expect("what is possible in a group does not depend on others");
    }
    found
}
