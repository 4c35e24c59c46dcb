//! `hplace --report`: the placement as a page for browsers.

use anyhow::ensure;

use super::{HplaceOptions, SPEC, affinity};
use crate::pacemaker::loss::{losses, restless};
use crate::pacemaker::{AllPlaced, PlacementMethod, Strategy, Transition, WorkingSet, place};
use crate::report::form::html::ReportPage;
use crate::report::pacemaker::html::PlacementPage;
use crate::report::pacemaker::survive::{SurvivalResult, least_priority};
use crate::tools::{ahead, reporting};

/// Largest number of hosts times resources for which the loss of each host is tried.
const TRIED: usize = 1_000_000;

/// Refuses `--report` if nothing is placed, or if its file cannot be written.
///
/// # Errors
/// Names the option or the file.
pub(super) fn check(options: &HplaceOptions) -> anyhow::Result<()> {
    if options.output.report.is_none() {
        return Ok(());
    }
    options.output.refuse(&["undo", "resume"], "cannot be given with --report")?;
    ensure!(!affinity::is_asked(options), "option --report does not apply to placement by keys");
    Ok(ahead::files(&options.output, &[])?)
}

/// Writes the page, if it is wanted.
///
/// # Errors
/// Those of placing, and the file.
pub(super) fn write(
    options: &HplaceOptions,
    set: &WorkingSet,
    strategy: Strategy,
    placed: &AllPlaced,
    plan: &Transition,
) -> anyhow::Result<()> {
    reporting::write(SPEC.name, &options.output, || page(options, set, strategy, placed, plan))
}

fn page(
    options: &HplaceOptions,
    set: &WorkingSet,
    strategy: Strategy,
    placed: &AllPlaced,
    plan: &Transition,
) -> anyhow::Result<ReportPage> {
    let has_guests = set.has_guests_or_bundles();
    let is_optimal = placed.method(strategy) == PlacementMethod::Optimal;
    let is_tried = !has_guests
        && !is_optimal
        && set.without_quorum.is_none()
        && set.hosts.len() > 1
        && set.hosts.len().saturating_mul(set.resources.len()) <= TRIED;
    let settled = is_tried.then(|| place(set, strategy).map(|placed| set.settled(strategy, &placed)));
    let settled = match settled.transpose()? {
        Some(settled) if restless(&settled, strategy)?.is_none() => Some(settled),
        _ => None,
    };
    let lost = settled.as_ref().map(|settled| losses(settled, strategy, 1)).transpose()?;
    let survival = settled.as_ref().zip(lost.as_ref()).map(|(settled, losses)| SurvivalResult {
        settled,
        strategy,
        at_once: 1,
        losses,
        least: least_priority(settled),
    });
    let own = PlacementMethod::from(set.strategy());
    let page = PlacementPage {
        set,
        strategy,
        placed,
        plan,
        has_order: !has_guests,
        survival: survival.as_ref(),
        is_imposed: options.cib.is_named()
            && (placed.method(strategy) != own || !options.measured.is_empty()),
    };
    Ok(page.page()?)
}
