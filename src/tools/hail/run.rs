//! Handles one request: from the cluster to the response and its views.

use std::sync::Arc;

use anyhow::Context;

use super::{HailOptions, affinity, answer_within};
use crate::affinity::AffinityRule;
use crate::load::iallocator::Request;
use crate::load::text::writer::cluster_text;
use crate::model::{Cluster, InstanceIdx, RunStatus};
use crate::report::allocator::{Response, WishedAdditions, plan_lines, why_lines};
use crate::search::Deadline;
use crate::search::requests::{PrimaryRule, Reply, Settings, answer, is_dedicated};
use crate::tools::interrupts::Interruptible;
use crate::tools::listing;
use crate::tools::output::Output;
use crate::tools::save::save;

/// Answers a request. The response is written after everything that can fail, so a reader gets either all of it or
/// nothing.
pub(super) fn run(
    options: &HailOptions,
    primaries: Option<Arc<AffinityRule>>,
    cluster: Cluster,
    request: Request,
    output: &mut Output,
) -> anyhow::Result<()> {
    describe(options, &cluster, &request, output)?;
    let existing = cluster.all_instances();
    show("Initial", options, &cluster, output)?;
    if let Some(note) = saved(options, "pre-ialloc", "before iallocator run", &cluster, &existing)? {
        output.error_line(&note)?;
    }
    let single = matches!(request, Request::Allocate { .. });
    let wish = WishedAdditions { solutions: options.all_solutions && single, details: options.output.json };
    let reply = {
        let interruptible = Interruptible::begin(Some(answer_within(&options.limits)))?;
        answer(cluster, request, &settings(options, primaries.clone(), &interruptible))
    };
    let line = Response::of(&reply, wish).line().context("cannot write the response")?;
    explain(options, &reply, output)?;
    if let Some(rule) = primaries.filter(|_| options.load.verbosity > 1) {
        affinity::reasons(&rule, &reply).iter().try_for_each(|line| output.error_line(line))?;
    }
    let order = in_order(&reply, existing, single);
    let note = saved(options, "post-ialloc", "after iallocator run", &reply.cluster, &order)?;
    output.write(&line)?;
    output.flush()?;
    // The request is answered already, so failures of these views do not matter.
    let _ = show("Final", options, &reply.cluster, output);
    if let Some(note) = note {
        let _ = output.error_line(&note);
    }
    Ok(())
}

fn settings(options: &HailOptions, primaries: Option<Arc<AffinityRule>>, deadline: &Deadline) -> Settings {
    Settings {
        ignore_soft_errors: options.rules.ignore_soft_errors,
        no_capacity_checks: options.limits.no_capacity_checks,
        restrict_to: options.restrict_to.clone(),
        other_groups: options.other_groups,
        explain: options.output.json || options.load.verbosity > 1,
        make_room: options.make_room,
        primaries: primaries.map(|rule| -> Arc<dyn PrimaryRule> { rule }),
        deadline: deadline.clone(),
    }
}

/// Instances in the order in which they are saved: a single new one comes first.
fn in_order(reply: &Reply, existing: Vec<InstanceIdx>, single: bool) -> Vec<InstanceIdx> {
    let added = reply.added.clone();
    if single { [added, existing].concat() } else { [existing, added].concat() }
}

/// Describes the input at higher verbosity.
fn describe(
    options: &HailOptions,
    cluster: &Cluster,
    request: &Request,
    output: &mut Output,
) -> anyhow::Result<()> {
    let level = options.load.verbosity;
    if level > 1 {
        output.error_line(&format!("Received request: {}", request.summary(cluster)))?;
    }
    if level > 2 {
        let (groups, nodes, instances) = (cluster.groups.len(), cluster.nodes.len(), cluster.instances.len());
        let tags = cluster.tags.join(",");
        output.error_line(&format!(
            "Received cluster data: {groups} groups, {nodes} nodes, {instances} instances, tags: {tags}"
        ))?;
        for (status, count) in run_states(cluster) {
            output.error_line(&format!("  instances with runSt = {}: {count}", dump_name(status)))?;
        }
    }
    if level > 1 && is_dedicated(cluster, request) {
        output.error_line("Allocation on a dedicated cluster; using lost-allocations metrics.")?;
    }
    Ok(())
}

/// Number of instances in each state, in the order in which the states first occur.
fn run_states(cluster: &Cluster) -> Vec<(RunStatus, usize)> {
    let mut counts: Vec<(RunStatus, usize)> = Vec::new();
    for instance in &cluster.instances {
        match counts.iter_mut().find(|(status, _)| *status == instance.status) {
            Some((_, count)) => *count += 1,
            None => counts.push((instance.status, 1)),
        }
    }
    counts
}

/// Name of a state in the dumps of Ganeti's hail, which scripts look for.
fn dump_name(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "Running",
        RunStatus::AdminDown => "StatusDown",
        RunStatus::AdminOffline => "StatusOffline",
        RunStatus::ErrorDown => "ErrorDown",
        RunStatus::ErrorUp => "ErrorUp",
        RunStatus::ErrorNodeDown => "NodeDown",
        RunStatus::ErrorNodeOffline => "NodeOffline",
        RunStatus::ErrorWrongNode => "WrongNode",
        RunStatus::UserDown => "UserDown",
    }
}

/// At higher verbosity, lists the obstacles and how to make room.
fn explain(options: &HailOptions, reply: &Reply, output: &mut Output) -> anyhow::Result<()> {
    if options.load.verbosity > 1 {
        let why = reply.why.iter().flat_map(|why| why_lines(&reply.cluster, why));
        for line in why.chain(plan_lines(&reply.cluster, &reply.room)) {
            output.error_line(&line)?;
        }
    }
    Ok(())
}

fn show(when: &str, options: &HailOptions, cluster: &Cluster, output: &mut Output) -> anyhow::Result<()> {
    if let Some(fields) = &options.output.print_nodes {
        let title = format!("{when} cluster");
        listing::nodes(output, &title, cluster, &cluster.all_nodes(), fields)?;
    }
    Ok(())
}

/// Saves a state of the cluster with `-S`; returns a message about it.
fn saved(
    options: &HailOptions,
    suffix: &str,
    when: &str,
    cluster: &Cluster,
    instances: &[InstanceIdx],
) -> anyhow::Result<Option<String>> {
    let Some(prefix) = &options.output.save else { return Ok(None) };
    let content = cluster_text(cluster, &cluster.all_nodes(), instances);
    Ok(Some(save(prefix, suffix, when, &content)?))
}
