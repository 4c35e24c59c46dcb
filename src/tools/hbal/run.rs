//! A balancing run: from a loaded cluster to plans and their views.

use std::ops::ControlFlow::Break;

use anyhow::bail;

use super::balanced::{BalanceStart, Balanced, balance};
use super::execute::proposed;
use super::page::HbalPage;
use super::scope::BalancedScope;
use super::search::BalanceWatch;
use super::steady::{SteadyOptions, SteadyRun, Verdict};
use super::views::{Text, give_commands, print_document, save_balanced, summarize, wants_summary};
use super::{ExitStatus, HbalOptions, deep, page, several};
use crate::load::merge::apply_node_options;
use crate::load::text::writer::{cluster_text, whole_cluster_text};
use crate::model::{Cluster, Draft, NodeIdx};
use crate::report::balance::deep::json::DeepView;
use crate::report::balance::pareto;
use crate::report::balance::plan::json::{BalancedGroup, EndingView, PlanDocument};
use crate::report::cluster::json::{ClusterView, NodesView};
use crate::report::cluster::summary::Moment;
use crate::report::form::json::{self, Printout};
use crate::report::form::palette::Palette;
use crate::report::{self, debug};
use crate::search::balance::deep::plan::{DeepFound, DeepPlan};
use crate::tools::execution::Planned;
use crate::tools::interrupts::Interruptible;
use crate::tools::kept_room;
use crate::tools::output::Output;
use crate::tools::pacemaker::{CibOrigin, step_commands};
use crate::tools::save::{self, save};
use crate::tools::{group, summing_up};

/// Groups that `hbal` balances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Groups {
    /// The named group, or the only one.
    One,
    /// The worst group that can be improved.
    Worst,
    All,
}

impl Groups {
    /// Choice by the options.
    ///
    /// # Errors
    /// If the options contradict each other.
    pub(super) fn of(options: &HbalOptions) -> anyhow::Result<Groups> {
        match (options.worst_group, options.all_groups, &options.limits.group) {
            (false, false, _) => Ok(Groups::One),
            (true, false, None) => Ok(Groups::Worst),
            (false, true, None) => Ok(Groups::All),
            (true, true, _) => bail!("options --worst-group and --all-groups exclude each other"),
            (true, false, Some(key)) => bail!("options --worst-group and --group={key} exclude each other"),
            (false, true, Some(key)) => bail!("options --all-groups and --group={key} exclude each other"),
        }
    }
}

/// Balances the groups that the options select.
pub(super) fn run(
    options: &HbalOptions,
    mut cluster: Cluster,
    cib: Option<&CibOrigin>,
    output: &mut Output,
) -> anyhow::Result<Planned> {
    let level = options.load.verbosity;
    let groups = Groups::of(options)?;
    let silent = options.output.json || options.svg || options.execution.prints_document();
    let mut text = Text { output, json: silent, cib };
    if level > 1 {
        text.line(format!("Loaded cluster tags: {}", cluster.tags.join(",")))?;
        text.line(format!("Loaded cluster ipolicy: {}", debug::policy(&cluster.policy)))?;
    }
    // The saved state is the cluster as it was read.
    let as_read = options.output.save.as_ref().map(|prefix| (prefix, whole_cluster_text(&cluster)));
    apply_node_options(&mut cluster, &options.load.nodes)?;
    kept_room::check(&cluster)?;
    kept_room::warn(&cluster, level, text.output)?;
    if groups == Groups::All {
        cluster.keep_room_by_group();
    }
    let cluster = &mut Draft::from(cluster);
    if cluster.instances.is_empty() {
        text.line("Cluster is empty, exiting.")?;
        page::of_empty(options, cluster)?;
        return match groups {
            Groups::One => print_document(empty_document(options, cluster), text.output).map(Break),
            Groups::Worst | Groups::All => several::nothing(options, cluster, text.output),
        };
    }
    describe_cluster(cluster, level, &mut text)?;
    if let Some((prefix, content)) = as_read {
        let note = save(prefix, "original", "before balancing", &content)?;
        text.output.error_line(&note)?;
    }
    match groups {
        Groups::One => one(options, cluster, text),
        Groups::Worst => several::worst(options, cluster, text),
        Groups::All => several::all(options, cluster, text),
    }
}

/// Decides whether a run acts at all. Without a group, the plan tells what is wrong.
///
/// # Errors
/// If standard error cannot be written.
pub(super) fn decide(
    options: &HbalOptions,
    past: &SteadyRun,
    cluster: &Cluster,
    output: &mut Output,
) -> anyhow::Result<Verdict> {
    let act = || Ok(Verdict::Act(Box::new(options.clone())));
    let SteadyOptions { condition, moves_per_day, .. } = &options.steady;
    if condition.is_none() && moves_per_day.is_none() {
        return act();
    }
    match group::select(cluster, options.limits.group.as_deref(), output)? {
        Some(group) => past.decide(options, cluster, group, output),
        None => Ok(Verdict::Leave(ExitStatus::Failure)),
    }
}

/// Balances one group of the cluster.
fn one(options: &HbalOptions, cluster: &mut Draft, mut text: Text<'_>) -> anyhow::Result<Planned> {
    let of_nodes = deep::group(options, cluster)?.filter(|_| options.limits.group.is_none());
    let group = match of_nodes {
        Some(group) => Some(group),
        None => group::select(cluster, options.limits.group.as_deref(), text.output)?,
    };
    let Some(group) = group else { return Ok(Break(ExitStatus::Failure)) };
    let start = options.output.json.then(|| {
        let scope = BalancedScope::of(cluster, group);
        (ClusterView::of(cluster, &scope.nodes, &scope.instances), scope.json(cluster))
    });
    let is_summed_up = wants_summary(options, &text);
    let is_shown = is_summed_up || options.output.report.is_some();
    let moment = is_shown.then(|| Moment::of(cluster, cluster.nodes_of(group)));
    let before = (options.execution.wants_work() || moment.is_some() || options.steady.until_below)
        .then(|| Cluster::clone(cluster));
    let found = {
        // After the search, an interrupt ends the program again.
        let deadline = Interruptible::begin(options.limits.time_limit)?;
        let watch = BalanceWatch { deadline: &deadline, shown: true };
        let start = BalanceStart::of(cluster, BalancedScope::of(cluster, group));
        balance(options, cluster, start, &watch, &mut text)?
    };
    text.output.figures(|sheet| report::balance::metrics::tell(sheet, [found.figures()], cluster));
    if let Some(cib) = text.cib {
        cib.remember(&found.steps, found.stopped);
    }
    if found.was_searched() {
        give_commands(options, cluster, &found.steps, &found.jobsets, &mut text)?;
        let scope = &found.scope;
        let content = || cluster_text(cluster, &scope.nodes, &scope.instances);
        save_balanced(options, save::save_group, content, text.output)?;
        found.show_final(options, cluster, &mut text)?;
    }
    if let Some(before) = before.as_ref().filter(|_| options.steady.until_below) {
        SteadyRun::tell_fewest(options, before, group, found.steps.len(), text.output)?;
    }
    if let Some((moment, before)) = moment.zip(before.as_ref()) {
        let moments = [
            moment.with_parts(&found.initial),
            Moment::of(cluster, &found.scope.nodes).with_parts(&found.last),
        ];
        conclude(options, [before, cluster], &moments, &found, is_summed_up, &mut text)?;
    }
    let document =
        start.map(|(state, group)| document(cluster, text.cib, &found, state, group)).transpose()?;
    let picture = match &found.deep {
        Some(DeepPlan { found: DeepFound::Best(found), .. }) if options.svg => {
            Some(pareto::svg(found, &Palette::PICTURE))
        }
        _ => None,
    };
    let document = document.map(Printout::of).or(picture.map(Printout::Text));
    let stopped = found.stopped;
    let before = before.filter(|_| options.execution.wants_work());
    proposed(options, [found], before, stopped, document, text.output)
}

/// Prints the summary of a plan and writes its report, each if requested. Clusters and moments are those before and
/// after the plan.
fn conclude(
    options: &HbalOptions,
    [before, after]: [&Cluster; 2],
    moments: &[Moment; 2],
    found: &Balanced,
    is_summed_up: bool,
    text: &mut Text<'_>,
) -> anyhow::Result<()> {
    let work = summing_up::work_of(before, &found.steps, &found.jobsets);
    let table = summing_up::times_of(work.as_ref(), &options.execution, text.cib.is_none())?;
    if is_summed_up && !found.steps.is_empty() {
        let course = [found.initial.score()].into_iter().chain(found.steps.iter().map(|step| step.score));
        let course: Vec<f64> = course.collect();
        summarize(before, &found.steps, table.as_ref(), moments.each_ref(), &course, text)?;
    }
    let page = HbalPage {
        before: (before, &moments[0]),
        after: (after, &moments[1]),
        nodes: &found.scope.nodes,
        steps: &found.steps,
        table: table.as_ref(),
        found: &[found],
        stopped: found.stopped,
    };
    page.write(options)
}

fn describe_cluster(cluster: &Cluster, level: i32, text: &mut Text<'_>) -> anyhow::Result<()> {
    let split = cluster.split_instances();
    if level > 1 && !split.is_empty() {
        text.output.error_line("Found instances belonging to multiple node groups:")?;
        for instance in split {
            text.output.error_line(&format!("  {}", cluster.instance(instance).name))?;
        }
        text.output.error_line("These instances will not be moved.")?;
    }
    text.line(format!("Loaded {} nodes, {} instances", cluster.nodes.len(), cluster.instances.len()))?;
    if level > 1 && !cluster.common_suffix.is_empty() {
        text.line(format!("Note: Stripping common suffix of '{}' from names", cluster.common_suffix))?;
    }
    Ok(())
}

/// The JSON document of an empty cluster, with `--json`.
fn empty_document(options: &HbalOptions, cluster: &Cluster) -> Option<Printout> {
    let document = || {
        let state = ClusterView::whole(cluster);
        Printout::of(PlanDocument::new(EndingView::Empty, state))
    };
    options.output.json.then(document)
}

/// The JSON document of a cluster that is left as it is, with `--json`.
pub(super) fn left_document(options: &HbalOptions, cluster: &Cluster) -> Option<Printout> {
    let document = || Printout::of(PlanDocument::new(EndingView::NotNow, ClusterView::whole(cluster)));
    options.output.json.then(document)
}

/// The JSON document of a group. `state` and `group` describe them before the first step.
fn document(
    cluster: &Cluster,
    cib: Option<&CibOrigin>,
    found: &Balanced,
    state: ClusterView,
    group: BalancedGroup,
) -> anyhow::Result<PlanDocument> {
    // Nodes among which instances were moved; none without steps.
    let moved: &[NodeIdx] = if found.steps.is_empty() { &[] } else { &found.scope.nodes };
    Ok(PlanDocument {
        stopped: found.stopped,
        deep: found.deep.as_ref().map(|deep| DeepView::of(deep, &found.priced_moves, cluster)),
        group: Some(group),
        initial_score: Some(json::Score::of(&found.initial)),
        unavoidable_score: Some(found.unavoidable),
        final_score: Some(json::Score::of(&found.last)),
        steps: report::balance::plan::json::steps(
            cluster,
            &found.steps,
            &found.prices,
            step_commands(cluster, cib),
        )?,
        jobsets: report::balance::plan::json::jobsets(&found.jobsets),
        nodes_after: NodesView::of(cluster, moved),
        ..PlanDocument::new(found.ending, state)
    })
}
