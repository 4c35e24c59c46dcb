//! The best placement: one that keeps all rules, and of those the one that is best stage by stage. It is looked for
//! from several starts: what is left out makes room for itself by chains of changes, single changes make the rest better, and
//! where the cluster is small enough, everything is tried. docs/pacemaker.md tells the rules and the stages.

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

/// The parts of the scores by which all primitives were placed. Resources are placed once more for it.
///
/// # Errors
/// Those of placing them.
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
