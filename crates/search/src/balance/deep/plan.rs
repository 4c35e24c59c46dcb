//! Searches for a goal and its steps in one call.

use super::headway::DeepWatch;
use super::order::{OrderedSteps, order};
use super::repair::{RepairMoves, evacuate, overloaded, relieve, repair};
use super::surplus::without_surplus;
use super::{Deep, DeepOptions, search};
use crate::Stopped;
use crate::balance::BalanceOptions;
use crate::moves::perform_step;
use htools_model::score::{Board, Components};
use htools_model::{Cluster, Draft, NodeIdx};

/// Goal of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum DeepGoal {
    /// The best placement that is worth its moves.
    Best(DeepOptions),
    /// No faults, with as few moves as possible.
    Repair,
    /// Empty these nodes.
    Evacuate(Vec<NodeIdx>),
    /// No node above a limit of its use, with as few moves as possible. Nothing else is repaired.
    Relieve,
}

/// Result of the search for a goal.
#[derive(Debug, Clone, PartialEq)]
pub enum DeepFound {
    /// The best placements by number of moves, and the chosen one.
    Best(Deep),
    /// The moves that end faults or empty nodes.
    Mended(RepairMoves),
}

/// A goal with the steps to it.
#[derive(Debug, Clone, PartialEq)]
pub struct DeepPlan {
    /// The placement to which the steps lead.
    pub found: DeepFound,
    /// The steps.
    pub ordered: OrderedSteps,
    /// The metrics after the last step.
    pub last: Components,
    /// Reason for an early end of the search, if there was one.
    pub stopped: Option<Stopped>,
}

impl DeepPlan {
    /// Returns true if the steps reach the goal: no instance stays where it should not be. A balance always
    /// counts as complete.
    pub fn is_complete(&self) -> bool {
        match &self.found {
            DeepFound::Best(_) => true,
            DeepFound::Mended(mending) => mending.is_complete() && self.ordered.given_up.is_empty(),
        }
    }

    /// The best placements only, without any steps.
    pub fn unordered(found: Deep) -> DeepPlan {
        let (last, stopped) = (found.initial.clone(), found.stopped);
        DeepPlan { found: DeepFound::Best(found), ordered: OrderedSteps::default(), last, stopped }
    }
}

/// Maximum number of placements for which an order is tried.
const MOST_ORDERED: usize = 12;

/// The steps to the chosen placement. If no order reaches it completely, the steps to the placement of the line
/// that is worth most as far as it can be reached; that one becomes the chosen one.
fn order_best(
    cluster: &Cluster,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    deep: &DeepOptions,
    found: &mut Deep,
) -> OrderedSteps {
    let mut by_worth: Vec<usize> = (0..found.line.len()).collect();
    by_worth.sort_by(|a, b| found.worth(*a).total_cmp(&found.worth(*b)).then(a.cmp(b)));
    let mut best: Option<(f64, usize, OrderedSteps)> = None;
    for at in by_worth.into_iter().take(MOST_ORDERED) {
        let point = &found.line[at];
        // Each detour is one more move.
        let detours = deep.max_moves.map_or(usize::MAX, |most| {
            usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(point.moves)
        });
        let ordered = order(cluster, nodes, options, &point.placements, detours);
        let score = ordered.steps.last().map_or(found.initial.score(), |step| step.score);
        let worth = score + found.move_cost * ordered.steps.len() as f64;
        let complete = ordered.given_up.is_empty();
        if best.as_ref().is_none_or(|(least, ..)| worth < *least) {
            best = Some((worth, at, ordered));
        }
        if complete {
            break;
        }
    }
    let (_, at, ordered) = best.unwrap_or_default();
    found.chosen = at;
    ordered
}

/// Searches for the steps to a goal within the set `nodes` (ascending) of a draft, and performs them on the
/// draft.
///
/// # Panics
/// If a step of the order is not possible, which would be a bug of this library.
pub fn plan(
    draft: &mut Draft,
    nodes: &[NodeIdx],
    options: &BalanceOptions,
    goal: &DeepGoal,
    watch: DeepWatch<'_>,
) -> DeepPlan {
    let cluster: &Cluster = draft;
    let (mut found, ordered) = match goal {
        DeepGoal::Best(deep) => {
            let mut found = search(cluster, nodes, options, deep, watch);
            let ordered = order_best(cluster, nodes, options, deep, &mut found);
            (DeepFound::Best(found), ordered)
        }
        DeepGoal::Repair | DeepGoal::Evacuate(_) | DeepGoal::Relieve => {
            let mending = match goal {
                DeepGoal::Evacuate(emptied) => evacuate(cluster, nodes, options, emptied),
                DeepGoal::Relieve => relieve(cluster, nodes, options),
                _ => repair(cluster, nodes, options),
            };
            let ordered = order(cluster, nodes, options, &mending.placements, usize::MAX);
            let mut ordered = without_surplus(cluster, nodes, options, goal, ordered);
            if let (DeepGoal::Relieve, Ok(most)) = (goal, usize::try_from(options.max_length)) {
                ordered.steps.truncate(most);
            }
            (DeepFound::Mended(mending), ordered)
        }
    };
    for step in &ordered.steps {
        perform_step(draft, step, &options.rules).expect("what was ordered is possible");
    }
    if let (DeepGoal::Relieve, DeepFound::Mended(mending)) = (goal, &mut found) {
        mending.ailing = overloaded(draft, nodes, options);
    }
    let last = Board::new(draft, nodes).components();
    DeepPlan { found, ordered, last, stopped: watch.deadline.reached() }
}
