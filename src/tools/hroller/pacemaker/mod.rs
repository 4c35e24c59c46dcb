//! `hroller` on Pacemaker clusters: groups of nodes that can be in standby together.

mod carry;
mod site;

use anyhow::{anyhow, bail, ensure};

use super::need::Needless;
use super::{ExitStatus, HrollerOptions, MaintainOptions, maintain};
use crate::model::shown::shown_name;
use crate::pacemaker::execute::LocalCluster;
use crate::pacemaker::execute::maintenance::CibMaintenanceClient;
use crate::pacemaker::rolling::{ClusterVotes, NodeHold, StandbyPlan, StandbyPlanner, StandbyRules};
use crate::report::form::file::write_whole;
use crate::report::form::json;
use crate::report::pacemaker::commands::CommandForm;
use crate::report::pacemaker::rolling::{commands, document, moves};
use crate::tools::execution::check_journal;
use crate::tools::hint::WithHint;
use crate::tools::hplace::cluster::{ClusterOrigin, ReadCib, WhatIf, read_cib};
use crate::tools::options::CommandTarget;
use crate::tools::output::Output;
use crate::tools::{ahead, commands as shown_commands, pacemaker};

/// Options that do not apply to Pacemaker clusters, besides those of other tools.
const OF_GANETI: [&str; 29] = [
    "offline-maintenance",
    "node-tags",
    "group",
    "full-evacuation",
    "skip-non-redundant",
    "ignore-non-redundant",
    "force",
    "static-kvm-node-memory",
    "migrate-shared",
    "honour-run-state",
    "upgrade-order",
    "migrate-to",
    "save-plan",
    "reboot-by",
    "master-command",
    "skip-master",
    "mark",
    "return",
    "max-parallel",
    "max-out-per-node",
    "max-in-per-node",
    "max-syncs",
    "max-per-group",
    "reason",
    "priority",
    "json-events",
    "bandwidth",
    "sync-rate",
    "report",
];

/// Refuses options that do not go together.
fn check(options: &HrollerOptions) -> anyhow::Result<()> {
    let HrollerOptions { cib, load, execution, output, .. } = options;
    output.refuse(&OF_GANETI, "does not apply to Pacemaker clusters")?;
    pacemaker::check(cib, load, None, output)?;
    maintain::check(options)?;
    if execution.exec || execution.resume.is_some() {
        ensure!(
            cib.live,
            anyhow!("option --{} needs a live cluster", if execution.exec { "exec" } else { "resume" })
                .hint("use --live on a node of the cluster")
        );
        ensure!(!output.json, "options --json and --exec exclude each other");
    }
    if execution.exec {
        check_journal(execution.journal.as_deref())?;
    }
    Ok(ahead::files(output, &[])?)
}

/// Plans the maintenance, carries it out with `--exec`, or goes on with one.
///
/// # Errors
/// Mistakes in the options or the cluster, and failures of the run.
pub(super) fn run(options: &HrollerOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    check(options)?;
    if let Some(journal) = &options.execution.resume {
        return carry::resume(options, journal, output);
    }
    let cib = read_cib(
        &ClusterOrigin::named(&options.load, &options.cib)?,
        &options.cib,
        WhatIf::default(),
        output,
    )?;
    let plan = plan(options, &cib, output)?;
    for held in &plan.held {
        output.error_line(&format!("Warning: {} is left out: {}", shown_name(&held.node), held.why))?;
    }
    ensure!(
        !plan.batches.is_empty(),
        "no node can be in standby while the others run all resources and keep quorum"
    );
    let shown = if options.one_step_only { 1 } else { plan.batches.len() };
    show(options, &cib, &plan, shown, output)?;
    if options.execution.exec {
        return carry::carry_out(options, &cib, &plan.batches[..shown], output);
    }
    Ok(ExitStatus::Success)
}

/// The plan for all nodes of the cluster that need maintenance.
fn plan(options: &HrollerOptions, cib: &ReadCib, output: &mut Output) -> anyhow::Result<StandbyPlan> {
    let ReadCib { text, source, set } = cib;
    let mut last: Vec<String> = set.coordinator.iter().map(|host| set.host(*host).name.clone()).collect();
    let mut votes = None;
    if options.cib.live {
        votes = LocalCluster.votes()?;
        // The node of this program comes after all others, as its reboot ends the program.
        if let Some(own) = LocalCluster.own_node()? {
            last.retain(|node| *node != own);
            last.push(own);
        }
    } else if set.hosts.iter().filter(|host| host.is_member()).count() == 2 && !set.ignores_quorum {
        output.error_line(
            "Warning: with two nodes, the plan supposes that one is enough for quorum (corosync's two_node)",
        )?;
    }
    let votes = votes.unwrap_or_else(|| ClusterVotes::of(set));
    let most = options.rolling.max_down.map_or(usize::MAX, std::num::NonZeroUsize::get);
    let rules = StandbyRules { spare: votes.spare_nodes(), most, last };
    let remote =
        set.hosts.iter().filter(|host| host.stray || host.guest.is_some_and(|parts| parts.is_remote_node()));
    for host in remote {
        output.error_line(&format!(
            "Warning: {} is left out: {}",
            shown_name(&host.name),
            NodeHold::Remote
        ))?;
    }
    let mut nodes: Vec<String> =
        set.hosts.iter().filter(|host| host.is_member()).map(|host| host.name.clone()).collect();
    let MaintainOptions { command_timeout, .. } = options.maintain;
    let needless = Needless::among(&options.maintain.commands(), command_timeout, &nodes);
    needless.tell(output)?;
    nodes.retain(|node| !needless.has(node));
    if nodes.is_empty() {
        bail!("no node needs maintenance");
    }
    Ok(StandbyPlanner::new(text, source, &rules)?.all(&nodes)?)
}

/// Shows the first groups of a plan.
fn show(
    options: &HrollerOptions,
    cib: &ReadCib,
    plan: &StandbyPlan,
    shown: usize,
    output: &mut Output,
) -> anyhow::Result<()> {
    let form = options.cib.commands.unwrap_or(CommandForm::Cib);
    let batches = &plan.batches[..shown];
    let mut lines = Vec::new();
    if options.output.commands.is_some() {
        for (number, batch) in (1..).zip(batches) {
            lines.push(format!("# Group {number}: {}", batch.nodes.join(", ")));
            lines.extend(commands(form, &cib.set, batch)?);
        }
    }
    if let Some(CommandTarget::File(path)) = &options.output.commands {
        let script = format!(
            "#!/bin/sh\n\n# Reboots the nodes of a Pacemaker cluster, group after group\n\nset -e\n\n{}\n",
            lines.join("\n")
        );
        write_whole(path, &script)?;
    }
    if options.output.json {
        return Ok(output.write(&json::text(&document(form, &cib.set, plan, shown)?)?)?);
    }
    if !options.output.no_headers {
        output.line(if options.one_step_only { "'First Reboot Group'" } else { "'Node Reboot Groups'" })?;
    }
    for batch in batches {
        let names: Vec<String> = batch.nodes.iter().map(|node| shown_name(node).to_string()).collect();
        if options.one_step_only {
            names.iter().try_for_each(|name| output.line(name))?
        } else {
            output.line(&names.join(","))?
        }
        if options.print_moves {
            moves(batch).iter().try_for_each(|line| output.line(line))?;
        }
    }
    let heading = "Commands to run for this maintenance:";
    shown_commands::show(options.output.commands.as_ref(), heading, || lines, output)
}
