//! From options to plans and their text, for the first plan and each later one.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::HsqueezeOptions;
use crate::model::{Cluster, GroupIdx};
use crate::plan::names::Impossible;
use crate::plan::switching::{Switch, whole};
use crate::plan::work::Work;
use crate::report::squeeze::text as view;
use crate::search::Deadline;
use crate::search::squeeze::cooldown::switched_lately;
use crate::search::squeeze::standby::Sizes;
use crate::search::squeeze::{GroupPlan, Squeeze, SqueezeOptions, SqueezeWatch, Swaps, squeeze_watched};
use crate::tools::output::Output;

/// Inputs of planning.
pub(super) struct Planning<'a> {
    pub options: &'a HsqueezeOptions,
    /// The sizes of `--standby-data`.
    known_sizes: Sizes,
}

impl<'a> Planning<'a> {
    /// Planning by these options and sizes.
    pub(super) fn new(options: &'a HsqueezeOptions, known_sizes: Sizes) -> Planning<'a> {
        Planning { options, known_sizes }
    }

    /// The request to the search, after `switched` nodes have been switched and the `failed` ones have not come up.
    pub(super) fn asked(&self, cluster: &Cluster, switched: usize, failed: &[String]) -> SqueezeOptions {
        let options = self.options;
        let mut left_alone = switched_lately(cluster, self.now(), options.cooldown);
        let failed = cluster.nodes.iter().filter(|node| failed.contains(&node.spec.name));
        left_alone.extend(failed.map(|node| node.spec.idx));
        SqueezeOptions {
            minimal: options.minimal(),
            target: options.target(),
            reach: options.reach,
            capacity_checks: !options.limits.no_capacity_checks,
            ignore_soft_errors: options.rules.ignore_soft_errors,
            restricted_migration: options.rules.restricted_migration,
            max_nodes: options.max_nodes.map(|most| most.saturating_sub(switched)),
            left_alone,
            known_sizes: self.known_sizes.clone(),
            swaps: self.swaps(),
            proof: options.proof,
            deep: options.deep,
        }
    }

    /// Nodes that a second plan of a group may free.
    fn swaps(&self) -> Swaps {
        let HsqueezeOptions { cib, output, cooldown, .. } = self.options;
        // Pacemaker's nodes are switched in one change. Without headers, bare names would not tell the direction of
        // the switch.
        if cib.is_named() || output.no_headers {
            Swaps::None
        } else if cooldown.is_zero() {
            Swaps::All
        } else {
            Swaps::PreviouslyOnline
        }
    }

    /// Makes plans again, within the time limit of the options.
    pub(super) fn squeeze(
        &self,
        cluster: &Cluster,
        groups: &[GroupIdx],
        switched: usize,
        failed: &[String],
    ) -> Squeeze {
        let deadline = Deadline::new(self.options.limits.time_limit, Arc::default());
        let watch = SqueezeWatch { deadline: &deadline, progress: &|_| {} };
        squeeze_watched(cluster, groups, &self.asked(cluster, switched, failed), watch)
    }

    /// The steps of a group's plans at the current time; none if there is nothing to do.
    ///
    /// # Errors
    /// If a name is not valid in Ganeti.
    pub(super) fn work(&self, cluster: &Cluster, plans: &[GroupPlan]) -> Result<Option<Work>, Impossible> {
        let plans: Vec<_> = plans.iter().filter_map(|plan| view::switching(plan, cluster)).collect();
        (!plans.is_empty()).then(|| whole(&plans, self.switch(), self.now())).transpose()
    }

    /// The means of switching the power.
    pub(super) fn switch(&self) -> Switch {
        if self.options.execution.handling.power_command.is_some() { Switch::Command } else { Switch::Ganeti }
    }

    /// Current time in seconds since 1970.
    pub(super) fn now(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
    }
}

/// Prints the plans in the format that scripts know.
pub(super) fn show_text(
    options: &HsqueezeOptions,
    cluster: &Cluster,
    found: &Squeeze,
    output: &mut Output,
) -> anyhow::Result<()> {
    let style = view::Style { candidates: options.load.verbosity > 1, headers: !options.output.no_headers };
    let lines = view::text(found, cluster, style).into_iter().chain(view::proofs(found, cluster));
    Ok(lines.into_iter().try_for_each(|line| output.line(&line))?)
}
