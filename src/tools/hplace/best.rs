//! Placing as the options say: by a strategy, or as well as possible.

use std::time::Duration;

use anyhow::ensure;

use super::HplaceOptions;
use crate::pacemaker::optimal::{PlacingLimits, ThenGoal};
use crate::pacemaker::{AllPlaced, PlacementMethod, Strategy, WorkingSet, optimal, place};
use crate::tools::interrupts::Interruptible;

/// How many changes are tried where nothing is said.
const STEPS: u64 = 10_000_000;
/// How long is searched where nothing is said.
const TIME: Duration = Duration::from_secs(10);

/// Refuses options that go with another strategy only.
pub(super) fn check(options: &HplaceOptions) -> anyhow::Result<()> {
    let is_optimal = options.method == Some(PlacementMethod::Optimal);
    if !is_optimal {
        let own = ["then", "max-moves", "effort", "time-limit"];
        options.output.refuse(&own, "without --strategy optimal")?;
    }
    ensure!(
        !is_optimal || !options.forms.crm_simulate_format,
        "crm_simulate knows no strategy 'optimal': --crm-simulate-format means nothing with it"
    );
    Ok(())
}

/// Places the resources as the options say, and tells by which strategy Pacemaker goes on from there.
///
/// # Errors
/// The colocations cannot be followed, or the system does not let the program handle interrupts.
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
    Ok((set.strategy(), optimal(set, options.then.unwrap_or(usual), &limits)?))
}
