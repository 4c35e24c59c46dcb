//! The best placement: one that keeps all rules and is best stage by stage. The search begins with several placements.
//! Resources that are left out get room by chains of changes, and single changes improve the rest. If the cluster is
//! small enough, everything is tried. docs/pacemaker.md describes the rules and the stages.

mod answer;
mod before;
mod bound;
mod carriers;
mod chains;
mod disturbances;
mod draft;
mod exact;
mod improve;
mod limits;
mod promotions;
mod rules;
mod search;
mod shake;
mod ties;
mod value;
mod ways;

pub use super::optimum::{Optimum, PlacingStage, PriorityCount, ThenGoal};
pub use limits::PlacingLimits;

use std::cmp::Reverse;

use super::additions::AdditionLog;
use super::place::{PlacingError, place_noting};
use super::placing::AllPlaced;
use super::working_set::{Strategy, WorkingSet};
use before::PlacedBefore;
use carriers::Machines;
use rules::PlacingRules;
use search::{BestFound, OptimalSearch};

/// Finds the best placement of a cluster, or the best that is found within the limits.
///
/// # Errors
/// Those of [`place`](super::place()).
pub fn optimal(set: &WorkingSet, then: ThenGoal, limits: &PlacingLimits) -> Result<AllPlaced, PlacingError> {
    if set.virtual_machines().next().is_some()
        && let Some(placed) = optimal_with(set, then, limits, Machines::Free)?
    {
        return Ok(placed);
    }
    match optimal_with(set, then, limits, Machines::Pinned)? {
        Some(placed) => Ok(placed),
        // Pinned VMs are where they are.
        None => super::place(set, set.strategy()),
    }
}

/// The best placement with VMs of guest nodes as `machines` says; `None` if it leaves out one of them.
fn optimal_with(
    set: &WorkingSet,
    then: ThenGoal,
    limits: &PlacingLimits,
    machines: Machines,
) -> Result<Option<AllPlaced>, PlacingError> {
    let choices = PlacedBefore::choices(set, limits, machines)?;
    let share = limits.part(choices.len() as u64);
    let all_rules: Vec<PlacingRules<'_>> =
        choices.iter().map(|before| PlacingRules::of(set, before)).collect();
    let mut found: Vec<BestFound> = Vec::new();
    let mut steps = 0;
    for rules in &all_rules {
        let mut search = OptimalSearch { rules, then, limits: &share, steps: 0 };
        found.push(search.run()?);
        steps += search.steps;
    }
    // Of equal choices, the first is taken.
    let worth = |at: &usize| {
        (&found[*at].value.placed, choices[*at].promotion_score(), &found[*at].value, Reverse(*at))
    };
    let proved = found.iter().map(|found| found.proved).min().flatten();
    let at = (0..found.len()).max_by_key(worth).unwrap_or_default();
    let search = OptimalSearch { rules: &all_rules[at], then, limits, steps };
    let best = BestFound { proved, ..found.swap_remove(at) };
    if machines == Machines::Free && !choices[at].keeps_machines(&best.hosts) {
        return Ok(None);
    }
    answer::all_placed(&search, best).map(Some)
}

/// The parts of the scores by which all primitives were placed. For this, the resources are placed once more.
///
/// # Errors
/// Those of placing the resources.
pub fn additions(
    set: &WorkingSet,
    strategy: Strategy,
    placed: &AllPlaced,
) -> Result<AdditionLog, PlacingError> {
    match placed.optimum {
        Some(_) => answer::additions(set, placed),
        None => {
            let mut log = set.initial_additions();
            place_noting(set, strategy, &mut log)?;
            Ok(log)
        }
    }
}
