//! The HTML report of a plan (`--report`).

use super::balanced::Balanced;
use super::deep::emptied;
use super::{HbalOptions, SPEC};
use crate::model::{Cluster, Draft, NodeIdx, Step};
use crate::report::balance::deep::html as deep;
use crate::report::balance::plan::html::{PageHead, PlanReport};
use crate::report::balance::plan::json::EndingView;
use crate::report::balance::plan::steps::PlannedMove;
use crate::report::cluster::summary::Moment;
use crate::report::groups::plan::html::groups;
use crate::report::timetable::Timetable;
use crate::search::Stopped;
use crate::tools::reporting;

/// A plan and its context.
pub(super) struct HbalPage<'a> {
    pub before: (&'a Cluster, &'a Moment),
    pub after: (&'a Cluster, &'a Moment),
    pub nodes: &'a [NodeIdx],
    pub steps: &'a [Step],
    pub table: Option<&'a Timetable<'a>>,
    /// The groups that were examined.
    pub found: &'a [&'a Balanced],
    pub stopped: Option<Stopped>,
}

impl HbalPage<'_> {
    /// Writes the report with `--report`.
    pub(super) fn write(&self, options: &HbalOptions) -> anyhow::Result<()> {
        reporting::write(SPEC.name, &options.output, || {
            let (before, after) = (self.before.0, self.after.0);
            let emptied = emptied(options, before)?;
            let mut moves = PlannedMove::all(&mut Draft::of(before), self.steps, &emptied);
            let prices = self.found.iter().flat_map(|found| &found.prices);
            moves.iter_mut().zip(prices).for_each(|(planned, price)| planned.price = *price);
            let report = PlanReport {
                before: self.before,
                after: self.after,
                nodes: self.nodes,
                moves: &moves,
                table: self.table,
                stopped: self.stopped,
            };
            let mut more = Vec::new();
            if options.all_groups || options.worst_group {
                more.extend(groups(before, after, !self.steps.is_empty(), false));
            }
            let quality = match self.found {
                [found] => found.deep.as_ref().and_then(|plan| deep::section(plan, after)),
                _ => None,
            };
            Ok(report.page(self.head(options), more, quality))
        })
    }

    fn head(&self, options: &HbalOptions) -> PageHead {
        let group = match self.found {
            [found] => format!("group {}", self.before.0.group(found.scope.group).name),
            _ => "all node groups".to_owned(),
        };
        let title = match (options.repair_only, options.emptied.is_empty()) {
            (true, _) => format!("Repair of {group}"),
            (false, false) => format!("Emptying {}", options.emptied.join(", ")),
            (false, true) => format!("Balancing {group}"),
        };
        let is_balanced = |found: &&Balanced| found.ending == EndingView::Balanced;
        let outcome = if self.before.0.instances.is_empty() {
            "There is nothing to move."
        } else if !self.steps.is_empty() {
            ""
        } else if self.found.iter().all(is_balanced) {
            "It is well balanced already."
        } else {
            "There is no move that improves it."
        };
        PageHead { title, outcome: outcome.to_owned(), change: None }
    }
}

/// Writes the report of a cluster without instances, with `--report`.
pub(super) fn of_empty(options: &HbalOptions, cluster: &Cluster) -> anyhow::Result<()> {
    let nodes = cluster.all_nodes();
    let moment = Moment::of_groups(cluster);
    let now = (cluster, &moment);
    HbalPage { before: now, after: now, nodes: &nodes, steps: &[], table: None, found: &[], stopped: None }
        .write(options)
}
