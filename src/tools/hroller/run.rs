//! A plan of a maintenance: from a loaded cluster to the groups and their views.

use std::io::{self, IsTerminal};

use anyhow::{anyhow, bail};

use super::need::Needless;
use super::{ExitStatus, HrollerOptions, MaintainOptions, PURPOSE, SPEC, maintain};
use crate::load::merge::apply_node_options;
use crate::load::text::writer::whole_cluster_text;
use crate::model::shown::shown_name;
use crate::model::{Cluster, GroupIdx, InstanceIdx, Node, NodeIdx};
use crate::plan::rolling::RollingFigures;
use crate::plan::rolling::{Reboots, SCRIPT_TITLE};
use crate::plan::shell;
use crate::plan::stream::PlanSchedule;
use crate::report;
use crate::report::form::file::write_whole;
use crate::report::form::json;
use crate::report::rolling::html::RollingReport;
use crate::report::rolling::text::{bound_lines, graph_line, moves, node_names, statistics_line, stays_up};
use crate::report::timetable::Timetable;
use crate::search::rolling::safe::{SafePlan, SafePlanner, TimedPlanner};
use crate::search::rolling::{Conflicts, NoPlan, Part, RollingOptions, is_stopped};
use crate::tools::execution::{PlanToSave, save_plan};
use crate::tools::hint::WithHint;
use crate::tools::options::CommandTarget;
use crate::tools::output::Output;
use crate::tools::save::save;
use crate::tools::{commands, execution, group, reporting};

/// Most names that an error message lists.
const NAMES: usize = 5;

/// Plans the maintenance.
pub(super) fn run(
    options: &HrollerOptions,
    cluster: &mut Cluster,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    check_master(options, cluster, output)?;
    // The saved state is the cluster as it was read.
    let as_read = options.output.save.as_ref().map(|prefix| (prefix, whole_cluster_text(cluster)));
    apply_node_options(cluster, &options.load.nodes)?;
    if let Some((prefix, content)) = as_read {
        output.error_line(&save(prefix, "original", "before hroller run", &content)?)?;
    }
    let (selected, upgraded) = needy(options, cluster, select(options, cluster)?, output)?;
    check_running(options, cluster, &selected, output)?;
    let level = options.load.verbosity;
    let refused = |why| no_plan(cluster, why, level > 1 || io::stderr().is_terminal());
    let conflicts = Conflicts::among(cluster, &selected, &options.rolling).map_err(refused)?;
    if level > 2 && !options.output.json && !options.execution.prints_document() {
        output.line(&graph_line(&conflicts.graph))?;
    }
    let is_safe = options.execution.exec || options.rolling.max_down.is_some() || options.upgrade_order;
    let safe = is_safe.then(|| safe_plan(options, cluster, &selected, upgraded, output)).transpose()?;
    let parts = match &safe {
        Some((_, plan)) => plan.parts.clone(),
        None => conflicts.plan(cluster, &options.rolling).map_err(refused)?,
    };
    let shown = if options.one_step_only { &parts[..parts.len().min(1)] } else { &parts[..] };
    let is_planned =
        options.output.json || options.output.commands.is_some() || options.output.report.is_some();
    let is_planned = is_planned || options.execution.print_plan.is_some() || is_safe;
    let is_planned = is_planned || options.execution.save_plan.is_some() || options.approved.is_some();
    let planned = if is_planned { shown } else { &[] };
    let planned = planned.iter().map(|part| (&part.nodes[..], &part.moves[..]));
    let reboots = Reboots::of(cluster, planned, options.rolling.offline_maintenance)?;
    let lines = reboots.lines()?;
    if let Some(CommandTarget::File(path)) = &options.output.commands {
        write_whole(path, &shell::script(SCRIPT_TITLE, "group", &lines))?;
    }
    reporting::write(SPEC.name, &options.output, || {
        let rates = execution::rates(&options.execution)?;
        let table = Timetable::of(&reboots.work, rates, options.execution.limits);
        let groups: Vec<_> = shown.iter().zip(reboots.lines_by_group()?).collect();
        let report =
            RollingReport { cluster, groups: &groups, count: parts.len(), reboots: &reboots, table: &table };
        Ok(report.page())
    })?;
    options.approved.as_ref().map_or(Ok(()), |plan| plan.compare(&reboots.work, output))?;
    if let Some(path) = &options.execution.save_plan {
        let mut groups: Vec<GroupIdx> = selected.iter().map(|node| cluster.node(*node).spec.group).collect();
        groups.sort_unstable();
        groups.dedup();
        let work = &reboots.work;
        let plan = PlanToSave { before: cluster, groups: &groups, group: "", purpose: PURPOSE, work };
        save_plan(&maintain::context(options), &plan, path)?;
        output.error_line(&format!("The plan has been written to '{}'", path.display()))?;
    }
    let steps = if options.execution.exec && options.execution.print_plan.is_some() {
        &maintain::work(options, cluster, shown)?
    } else {
        &reboots.work
    };
    if options.execution.prints_document() {
        let document = execution::shown(&options.execution, steps, true, output)?;
        document.map_or(Ok(()), |document| output.write(&document))?;
    } else if options.output.json {
        let groups: Vec<_> = shown.iter().zip(reboots.lines_by_group()?).collect();
        let document = report::rolling::json::document(cluster, &conflicts, parts.len(), &groups);
        output.write(&json::text(&document)?)?;
    } else {
        if level > 1 {
            output.line(&statistics_line(&conflicts.colourings))?;
        }
        print(options, cluster, shown, output)?;
        let heading = "Commands to run for this maintenance:";
        let listing = || shell::listing(&[vec![shell::Line::Blank], lines].concat());
        commands::show(options.output.commands.as_ref(), heading, listing, output)?;
    }
    if options.execution.print_plan.is_some() && !options.execution.prints_document() {
        execution::shown(&options.execution, steps, options.output.json, output)?;
    }
    if let Some((planner, plan)) = safe.filter(|_| level >= 1 && !options.one_step_only) {
        let seconds = execution::rates(&options.execution)?.of(&reboots.work);
        let total = PlanSchedule::best(&reboots.work, &seconds, options.execution.limits).1.total();
        let postponed: Vec<NodeIdx> = plan.postponed.iter().map(|out| out.node).collect();
        let slowest = planner.slowest(&plan);
        let figures = RollingFigures { batches: parts.len(), seconds: total, slowest, postponed: &postponed };
        output.error_lines(bound_lines(cluster, &planner.bound(), &figures))?;
    }
    if options.execution.exec {
        // Nodes that cannot be down now may be able to later; if not, the run ends with their names.
        let first = shown.first().filter(|_| options.one_step_only);
        let mut nodes = first.map_or(selected, |part| part.nodes.clone());
        nodes.sort_unstable();
        return maintain::carry_out(options, cluster, &nodes, shown.len(), output);
    }
    Ok(ExitStatus::Success)
}

/// The selected nodes that need maintenance by the operator's commands, and those that do not.
fn needy(
    options: &HrollerOptions,
    cluster: &Cluster,
    selected: Vec<NodeIdx>,
    output: &mut Output,
) -> anyhow::Result<(Vec<NodeIdx>, Vec<NodeIdx>)> {
    let name = |node: &NodeIdx| &cluster.node(*node).spec.name;
    let names: Vec<String> = selected.iter().map(name).cloned().collect();
    let MaintainOptions { command_timeout, .. } = options.maintain;
    let needless = Needless::among(&options.maintain.commands(), command_timeout, &names);
    needless.tell(output)?;
    Ok(selected.into_iter().partition(|node| !needless.has(name(node))))
}

/// A plan by which the nodes that stay up keep their redundancy, and its planner. The nodes in `upgraded` need no
/// maintenance. Nodes that cannot be down even alone
/// are left out, with a warning.
fn safe_plan<'c>(
    options: &HrollerOptions,
    cluster: &'c Cluster,
    selected: &[NodeIdx],
    upgraded: Vec<NodeIdx>,
    output: &mut Output,
) -> anyhow::Result<(TimedPlanner<'c>, SafePlan)> {
    let rolling = RollingOptions { keeps_redundancy: true, ..options.rolling };
    let planner = SafePlanner::new(cluster, selected, &rolling, 0)?.with_upgraded(upgraded);
    let planner = planner.timed(&execution::rates(&options.execution)?, options.execution.limits)?;
    let plan = planner.plan();
    for out in &plan.left_out {
        let name = shown_name(&cluster.node(out.node).spec.name).to_string();
        output.error_line(&format!("Warning: {name} is left out: {}", stays_up(cluster, out.why)))?;
    }
    if plan.parts.is_empty() {
        bail!("no node can be down while the others keep their redundancy");
    }
    Ok((planner, plan))
}

/// Checks that there is exactly one master. With `--force`, none is enough.
fn check_master(options: &HrollerOptions, cluster: &Cluster, output: &mut Output) -> anyhow::Result<()> {
    let masters: Vec<&str> =
        cluster.nodes.iter().filter(|n| n.spec.master).map(|n| n.spec.name.as_str()).collect();
    match masters[..] {
        [_] => Ok(()),
        [] if options.force => {
            Ok(output.error_line("Warning: no master node found; the source may not know it")?)
        }
        [] => {
            Err(anyhow!("No master node found; the source may not know it").hint("-f plans without a master"))
        }
        _ => bail!("Found more than one master node: {}", some_names(&masters)),
    }
}

/// The nodes to plan for, in the cluster's order.
fn select(options: &HrollerOptions, cluster: &Cluster) -> anyhow::Result<Vec<NodeIdx>> {
    let group = options.limits.group.as_ref().map(|key| group::named(cluster, key)).transpose()?;
    let tagged = |tags: &[String]| {
        options.node_tags.as_ref().is_none_or(|wanted| wanted.iter().any(|tag| tags.contains(tag)))
    };
    let tied = |i: &InstanceIdx| options.rolling.is_non_redundant(cluster.instance(*i));
    let is_skipped = |node: &Node| options.maintain.skip_master && node.spec.master;
    let nodes = cluster.nodes.iter().filter(|node| {
        !node.spec.offline
            && !is_skipped(node)
            && group.is_none_or(|group| node.spec.group == group)
            && tagged(&node.spec.tags)
            && !(options.skip_non_redundant && node.state.primaries.iter().any(tied))
    });
    Ok(nodes.map(|node| node.spec.idx).collect())
}

/// With `--honour-run-state`, refuses running instances on nodes that go down with their instances; `--force` only
/// warns.
fn check_running(
    options: &HrollerOptions,
    cluster: &Cluster,
    selected: &[NodeIdx],
    output: &mut Output,
) -> anyhow::Result<()> {
    if !options.rolling.honour_run_state || !options.rolling.offline_maintenance {
        return Ok(());
    }
    let primaries = selected.iter().flat_map(|n| &cluster.node(*n).state.primaries);
    let running = primaries.map(|i| cluster.instance(*i)).filter(|i| !is_stopped(i));
    let names: Vec<&str> = running.map(|i| i.name.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let text = format!("{} instances run on the nodes to be maintained: {}", names.len(), some_names(&names));
    if options.force {
        Ok(output.error_line(&format!("Warning: {text}"))?)
    } else {
        Err(anyhow!(text).hint("stop them first, or plan with them running with -f"))
    }
}

fn some_names(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(NAMES).map(|name| shown_name(name)).collect();
    let more = if names.len() > NAMES { ", ..." } else { "" };
    shown.join(", ") + more
}

/// Error for a missing plan, in the words that scripts look for. For people it also names the obstacle.
fn no_plan(cluster: &Cluster, why: NoPlan, for_people: bool) -> anyhow::Error {
    let node = |node| shown_name(&cluster.node(node).spec.name);
    let (known, detail) = match why {
        NoPlan::NoNodes => {
            ("Cannot create node graph", "no node to plan for: all are offline or not selected".to_owned())
        }
        NoPlan::NonRedundant { node: n } => {
            let detail = format!("node '{}' cannot be emptied of them", node(n));
            ("Not enough capacity to move non-redundant instances", detail)
        }
        NoPlan::Migration { instance } => {
            let name = shown_name(&cluster.instance(instance).name);
            let detail = format!("instance '{name}' cannot run on its secondary node");
            ("Failed to migrate instances off nodes", detail)
        }
        NoPlan::Secondaries { node: n } => {
            let detail = format!("node '{}' cannot be emptied of them", node(n));
            ("Not enough capacity to move secondaries", detail)
        }
    };
    if for_people { anyhow!("{known}: {detail}") } else { anyhow!("{known}") }
}

fn print(
    options: &HrollerOptions,
    cluster: &Cluster,
    parts: &[Part],
    output: &mut Output,
) -> anyhow::Result<()> {
    if !options.output.no_headers {
        output.line(if options.one_step_only { "'First Reboot Group'" } else { "'Node Reboot Groups'" })?;
    }
    for part in parts {
        let names = node_names(cluster, part);
        if options.one_step_only {
            names.iter().try_for_each(|name| output.line(name))?
        } else {
            output.line(&names.join(","))?
        }
        if options.print_moves {
            moves(cluster, part).iter().try_for_each(|line| output.line(line))?;
        }
    }
    Ok(())
}
