//! The best placement: one that keeps all rules and is best stage by stage. The search begins with several placements.
//! Resources that are left out get room by chains of changes, and single changes improve the rest. If the cluster is
//! small enough, everything is tried. docs/pacemaker.md describes the rules and the stages.

mod answer;
mod before;
mod bound;
mod chains;
mod disturbances;
mod draft;
mod exact;
mod improve;
mod limits;
mod rules;
mod search;
mod shake;
mod ties;
mod value;
mod ways;

pub use super::optimum::{Optimum, PlacingStage, PriorityCount, ThenGoal};
pub use limits::PlacingLimits;

use super::additions::AdditionLog;
use super::place::{PlacingError, place_noting};
use super::placing::AllPlaced;
use super::working_set::{Strategy, WorkingSet};
use before::PlacedBefore;
use rules::PlacingRules;
use search::OptimalSearch;

/// Finds the best placement of a cluster, or the best that is found within the limits.
///
/// # Errors
/// Those of [`place`](super::place()).
pub fn optimal(set: &WorkingSet, then: ThenGoal, limits: &PlacingLimits) -> Result<AllPlaced, PlacingError> {
    let before = PlacedBefore::of(set)?;
    let rules = PlacingRules::of(set, &before);
    let mut search = OptimalSearch { rules: &rules, then, limits, steps: 0 };
    let found = search.run()?;
    answer::all_placed(&search, found)
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
