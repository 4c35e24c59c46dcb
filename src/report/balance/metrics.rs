//! Metrics of `hbal`: the moves that it proposes in each group, and their gains.

use super::deep::text::gap;
use crate::model::{Cluster, GroupIdx, Step};
use crate::report::form::metrics::{Family, GroupLabels, Sheet, copied};
use crate::search::balance::deep::plan::{DeepFound, DeepPlan};

/// Result of balancing a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BalanceFigures<'f> {
    pub group: GroupIdx,
    pub before: f64,
    /// The part of it that cannot be avoided.
    pub unavoidable: f64,
    pub after: f64,
    pub steps: &'f [Step],
    /// True if the search was not cut short.
    pub complete: bool,
    /// The deep plan, if the steps are from one.
    pub deep: Option<&'f DeepPlan>,
}

/// Adds the results of balancing groups.
pub(crate) fn tell<'f>(
    sheet: &mut Sheet,
    found: impl IntoIterator<Item = BalanceFigures<'f>>,
    cluster: &Cluster,
) {
    let groups = GroupLabels::of(cluster);
    for figures in found {
        let BalanceFigures { group, before, unavoidable, after, steps, complete, deep } = figures;
        let labels = [groups.get(group)];
        sheet.put(Family::BalanceScoreBefore, &labels, before);
        sheet.put(Family::BalanceScoreAfter, &labels, after);
        sheet.put(Family::BalanceUnavoidable, &labels, unavoidable);
        sheet.put(Family::BalanceGain, &labels, before - after);
        sheet.count(Family::BalanceMoves, &labels, steps.len());
        sheet.bytes(Family::BalanceCopied, &labels, copied(cluster, steps));
        sheet.flag(Family::BalanceComplete, &labels, complete);
        if let Some(DeepFound::Best(best)) = deep.map(|deep| &deep.found)
            && best.bound().is_finite()
        {
            sheet.put(Family::BalanceBound, &labels, best.bound());
            sheet.put(Family::BalanceGap, &labels, gap(after, best.bound()) / 100.0);
        }
    }
}
