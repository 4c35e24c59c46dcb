//! Metrics of `hcheck`: problems now, problems that balancing would leave, and effects of the loss of nodes.

use super::{CheckResult, Snapshot};
use crate::model::Cluster;
use crate::report::form::metrics::{Family, GroupLabels, Sheet};
use crate::search::health::{Loss, ProblemCounts};

/// Adds the result of a check.
pub(crate) fn tell(sheet: &mut Sheet, check: &CheckResult, cluster: &Cluster) {
    let groups = GroupLabels::of(cluster);
    sheet.flag(Family::CheckHealthy, &[], !check.initial.needs_rebalance());
    tell_problems(sheet, &check.initial, &groups, "now");
    if !check.without_simulation {
        tell_problems(sheet, check.last(), &groups, "balanced");
        let steps = check.step_counts().into_iter().chain(std::iter::repeat(0));
        for (group, steps) in check.initial.groups.iter().zip(steps) {
            sheet.count(Family::CheckMoves, &[groups.get(group.group)], steps);
        }
    }
    sheet.count(Family::CheckIdleTags, &[], check.idle_tags.len());
    let missing = check.unmet_keys.iter().filter(|of| of.is_missing()).count();
    for (wish, count) in [("together", missing), ("apart", check.unmet_keys.len() - missing)] {
        sheet.count(Family::CheckUnmetKeys, &[wish], count);
    }
}

fn tell_problems(sheet: &mut Sheet, state: &Snapshot, groups: &GroupLabels, when: &str) {
    for group in &state.groups {
        let label = groups.get(group.group);
        // These are as in the documents of hcheck --json.
        let ProblemCounts { n1_failing, conflicting, offline_primary, offline_secondary, at_risk } =
            group.counts();
        let counts = [
            ("n1_failing", Some(n1_failing)),
            ("conflicting", Some(conflicting)),
            ("offline_primary", Some(offline_primary)),
            ("offline_secondary", Some(offline_secondary)),
            ("not_expendable", at_risk),
        ];
        for (problem, count) in counts {
            // The check is skipped with --no-capacity-checks.
            let Some(count) = count else { continue };
            sheet.count(Family::CheckProblems, &[label, problem, when], count);
        }
    }
}

/// Adds the effects of the loss of nodes.
pub(crate) fn tell_loss(sheet: &mut Sheet, loss: &Loss) {
    let Loss { nodes: _, placed, stranded, unmirrored } = loss;
    for (outcome, count) in
        [("placed", placed.len()), ("stranded", stranded.len()), ("unmirrored", unmirrored.len())]
    {
        sheet.count(Family::CheckLoss, &[outcome], count);
    }
}
