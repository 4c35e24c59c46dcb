//! From a loaded cluster to the output of a command.

use std::ops::ControlFlow::{Break, Continue};

use super::execute::{context, proposed};
use super::{ExitStatus, GroupCommand, HgroupOptions, SPEC};
use crate::load::merge::apply_node_options;
use crate::model::number::counted;
use crate::model::{Cluster, Step, StorageMap};
use crate::plan::checker::CheckOptions;
use crate::plan::command::{REGROUP_TITLE, plan_lines};
use crate::plan::jobset::{Jobset, jobsets};
use crate::plan::names::Impossible;
use crate::plan::shell;
use crate::plan::work::Work;
use crate::report;
use crate::report::balance::plan::html::{PageHead, PlanReport};
use crate::report::balance::plan::steps::PlannedMove;
use crate::report::cluster::summary::Moment;
use crate::report::form::file::write_whole;
use crate::report::form::html::Section;
use crate::report::form::json::{self, Printout};
use crate::report::groups::draw;
use crate::report::groups::metrics::RegroupFound;
use crate::report::groups::plan::json::{CompressionOutcome, RegroupDocument};
use crate::report::groups::plan::text as view;
use crate::report::groups::status::text as status_view;
use crate::report::timetable::Timetable;
use crate::search::groups::EmptyingProof;
use crate::search::groups::balance::balance_until;
use crate::search::groups::compress::{Compression, GroupCandidate, compress_until};
use crate::search::groups::redistribute::redistribute_until;
use crate::search::groups::status::GroupsStatus;
use crate::search::{Deadline, Stopped};
use crate::tools::execution::{Planned, plan_and_execute};
use crate::tools::interrupts::Interruptible;
use crate::tools::kept_room;
use crate::tools::options::CommandTarget;
use crate::tools::output::Output;
use crate::tools::progress::Progress;
use crate::tools::save::save_cluster;
use crate::tools::{commands, group, listing as lists, reporting, summing_up};

/// Runs the command of the options.
pub(super) fn run(
    options: &HgroupOptions,
    mut cluster: Cluster,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    // The saved state is the cluster as it was read.
    save_cluster(options.output.save.as_deref(), "original", "before hgroup run", &cluster, output)?;
    apply_node_options(&mut cluster, &options.load.nodes)?;
    kept_room::check(&cluster)?;
    kept_room::warn(&cluster, options.load.verbosity, output)?;
    if options.command == GroupCommand::Status {
        return status(options, &cluster, output);
    }
    let plan = |cluster: Cluster, output: &mut Output| match options.command {
        GroupCommand::Redistribute => heal(options, &cluster, output),
        GroupCommand::Compress => empty(options, &cluster, output),
        GroupCommand::Balance | GroupCommand::Status => even_out(options, &cluster, output),
    };
    plan_and_execute(&context(options), cluster, plan, output)
}

fn status(options: &HgroupOptions, cluster: &Cluster, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let status = GroupsStatus::of(cluster);
    output.figures(|sheet| report::groups::metrics::tell_status(sheet, &status, cluster));
    if options.dot {
        output.write(&draw::dot(&status, cluster))?;
    } else if options.svg {
        output.write(&draw::svg(&status, cluster))?;
    } else if options.output.json {
        output.write(&json::text(&report::groups::status::json::document(&status, cluster))?)?;
    } else {
        let lines = status_view::text(&status, cluster, options.load.verbosity);
        lines.iter().try_for_each(|line| output.line(line))?;
    }
    print_nodes("Cluster", options, cluster, output)?;
    reporting::write(SPEC.name, &options.output, || {
        Ok(report::groups::plan::html::status(&status, cluster))
    })?;
    Ok(ExitStatus::Success)
}

/// A plan and its descriptions.
struct RegroupPlan<'p> {
    steps: &'p [Step],
    jobsets: Vec<Jobset>,
    /// Description for people.
    lines: Vec<String>,
    /// Bound of what any plan achieves, with `--proof`.
    bound: Option<String>,
    /// The JSON document, with `--json`.
    document: Option<RegroupDocument>,
    after: &'p Cluster,
    /// True if the request could be planned.
    success: bool,
    /// Cause of an early end of the search, if any.
    stopped: Option<Stopped>,
    /// For `--report`: the moves with their purposes, and a further section.
    page: Option<(Vec<PlannedMove>, Option<Section>)>,
}

/// Runs a search that ends at the time limit or at an interrupt. Afterwards an interrupt ends the program again.
fn search<F>(options: &HgroupOptions, find: impl FnOnce(&Deadline) -> F) -> anyhow::Result<F> {
    let deadline = Interruptible::begin(options.limits.time_limit)?;
    let _progress = Progress::start();
    Ok(find(&deadline))
}

fn heal(options: &HgroupOptions, cluster: &Cluster, output: &mut Output) -> anyhow::Result<Planned> {
    let found = search(options, |deadline| redistribute_until(cluster, &options.regroup(), deadline))?;
    let storage = StorageMap::of(cluster);
    let steps: Vec<Step> = found.steps().copied().collect();
    tell(&RegroupFound::Redistribution(&found), &steps, cluster, output);
    let jobsets = jobsets(cluster, &steps);
    let plan = RegroupPlan {
        lines: view::redistribution(&found, cluster, &storage, options.load.verbosity),
        bound: None,
        document: wanted(options, || {
            report::groups::plan::json::redistribution(cluster, &storage, &found, &steps, &jobsets)
        })?,
        steps: &steps,
        jobsets,
        after: &found.after,
        success: found.heals_all(),
        stopped: found.stopped,
        page: options.output.report.is_some().then(|| {
            (
                report::groups::plan::html::healing_moves(&found, cluster),
                report::groups::plan::html::repairs(&found, cluster),
            )
        }),
    };
    finish(options, cluster, &plan, output)
}

fn empty(options: &HgroupOptions, cluster: &Cluster, output: &mut Output) -> anyhow::Result<Planned> {
    let groups = match &options.limits.group {
        None => cluster.groups_with_nodes(),
        Some(key) => vec![group::named(cluster, key)?],
    };
    let regroup = options.regroup();
    let (found, proof): (Compression, Option<EmptyingProof>) = search(options, |deadline| {
        let found = compress_until(cluster, &groups, &regroup, deadline);
        let proof = options.proof.then(|| found.proof(cluster, &regroup, deadline));
        (found, proof)
    })?;
    let storage = StorageMap::of(cluster);
    let planned = options.evacuate || options.limits.group.is_some();
    let chosen: Option<&GroupCandidate> = found.choice().filter(|_| planned);
    let after = chosen.map_or_else(|| cluster.clone(), |candidate| candidate.after(cluster, &regroup));
    let steps = chosen.map_or(&[][..], GroupCandidate::steps);
    tell(&RegroupFound::Compression(&found), steps, cluster, output);
    let jobsets = jobsets(cluster, steps);
    let plan = RegroupPlan {
        lines: view::compression(&found, chosen, cluster, &storage, options.load.verbosity),
        bound: proof.as_ref().map(|proof| view::emptying_bound(proof, cluster)),
        document: wanted(options, || {
            let outcome = CompressionOutcome { found: &found, chosen, proof: proof.as_ref() };
            report::groups::plan::json::compression(cluster, &storage, outcome, &jobsets)
        })?,
        steps,
        jobsets,
        after: &after,
        success: chosen.is_some() || !planned,
        stopped: found.stopped,
        page: options.output.report.is_some().then(|| {
            (
                report::groups::plan::html::emptying_moves(chosen, cluster),
                report::groups::plan::html::candidates(&found, cluster),
            )
        }),
    };
    finish(options, cluster, &plan, output)
}

fn even_out(options: &HgroupOptions, cluster: &Cluster, output: &mut Output) -> anyhow::Result<Planned> {
    let found = search(options, |deadline| balance_until(cluster, &options.group_balance(), deadline))?;
    tell(&RegroupFound::Balance(&found), &found.steps, cluster, output);
    let jobsets = jobsets(cluster, &found.steps);
    let plan = RegroupPlan {
        lines: view::balance(&found, cluster),
        bound: None,
        document: wanted(options, || report::groups::plan::json::balance(cluster, &found, &jobsets))?,
        steps: &found.steps,
        jobsets,
        after: &found.after,
        success: true,
        stopped: found.stopped,
        page: options.output.report.is_some().then(|| {
            (
                report::groups::plan::html::balancing_moves(&found),
                report::groups::plan::html::loads(&found, cluster),
            )
        }),
    };
    finish(options, cluster, &plan, output)
}

/// Collects the figures of a plan.
fn tell(found: &RegroupFound<'_>, steps: &[Step], cluster: &Cluster, output: &mut Output) {
    output.figures(|sheet| report::groups::metrics::tell_plan(sheet, found, steps, cluster));
}

/// The document of a plan, with `--json`. It contains commands, so every name must be valid in Ganeti.
fn wanted(
    options: &HgroupOptions,
    document: impl FnOnce() -> Result<RegroupDocument, Impossible>,
) -> Result<Option<RegroupDocument>, Impossible> {
    options.output.json.then(document).transpose()
}

/// Prints a plan, writes its files, and proposes it for execution.
fn finish(
    options: &HgroupOptions,
    cluster: &Cluster,
    plan: &RegroupPlan<'_>,
    output: &mut Output,
) -> anyhow::Result<Planned> {
    if let Some(stopped) = plan.stopped {
        let moves = counted(plan.steps.len(), "move");
        output.error_line(&format!("{} ended the search; the plan has {moves}", stopped.subject()))?;
    }
    print_nodes("Initial cluster", options, cluster, output)?;
    let lines = match options.output.commands {
        Some(_) => {
            let work = Work::of(cluster, plan.steps, &plan.jobsets, CheckOptions::default())?;
            plan_lines(&work, None)?
        }
        None => Vec::new(),
    };
    if let Some(CommandTarget::File(path)) = &options.output.commands {
        write_whole(path, &shell::script(REGROUP_TITLE, "job", &lines))?;
    }
    let executes = options.execution.wants_work() && (!options.execution.exec || !plan.steps.is_empty());
    let prints_plan = options.execution.prints_document();
    let mut document = plan.document.as_ref().map(json::text).transpose()?.map(Printout::Text);
    if options.output.json {
        // If plans are made repeatedly, only the last one's document is printed.
        if !executes {
            document.take().map_or(Ok(()), |document| document.print(output.stdout()))?;
        }
    } else if !prints_plan {
        let quiet = options.load.verbosity < 1;
        let shown = if quiet { &plan.lines[plan.lines.len().saturating_sub(1)..] } else { &plan.lines[..] };
        shown.iter().chain(&plan.bound).try_for_each(|line| output.line(line))?;
        commands::show(
            options.output.commands.as_ref(),
            "Commands to run:",
            || shell::listing(&lines),
            output,
        )?;
    }
    save_cluster(options.output.save.as_deref(), "regrouped", "after hgroup run", plan.after, output)?;
    print_nodes("Final cluster", options, plan.after, output)?;
    let is_summed_up =
        summing_up::is_wanted(options.output.summary, options.output.json, &options.load, output);
    if is_summed_up || plan.page.is_some() {
        let work = summing_up::work_of(cluster, plan.steps, &plan.jobsets);
        let table = summing_up::times_of(work.as_ref(), &options.execution, true)?;
        if is_summed_up {
            summing_up::of_moves(cluster, plan.after, plan.steps, table.as_ref(), output)?;
        }
        if let Some((moves, section)) = &plan.page {
            write_page(options, cluster, plan, moves, section.as_ref(), table.as_ref())?;
        }
    }
    let status = match (plan.success, options.output.detailed_status && !plan.steps.is_empty()) {
        (false, _) => ExitStatus::Failure,
        (true, true) => ExitStatus::Planned,
        (true, false) => ExitStatus::Success,
    };
    if executes {
        let how = (plan.stopped, plan.success);
        let proposal = proposed(options, cluster, (plan.steps, &plan.jobsets), how, document, status)?;
        return Ok(Continue(Box::new(proposal)));
    }
    Ok(Break(status))
}

/// Writes the HTML report of a plan.
fn write_page(
    options: &HgroupOptions,
    cluster: &Cluster,
    plan: &RegroupPlan<'_>,
    moves: &[PlannedMove],
    section: Option<&Section>,
    table: Option<&Timetable<'_>>,
) -> anyhow::Result<()> {
    let moments = [cluster, plan.after].map(Moment::of_groups);
    let report = PlanReport {
        before: (cluster, &moments[0]),
        after: (plan.after, &moments[1]),
        nodes: &cluster.all_nodes(),
        moves,
        table,
        stopped: plan.stopped,
    };
    let title = match options.command {
        GroupCommand::Compress => "Emptying node groups",
        GroupCommand::Redistribute => "Healing node groups",
        GroupCommand::Balance | GroupCommand::Status => "Balancing between node groups",
    };
    let outcome = plan.lines.last().into_iter().chain(&plan.bound).cloned().collect::<Vec<_>>().join(" ");
    let groups = report::groups::plan::html::groups(cluster, plan.after, !plan.steps.is_empty(), true);
    let more = section.cloned().into_iter().chain(groups).collect();
    reporting::write(SPEC.name, &options.output, || {
        Ok(report.page(PageHead { title: title.to_owned(), outcome, change: None }, more, None))
    })
}

fn print_nodes(
    title: &str,
    options: &HgroupOptions,
    cluster: &Cluster,
    output: &mut Output,
) -> anyhow::Result<()> {
    let Some(fields) = &options.output.print_nodes else { return Ok(()) };
    Ok(lists::nodes(output, title, cluster, &cluster.all_nodes(), fields)?)
}
