//! Placement by one of Pacemaker's strategies, or by a search for the best one.

use std::time::Duration;

use anyhow::ensure;

use super::HplaceOptions;
use crate::pacemaker::optimal::{PlacingLimits, ThenGoal};
use crate::pacemaker::{AllPlaced, PlacementMethod, Strategy, WorkingSet, optimal, place};
use crate::tools::interrupts::Interruptible;

/// Default number of changes that the search tries.
const STEPS: u64 = 10_000_000;
/// Default time limit of the search.
const TIME: Duration = Duration::from_secs(10);

/// Refuses options that do not fit the strategy.
pub(super) fn check(options: &HplaceOptions) -> anyhow::Result<()> {
    let is_optimal = options.method == Some(PlacementMethod::Optimal);
    if !is_optimal {
        let own = ["then", "max-moves", "effort", "time-limit"];
        options.output.refuse(&own, "needs --strategy optimal")?;
    }
    ensure!(
        !is_optimal || !options.forms.crm_simulate_format,
        "option --crm-simulate-format does not apply to --strategy optimal, which crm_simulate does not have"
    );
    Ok(())
}

/// Places the resources as the options say. Also returns the strategy by which Pacemaker continues from there.
///
/// # Errors
/// Fails if the colocations cannot be followed, or if the system does not let the program handle interrupts.
pub(super) fn placed(set: &WorkingSet, options: &HplaceOptions) -> anyhow::Result<(Strategy, AllPlaced)> {
    let method = options.method.unwrap_or(set.strategy().into());
    if let Some(strategy) = method.strategy() {
        return Ok((strategy, place(set, strategy)?));
    }
    let search = Interruptible::begin(Some(options.limits.time_limit.unwrap_or(TIME)))?;
    let usual = match set.strategy() {
        Strategy::Minimal => ThenGoal::Minimal,
        _ => ThenGoal::Balanced,
    };
    let limits = PlacingLimits {
        steps: options.steps.unwrap_or(STEPS),
        moves: options.max_moves,
        deadline: search.clone(),
    };
    Ok((set.strategy(), optimal(set, options.tie_breaker.unwrap_or(usual), &limits)?))
}
