//! From a loaded cluster to the findings and their views.

use super::{ExitStatus, HcheckOptions, SPEC};
use crate::affinity::unmet_in;
use crate::load::tag_review::idle_tags;
use crate::model::{Cluster, GroupIdx};
use crate::report;
use crate::report::check::problems::problem_lines;
use crate::report::check::{self, CheckResult, Snapshot};
use crate::report::form::json;
use crate::search::health as search;
use crate::search::health::{GroupHealth, TrialBalance};
use crate::tools::interrupts::Interruptible;
use crate::tools::nodes::named_nodes;
use crate::tools::output::Output;
use crate::tools::reporting;

/// Checks the cluster, and simulates how balancing would improve it.
pub(super) fn check(
    options: &HcheckOptions,
    cluster: &Cluster,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let found = find(options, cluster, output)?;
    if let Some(stopped) = found.stopped {
        output.error_line(&format!("{} ended the simulation", stopped.subject()))?;
    }
    if options.output.json {
        output.write(&json::text(&report::check::json::of_check(&found, cluster))?)?;
    } else if options.output.machine_readable {
        print(output, &check::assignments(&found, cluster))?;
    } else if options.load.verbosity >= 1 {
        print(output, &check::text(&found, cluster))?;
        if options.list_problems {
            print(output, &problem_lines(&found, cluster))?;
        }
    }
    reporting::write(SPEC.name, &options.output, || Ok(report::check::html::check(&found, cluster)))?;
    Ok(verdict(!found.is_unhealthy()))
}

/// Exit status for the cluster's health.
fn verdict(healthy: bool) -> ExitStatus {
    if healthy { ExitStatus::Success } else { ExitStatus::Failure }
}

/// Computes the findings and hands their figures to the output.
pub(super) fn find(
    options: &HcheckOptions,
    cluster: &Cluster,
    output: &mut Output,
) -> anyhow::Result<CheckResult> {
    let checks = !options.limits.no_capacity_checks;
    let groups: Vec<GroupIdx> = cluster.groups_with_nodes();
    let health = groups.iter().map(|group| GroupHealth::of(cluster, *group, checks)).collect();
    let initial = Snapshot::of(health, checks);
    let after = if !options.no_simulation && initial.needs_rebalance() {
        let deadline = Interruptible::begin(options.limits.time_limit)?;
        let how =
            TrialBalance { options: options.balance, deep: options.deep.asked, effort: options.deep.effort };
        Some(search::rebalance(cluster, &groups, &how, checks, &deadline))
    } else {
        None
    };
    let each = || after.iter().flatten();
    let (steps, stopped) = (each().map(|g| g.steps.clone()).collect(), each().find_map(|g| g.stopped));
    let rebalanced =
        after.map(|groups| Snapshot::of(groups.into_iter().map(|group| group.health).collect(), checks));
    // Only these outputs show the lists.
    let named = options.output.json
        || options.list_problems
        || options.output.report.is_some()
        || output.wants_figures();
    let found = CheckResult {
        initial,
        rebalanced,
        steps,
        stopped,
        without_simulation: options.no_simulation,
        idle_tags: if named { idle_tags(cluster) } else { Vec::new() },
        unmet_keys: if named { unmet_in(cluster) } else { Vec::new() },
    };
    output.figures(|sheet| report::check::metrics::tell(sheet, &found, cluster));
    Ok(found)
}

/// Reports the consequences of losing the nodes of `--without-node`.
pub(super) fn loss(
    options: &HcheckOptions,
    cluster: &Cluster,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let found = search::loss(cluster, &named_nodes("without-node", &options.without, cluster)?);
    output.figures(|sheet| report::check::metrics::tell_loss(sheet, &found));
    if options.output.json {
        output.write(&json::text(&report::check::json::of_loss(&found, cluster))?)?;
    } else if options.output.machine_readable {
        print(output, &check::loss::assignments(&found, cluster))?;
    } else if options.load.verbosity >= 1 {
        print(output, &check::loss::text(&found, cluster))?;
    }
    reporting::write(SPEC.name, &options.output, || Ok(report::check::html::loss(&found, cluster)))?;
    Ok(verdict(found.stranded.is_empty()))
}

/// Default number of combinations shown.
const TOP: usize = 10;

/// Reports sets of nodes that cannot be lost together.
pub(super) fn survival(
    options: &HcheckOptions,
    nodes: usize,
    cluster: &Cluster,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let deadline = Interruptible::begin(options.limits.time_limit)?;
    let found = search::survival(cluster, nodes, options.top.unwrap_or(TOP), &deadline);
    drop(deadline);
    if let Some(stopped) = found.stopped {
        output.error_line(&format!("{} ended the search", stopped.subject()))?;
    }
    if options.output.json {
        output.write(&json::text(&report::check::json::of_survival(&found, cluster))?)?;
    } else if options.output.machine_readable {
        print(output, &check::survival::assignments(&found, cluster))?;
    } else if options.load.verbosity >= 1 {
        print(output, &check::survival::text(&found, cluster))?;
    }
    Ok(verdict(found.is_shown()))
}

fn print(output: &mut Output, lines: &[String]) -> anyhow::Result<()> {
    Ok(lines.iter().try_for_each(|line| output.line(line))?)
}
