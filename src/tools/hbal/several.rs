//! `hbal --worst-group` and `hbal --all-groups`: the scores of all groups, and one plan.

use std::sync::atomic::{AtomicUsize, Ordering as Atomically};

use anyhow::ensure;
use rayon::prelude::*;

use super::HbalOptions;
use super::balanced::{BalanceStart, Balanced, balance, begin, search_group};
use super::execute::proposed;
use super::page::HbalPage;
use super::scope::BalancedScope;
use super::search::BalanceWatch;
use super::views::{Text, give_commands, save_balanced, summarize, wants_summary};
use crate::load::text::writer::whole_cluster_text;
use crate::model::number::counted;
use crate::model::{Cluster, Draft, GroupIdx, Members, NodeIdx, Step};
use crate::plan::jobset::{Jobset, side_by_side};
use crate::report;
use crate::report::balance::components::score;
use crate::report::balance::deep::json::DeepView;
use crate::report::balance::group_plans::{ChosenGroups, GroupPlanView, GroupPlansDocument, SCHEMA};
use crate::report::balance::metrics::BalanceFigures;
use crate::report::balance::plan::json::{BalancedGroup, EndingView};
use crate::report::cluster::json::{ClusterView, NodesView};
use crate::report::cluster::summary::Moment;
use crate::report::form::json::{self, Printout};
use crate::report::form::table::{Align, Table};
use crate::search::Stopped;
use crate::search::moves::perform;
use crate::tools::execution::Planned;
use crate::tools::interrupts::Interruptible;
use crate::tools::output::{Output, Recording};
use crate::tools::pacemaker::step_commands;
use crate::tools::progress::Progress;
use crate::tools::save::save;
use crate::tools::summing_up;

/// A group before anything is moved.
struct BalanceCandidate {
    start: BalanceStart,
    shown: BalancedGroup,
    /// Result of its search, if there was one.
    found: Option<Balanced>,
}

impl BalanceCandidate {
    fn of(cluster: &Cluster, group: GroupIdx, members: Members) -> BalanceCandidate {
        let scope = BalancedScope::with(cluster, group, members);
        BalanceCandidate { shown: scope.json(cluster), start: BalanceStart::of(cluster, scope), found: None }
    }

    fn group(&self) -> GroupIdx {
        self.start.scope.group
    }

    /// Tells if there is nothing to gain from the start.
    fn is_balanced(&self, options: &HbalOptions) -> bool {
        self.start.is_balanced(options)
    }

    fn steps(&self) -> &[Step] {
        self.found.as_ref().map_or(&[], |found| &found.steps)
    }

    fn figures(&self, options: &HbalOptions) -> BalanceFigures<'_> {
        self.found.as_ref().map_or_else(|| self.start.figures(options), Balanced::figures)
    }

    fn jobsets(&self) -> &[Jobset] {
        self.found.as_ref().map_or(&[], |found| &found.jobsets)
    }
}

/// All groups that have nodes, in the cluster's order.
fn survey(cluster: &Cluster) -> Vec<BalanceCandidate> {
    let members = cluster.members().into_par_iter().enumerate();
    let with_nodes = members.filter(|(_, members)| !members.nodes.is_empty());
    with_nodes.map(|(at, members)| BalanceCandidate::of(cluster, GroupIdx::new(at), members)).collect()
}

/// State of a run that must be recorded at its start.
struct GroupsRun<'o> {
    options: &'o HbalOptions,
    choice: ChosenGroups,
    deadline: Interruptible,
    /// The cluster before the first step, if the plan may be executed or is summed up.
    before: Option<Cluster>,
    /// The cluster before the first step, for the JSON document.
    state: Option<ClusterView>,
    /// The cluster before the first step, for the summary or the report.
    moment: Option<Moment>,
    is_summed_up: bool,
}

impl GroupsRun<'_> {
    fn begin<'o>(
        options: &'o HbalOptions,
        choice: ChosenGroups,
        cluster: &Cluster,
        text: &Text<'_>,
    ) -> anyhow::Result<GroupsRun<'o>> {
        let is_summed_up = wants_summary(options, text);
        let is_shown = is_summed_up || options.output.report.is_some();
        let moment = is_shown.then(|| Moment::of_groups(cluster));
        Ok(GroupsRun {
            options,
            choice,
            deadline: Interruptible::begin(options.limits.time_limit)?,
            before: (options.execution.wants_work() || moment.is_some()).then(|| cluster.clone()),
            state: options.output.json.then(|| ClusterView::whole(cluster)),
            moment,
            is_summed_up,
        })
    }

    /// Prints and writes all results after the searches.
    fn finish(
        self,
        cluster: &Cluster,
        groups: Vec<BalanceCandidate>,
        mut text: Text<'_>,
    ) -> anyhow::Result<Planned> {
        let GroupsRun { options, choice, deadline, before, state, moment, is_summed_up } = self;
        let late = deadline.reached();
        // From here on, an interrupt ends the program.
        drop(deadline);
        text.output.figures(|sheet| {
            report::balance::metrics::tell(sheet, groups.iter().map(|group| group.figures(options)), cluster);
        });
        let plans = groups.iter().map(|group| (group.steps().len(), group.jobsets()));
        let jobsets = side_by_side(plans);
        let steps: Vec<Step> = groups.iter().flat_map(BalanceCandidate::steps).copied().collect();
        if options.load.verbosity >= 1 {
            text.line("")?;
            text.line(summary(choice, cluster, &groups, jobsets.len()))?;
        }
        if let Some(cib) = text.cib {
            cib.remember(&steps, groups.iter().find_map(|group| group.found.as_ref()?.stopped));
        }
        give_commands(options, cluster, &steps, &jobsets, &mut text)?;
        if groups.iter().any(|group| group.found.as_ref().is_some_and(Balanced::was_searched)) {
            save_balanced(options, save, || whole_cluster_text(cluster), text.output)?;
        }
        let found = || groups.iter().filter_map(|group| group.found.as_ref());
        let enough = choice == ChosenGroups::WorstGroup && !steps.is_empty();
        let left_out =
            !enough && groups.iter().any(|group| group.found.is_none() && !group.is_balanced(options));
        let stopped = found().find_map(|found| found.stopped);
        let stopped = stopped.or(late.filter(|_| left_out));
        if let Some((moment, before)) = moment.zip(before.as_ref()) {
            let after = Moment::of_groups(cluster);
            let work = summing_up::work_of(before, &steps, &jobsets);
            let table = summing_up::times_of(work.as_ref(), &options.execution, text.cib.is_none())?;
            if is_summed_up && !steps.is_empty() {
                summarize(before, &steps, table.as_ref(), [&moment, &after], &[], &mut text)?;
            }
            let page = HbalPage {
                before: (before, &moment),
                after: (cluster, &after),
                nodes: &cluster.all_nodes(),
                steps: &steps,
                table: table.as_ref(),
                found: &found().collect::<Vec<_>>(),
                stopped,
            };
            page.write(options)?;
        }
        let before = before.filter(|_| options.execution.wants_work());
        if stopped.is_some() && left_out {
            text.output.error_line("There was no time left for some of the node groups")?;
        }
        let document = |state| {
            let prices: Vec<Option<f64>> = found().flat_map(|found| &found.prices).copied().collect();
            let commands = step_commands(cluster, text.cib);
            let steps = report::balance::plan::json::steps(cluster, &steps, &prices, commands)?;
            anyhow::Ok(Printout::of(document(choice, cluster, &groups, steps, &jobsets, stopped, state)))
        };
        let document = state.map(document).transpose()?;
        let found = groups.into_iter().filter_map(|group| group.found);
        proposed(options, found, before, stopped, document, text.output)
    }
}

/// Balances the worst group that can be improved.
pub(super) fn worst(
    options: &HbalOptions,
    cluster: &mut Draft,
    mut text: Text<'_>,
) -> anyhow::Result<Planned> {
    let mut groups = survey(cluster);
    groups.sort_by(|a, b| a.start.initial_score.worst_first(&b.start.initial_score));
    list(options, &groups, &mut text)?;
    let run = GroupsRun::begin(options, ChosenGroups::WorstGroup, cluster, &text)?;
    let watch = BalanceWatch { deadline: &run.deadline, shown: true };
    for candidate in groups.iter_mut().filter(|group| !group.is_balanced(options)) {
        text.line("")?;
        let found = balance(options, cluster, candidate.start.clone(), &watch, &mut text)?;
        found.show_final(options, cluster, &mut text)?;
        let improved = found.ending == EndingView::Improved;
        candidate.found = Some(found);
        if improved || run.deadline.reached().is_some() {
            break;
        }
    }
    run.finish(cluster, groups, text)
}

/// Balances each group, with as many groups at a time as there are processors.
pub(super) fn all(options: &HbalOptions, cluster: &mut Draft, text: Text<'_>) -> anyhow::Result<Planned> {
    let mut groups = survey(cluster);
    let run = GroupsRun::begin(options, ChosenGroups::AllGroups, cluster, &text)?;
    let progress = Progress::start();
    let (count, over) = (groups.len(), AtomicUsize::new(0));
    let start: &Cluster = cluster;
    // However short the time limit is, at least one group is searched, so there is a step if there can be one.
    let first = groups.iter().find(|group| !group.is_balanced(options)).map(BalanceCandidate::group);
    let is_shown = text.output.is_shown();
    let search = |own: &mut Option<Draft>, candidate: &mut BalanceCandidate| -> anyhow::Result<Recording> {
        let recording = Recording::shown(is_shown);
        if Some(candidate.group()) != first && run.deadline.reached().is_some() {
            return Ok(recording);
        }
        let mut output = recording.output();
        let json = options.output.json || options.execution.prints_document();
        let mut text = Text { output: &mut output, json, cib: None };
        text.line("")?;
        let mut found = begin(options, start, candidate.start.clone(), &mut text)?;
        if found.was_searched() {
            // Moves in other groups make no difference to this one.
            let own = own.get_or_insert_with(|| Draft::of(start));
            let watch = BalanceWatch { deadline: &run.deadline, shown: false };
            found = search_group(options, own, found, &watch, &mut text)?;
            found.show_final(options, own, &mut text)?;
        }
        candidate.found = Some(found);
        progress.say(format!("{} of {count} groups", 1 + over.fetch_add(1, Atomically::Relaxed)));
        Ok(recording)
    };
    let recordings = groups.par_iter_mut().map_init(|| None, search);
    let recordings: Vec<Recording> = recordings.collect::<anyhow::Result<_>>()?;
    drop(progress);
    recordings.iter().try_for_each(|recording| recording.replay(text.output))?;
    let rules = options.balance.rules;
    for step in groups.iter().flat_map(BalanceCandidate::steps) {
        let done = perform(cluster, step.instance, step.mv, &rules);
        let name = &cluster.instance(step.instance).name;
        ensure!(done.is_ok(), "hbal: the step of instance '{name}' depends on another group");
    }
    run.finish(cluster, groups, text)
}

/// Output for a cluster without instances.
pub(super) fn nothing(
    options: &HbalOptions,
    cluster: &Cluster,
    output: &mut Output,
) -> anyhow::Result<Planned> {
    let choice = if options.all_groups { ChosenGroups::AllGroups } else { ChosenGroups::WorstGroup };
    let document = || {
        let state = ClusterView::whole(cluster);
        Printout::of(document(choice, cluster, &survey(cluster), Vec::new(), &[], None, state))
    };
    let document = options.output.json.then(document);
    proposed(options, [], None, None, document, output)
}

/// Prints the scores, in the order in which the groups are tried.
fn list(options: &HbalOptions, groups: &[BalanceCandidate], text: &mut Text<'_>) -> anyhow::Result<()> {
    text.line("Node groups, the worst first:")?;
    let columns =
        [("Group", Align::Left), ("Nodes", Align::Right), ("Inst", Align::Right), ("Score", Align::Right)];
    let mut table = Table::new(columns.into_iter().chain([("", Align::Left)]));
    for group in groups {
        let note = if group.is_balanced(options) { "balanced" } else { "" };
        table.push(vec![
            group.shown.name.clone(),
            group.shown.nodes.to_string(),
            group.shown.instances.to_string(),
            score(group.start.initial_score.components.score()),
            note.to_owned(),
        ]);
    }
    table.lines("  ").iter().try_for_each(|line| text.line(line.trim_end()))
}

fn summary(choice: ChosenGroups, cluster: &Cluster, groups: &[BalanceCandidate], jobsets: usize) -> String {
    let improved: Vec<&BalanceCandidate> = groups.iter().filter(|group| !group.steps().is_empty()).collect();
    let steps: usize = improved.iter().map(|group| group.steps().len()).sum();
    let (steps, jobsets) = (counted(steps, "step"), counted(jobsets, "jobset"));
    match (choice, &improved[..]) {
        (_, []) => "No node group can be improved.".to_owned(),
        (ChosenGroups::WorstGroup, [group, ..]) => {
            let name = &cluster.group(group.group()).name;
            format!("Node group {name} is improved with {steps} in {jobsets}.")
        }
        (ChosenGroups::AllGroups, improved) => {
            let (some, count) = (improved.len(), groups.len());
            let groups = if count == 1 { "node group is" } else { "node groups are" };
            format!("{some} of {count} {groups} improved with {steps} in {jobsets}.")
        }
    }
}

fn document(
    choice: ChosenGroups,
    cluster: &Cluster,
    groups: &[BalanceCandidate],
    steps: Vec<report::balance::plan::json::PlanStep>,
    jobsets: &[Jobset],
    stopped: Option<Stopped>,
    state: ClusterView,
) -> GroupPlansDocument {
    let mut next = 1;
    let plan = |group: &BalanceCandidate| {
        let numbers: Vec<usize> = (next..next + group.steps().len()).collect();
        next += numbers.len();
        let found = group.found.as_ref();
        GroupPlanView {
            group: group.shown.clone(),
            ending: found.map(|found| found.ending),
            stopped: found.and_then(|found| found.stopped),
            initial_score: json::Score::of(&group.start.initial_score.components),
            unavoidable_score: group.start.initial_score.unavoidable,
            final_score: json::Score::of(
                found.map_or(&group.start.initial_score.components, |found| &found.last),
            ),
            steps: numbers,
            deep: found
                .and_then(|found| Some(DeepView::of(found.deep.as_ref()?, &found.priced_moves, cluster))),
        }
    };
    let moved = groups.iter().filter(|group| !group.steps().is_empty());
    let mut moved: Vec<NodeIdx> = moved.flat_map(|group| &group.start.scope.nodes).copied().collect();
    moved.sort();
    GroupPlansDocument {
        schema: SCHEMA,
        generator: json::Generator::this(),
        choice,
        stopped,
        cluster: state,
        groups: groups.iter().map(plan).collect(),
        steps,
        jobsets: report::balance::plan::json::jobsets(jobsets),
        nodes_after: NodesView::of(cluster, &moved),
    }
}
