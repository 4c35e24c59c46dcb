//! From a loaded cluster to the plans and their views.

use anyhow::{Context, bail};

use super::approved;
use super::commands::{all_lines, calls};
use super::execute::{ClusterAccess, execute};
use super::interruptions::Interruptions;
use super::planning::{Planning, show_text};
use super::squeeze_run::HsqueezeEnd;
use super::{ExitStatus, HsqueezeOptions, SPEC};
use crate::model::{Cluster, GroupIdx, Step};
use crate::plan::command::SQUEEZE_TITLE;
use crate::plan::shell;
use crate::plan::work::Work;
use crate::report;
use crate::report::balance::plan::html::PlanReport;
use crate::report::balance::plan::steps::PlannedMove;
use crate::report::cluster::summary::Moment;
use crate::report::form::file::write_whole;
use crate::report::form::json;
use crate::report::squeeze::json::{SqueezeCommands, document};
use crate::report::squeeze::text::{self as view, GroupResult};
use crate::report::timetable::Timetable;
use crate::search::Stopped;
use crate::search::squeeze::standby::Sizes;
use crate::search::squeeze::{
    Decision, GroupPlan, Squeeze, SqueezeOptions, SqueezeProgress, SqueezeWatch, squeeze_watched,
};
use crate::tools::execution::{Consent, ask, shown};
use crate::tools::hint::Complaint;
use crate::tools::interrupts::Interruptible;
use crate::tools::options::CommandTarget;
use crate::tools::output::Output;
use crate::tools::pacemaker::{CibOrigin, breaks_limits, cib_script, step_commands};
use crate::tools::save::save_cluster;
use crate::tools::{commands, group, progress, reporting, source, summing_up};

/// Refuses reserves that would power nodes up and down in turns.
pub(super) fn check_reserves(options: &HsqueezeOptions) -> anyhow::Result<()> {
    let (minimal, target) = (options.minimal(), options.target());
    // The comparison is written so that it also refuses NaN.
    if !(target >= minimal) {
        bail!(
            "--target-resources ({target}) is less than --minimal-resources ({minimal}): \
             each run would power up the nodes that the last one powered down"
        );
    }
    Ok(())
}

/// Warns of minimal and target reserves without a gap between them.
pub(super) fn warn_of_reserves(options: &HsqueezeOptions, output: &mut Output) -> anyhow::Result<()> {
    let (minimal, target) = (options.minimal(), options.target());
    if target <= minimal {
        let cause = match (options.minimal, options.target) {
            (Some(_), _) => format!("--target-resources is no more than --minimal-resources ({minimal})"),
            (None, Some(_)) => format!("--minimal-resources follows --target-resources ({target})"),
            (None, None) => {
                format!("--minimal-resources and --target-resources are both {minimal} by default")
            }
        };
        output.error_line(&format!(
            "Warning: {cause}: small changes of load may power nodes down and up in turns"
        ))?;
    }
    Ok(())
}

/// Reads the sizes in the file of `--standby-data`.
pub(super) fn known_sizes(options: &HsqueezeOptions) -> anyhow::Result<Sizes> {
    let Some(path) = &options.standby_data else { return Ok(Sizes::default()) };
    let raw = source::read_text(path, &options.load).map_err(|error| error.context("--standby-data"))?;
    Ok(Sizes::of(&raw.nodes))
}

/// Makes the plans, shows them, and executes them with `--exec`.
pub(super) fn run(
    planning: &Planning<'_>,
    access: Option<ClusterAccess>,
    cluster: &Cluster,
    cib: Option<&CibOrigin>,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let options = planning.options;
    let groups = groups(options, cluster)?;
    save_cluster(options.output.save.as_deref(), "original", "before hsqueeze run", cluster, output)?;
    let mut asked = planning.asked(cluster, 0, &[]);
    let mut found = search(options, cluster, &groups, &asked)?;
    while cib.is_some() && breaks_limits(cluster, &found) {
        // Switching fewer nodes leaves more room for the moves.
        let switched: usize = found.plans.iter().map(|plan| plan.nodes.len()).sum();
        let fewer = switched.checked_sub(1);
        asked.max_nodes = Some(fewer.context("no order of the moves respects the limits of Pacemaker")?);
        found = search(options, cluster, &groups, &asked)?;
    }
    output.figures(|sheet| report::squeeze::metrics::tell(sheet, &found, cluster));
    if let Some(stopped) = found.stopped {
        output.error_line(&format!("{} ended the search early", stopped.subject()))?;
    }
    let interruptions = Interruptions::of(planning, cluster, &found)?;
    interruptions.warn(output)?;
    if !options.execution.prints_document() {
        show(planning, &asked, cluster, cib, &found, output)?;
    }
    let execution = &options.execution;
    if execution.print_plan.is_some() || execution.save_plan.is_some() || options.approved.is_some() {
        let work = approved::whole(planning, cluster, &found)?;
        show_graph(options, &work, output)?;
        options.approved.as_ref().map_or(Ok(()), |plan| plan.compare(&work, output))?;
        approved::save(planning, cluster, &found, &work, output)?;
    }
    let is_summed_up =
        summing_up::is_wanted(options.output.summary, options.output.json, &options.load, output);
    if is_summed_up || options.output.report.is_some() {
        let work = approved::whole(planning, cluster, &found).ok();
        let table = summing_up::times_of(work.as_ref(), &options.execution, cib.is_none())?;
        if is_summed_up {
            let steps: Vec<Step> = found.plans.iter().flat_map(|plan| &plan.steps).copied().collect();
            summing_up::of_moves(cluster, &found.after, &steps, table.as_ref(), output)?;
        }
        write_page(options, cluster, &found, table.as_ref())?;
    }
    let idle = found.plans.iter().all(GroupPlan::is_idle);
    let mut status =
        if options.output.detailed_status && !idle { ExitStatus::Planned } else { ExitStatus::Success };
    if options.execution.exec && !idle && found.stopped == Some(Stopped::Interrupt) {
        output.error_line("Nothing was executed, because the search was interrupted.")?;
        return Ok(ExitStatus::Failure);
    }
    if let Some(cib) = cib.filter(|_| options.execution.exec && !idle) {
        return switch_in_pacemaker(options, cib, cluster, &found, output);
    }
    if let Some(access) = access.filter(|_| !idle) {
        interruptions.check_source(options)?;
        let question = view::summary(&view::planned(&found, cluster), view::Tense::Planned);
        let consented = options.execution.yes
            || ask(&format!("{question}. Execute?"), output)? == Consent::Yes
                && interruptions.consented(output)? == Consent::Yes;
        if !consented {
            output.error_line("Nothing was executed.")?;
            return Ok(ExitStatus::Failure);
        }
        status = carry_out(planning, access, cluster, &found, output)?;
    }
    save_cluster(options.output.save.as_deref(), "squeezed", save_label(&found), &found.after, output)?;
    Ok(status)
}

/// Writes the HTML report of the plans, with `--report`.
fn write_page(
    options: &HsqueezeOptions,
    cluster: &Cluster,
    found: &Squeeze,
    table: Option<&Timetable<'_>>,
) -> anyhow::Result<()> {
    reporting::write(SPEC.name, &options.output, || {
        let moments = [cluster, &found.after].map(Moment::of_groups);
        let moves: Vec<PlannedMove> =
            found.plans.iter().flat_map(|plan| report::squeeze::html::moves(plan, cluster)).collect();
        let report = PlanReport {
            before: (cluster, &moments[0]),
            after: (&found.after, &moments[1]),
            nodes: &cluster.all_nodes(),
            moves: &moves,
            table,
            stopped: found.stopped,
        };
        let head = report::squeeze::html::head(found);
        let changes = !found.plans.iter().all(GroupPlan::is_idle);
        let groups = report::groups::plan::html::groups(cluster, &found.after, changes, false);
        let more = report::squeeze::html::section(found, cluster).into_iter().chain(groups).collect();
        Ok(report.page(head, more, None))
    })
}

/// Makes the plans within the time limit and shows the progress on a terminal.
fn search(
    options: &HsqueezeOptions,
    cluster: &Cluster,
    groups: &[GroupIdx],
    asked: &SqueezeOptions,
) -> anyhow::Result<Squeeze> {
    // After the search, an interrupt ends the program again.
    let deadline = Interruptible::begin(options.limits.time_limit)?;
    let line = progress::Progress::start();
    let tell = |SqueezeProgress { looked_at, candidates, freed }: SqueezeProgress| {
        line.say(format!("{looked_at} of {candidates} nodes looked at, {freed} not needed"));
    };
    Ok(squeeze_watched(cluster, groups, asked, SqueezeWatch { deadline: &deadline, progress: &tell }))
}

/// Lets Pacemaker switch the nodes.
fn switch_in_pacemaker(
    options: &HsqueezeOptions,
    cib: &CibOrigin,
    cluster: &Cluster,
    found: &Squeeze,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    for plan in found.plans.iter().filter(|plan| !plan.is_idle()) {
        match cib.carry_out_switching(&options.execution, plan, output)? {
            ExitStatus::Success => {}
            status => return Ok(status),
        }
    }
    tell_done(options, &view::planned(found, cluster), output)?;
    Ok(if options.output.detailed_status { ExitStatus::Done } else { ExitStatus::Success })
}

fn tell_done(options: &HsqueezeOptions, results: &[GroupResult], output: &mut Output) -> anyhow::Result<()> {
    let summary = view::summary(results, view::Tense::Done);
    if options.load.verbosity < 1 && !options.output.json {
        output.line(&summary)?
    } else {
        output.error_line(&summary)?
    }
    Ok(())
}

fn carry_out(
    planning: &Planning<'_>,
    mut access: ClusterAccess,
    cluster: &Cluster,
    found: &Squeeze,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let options = planning.options;
    let HsqueezeEnd { results, problems, stopped } = execute(planning, &mut access, cluster, found, output)?;
    tell_done(options, &results, output)?;
    if !problems.is_empty() {
        output.flush()?;
        return Err(Complaint::joined(problems).under("hsqueeze").into());
    }
    Ok(match stopped {
        Some(status) => status,
        None if options.output.detailed_status && !results.is_empty() => ExitStatus::Done,
        None => ExitStatus::Success,
    })
}

fn groups(options: &HsqueezeOptions, cluster: &Cluster) -> anyhow::Result<Vec<GroupIdx>> {
    let Some(key) = &options.limits.group else { return Ok(cluster.groups_with_nodes()) };
    Ok(vec![group::named(cluster, key)?])
}

fn save_label(found: &Squeeze) -> &'static str {
    let any = |decision| found.plans.iter().any(|plan| plan.decision == decision);
    match (any(Decision::Condense), any(Decision::Expand)) {
        (true, _) => "after hsqueeze run",
        (false, true) => "after hsqueeze expansion",
        (false, false) => "after hsqueeze doing nothing",
    }
}

/// Shows the plans of all groups as one graph, with `--print-plan`.
fn show_graph(options: &HsqueezeOptions, work: &Work, output: &mut Output) -> anyhow::Result<()> {
    if options.execution.print_plan.is_none() {
        return Ok(());
    }
    let document = shown(&options.execution, work, options.output.json, output)?;
    Ok(document.map_or(Ok(()), |document| output.write(&document))?)
}

/// Prints the plans and writes their commands.
fn show(
    planning: &Planning<'_>,
    asked: &SqueezeOptions,
    cluster: &Cluster,
    cib: Option<&CibOrigin>,
    found: &Squeeze,
    output: &mut Output,
) -> anyhow::Result<()> {
    let options = planning.options;
    let level = options.load.verbosity;
    let wants_lines = (options.output.json || options.output.commands.is_some()) && cib.is_none();
    let lines = if wants_lines { all_lines(planning, cluster, found)? } else { Vec::new() };
    let for_cib = match (cib, &options.output.commands) {
        (Some(cib), Some(_)) => {
            let lines = found.plans.iter().map(|plan| cib.switch_commands(plan));
            Some(lines.collect::<anyhow::Result<Vec<_>>>()?.concat())
        }
        _ => None,
    };
    if let Some(CommandTarget::File(path)) = &options.output.commands {
        let script = |lines: &Vec<String>| cib_script(SPEC.name, lines);
        let script = for_cib.as_ref().map_or_else(|| shell::script(SQUEEZE_TITLE, "job", &lines), script);
        write_whole(path, &script)?;
    }
    if level > 1 {
        view::reasons(found, cluster).iter().try_for_each(|line| output.error_line(line))?;
    }
    if options.output.json {
        let of_plan = |plan: &GroupPlan| match cib {
            Some(cib) => cib.switch_calls(plan),
            None => Ok(calls(planning, cluster, plan)?),
        };
        let commands = SqueezeCommands { of_step: &step_commands(cluster, cib), of_plan: &of_plan };
        return Ok(output.write(&json::text(&document(cluster, asked, found, &commands)?)?)?);
    }
    if level >= 1 {
        show_text(options, cluster, found, output)?;
    } else if !options.execution.exec && !found.plans.iter().all(GroupPlan::is_idle) {
        output.line(&view::summary(&view::planned(found, cluster), view::Tense::Planned))?;
    }
    let lines = || for_cib.unwrap_or_else(|| shell::listing(&lines));
    commands::show(options.output.commands.as_ref(), "Commands to run:", lines, output)
}
