//! From a loaded cluster to the plans and their views.

use anyhow::{anyhow, bail};

use super::{ExitStatus, HsqueezeOptions};
use crate::model::{Cluster, GroupIdx, InstanceIdx};
use crate::plan::command::{Line, listing, script_titled};
use crate::plan::power::{SCRIPT_TITLE, commands};
use crate::report::file::write_whole;
use crate::report::squeeze as view;
use crate::report::{json, text::cluster_text};
use crate::search::squeeze::standby::Sizes;
use crate::search::squeeze::{Decision, GroupPlan, Squeeze, SqueezeOptions, squeeze};
use crate::tools::options::CommandTarget;
use crate::tools::output::Output;
use crate::tools::save::save;
use crate::tools::{group, source};

/// Refuses reserves with which nodes would go up and down in turns.
pub fn check_reserves(options: &HsqueezeOptions, output: &mut Output) -> anyhow::Result<()> {
    let (minimal, target) = (options.minimal(), options.target());
    // written so that what is not a number is refused, too
    if !(target >= minimal) {
        bail!(
            "--target-resources ({target}) is less than --minimal-resources ({minimal}): \
             nodes that one run powers down would be powered up by the next"
        );
    }
    let given = options.minimal.is_some() || options.target.is_some();
    if given && target <= minimal {
        output.error_line(&format!(
            "Warning: --target-resources is no more than --minimal-resources ({minimal}): \
             small changes of load may power nodes down and up in turns"
        ))?;
    }
    Ok(())
}

/// The sizes in the file of `--standby-data`.
pub fn known_sizes(options: &HsqueezeOptions) -> anyhow::Result<Sizes> {
    let Some(path) = &options.standby_data else { return Ok(Sizes::default()) };
    let raw = source::read_text(path).map_err(|error| error.context("--standby-data"))?;
    Ok(Sizes::of(&raw.nodes))
}

/// What the options mean for the search.
pub fn squeeze_options(options: &HsqueezeOptions, known_sizes: Sizes) -> SqueezeOptions {
    SqueezeOptions {
        minimal: options.minimal(),
        target: options.target(),
        reach: options.reach,
        capacity_checks: !options.no_capacity_checks,
        max_nodes: options.max_nodes,
        left_alone: Vec::new(),
        known_sizes,
    }
}

/// Makes the plans, and shows them.
pub fn run(
    options: &HsqueezeOptions,
    known_sizes: Sizes,
    cluster: &Cluster,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let groups = groups(options, cluster)?;
    save_state(options, "original", "before hsqueeze run", cluster, output)?;
    let asked = squeeze_options(options, known_sizes);
    let found = squeeze(cluster, &groups, &asked);
    show(options, &asked, cluster, &found, output)?;
    let idle = found.plans.iter().all(GroupPlan::is_idle);
    if options.execution.exec && !idle {
        output.flush()?;
        bail!("hsqueeze: plans cannot be executed yet");
    }
    save_state(options, "squeezed", when(&found), &found.after, output)?;
    Ok(match options.detailed_status && !idle {
        true => ExitStatus::Planned,
        false => ExitStatus::Success,
    })
}

fn groups(options: &HsqueezeOptions, cluster: &Cluster) -> anyhow::Result<Vec<GroupIdx>> {
    let Some(key) = &options.group else { return Ok(cluster.groups_with_nodes()) };
    let group = group::find(cluster, key);
    let group = group.ok_or_else(|| {
        anyhow!("option --group: '{key}' is not the name or UUID of exactly one node group")
    })?;
    Ok(vec![group])
}

fn save_state(
    options: &HsqueezeOptions,
    suffix: &str,
    when: &str,
    cluster: &Cluster,
    output: &mut Output,
) -> anyhow::Result<()> {
    let Some(prefix) = &options.save else { return Ok(()) };
    let instances: Vec<InstanceIdx> = cluster.instances.iter().map(|i| i.idx).collect();
    let content = cluster_text(cluster, &cluster.all_nodes(), &instances);
    Ok(output.error_line(&save(prefix, suffix, when, &content)?)?)
}

fn when(found: &Squeeze) -> &'static str {
    let any = |decision| found.plans.iter().any(|plan| plan.decision == decision);
    match (any(Decision::Condense), any(Decision::Expand)) {
        (true, _) => "after hsqueeze run",
        (false, true) => "after hsqueeze expansion",
        (false, false) => "after hsqueeze doing nothing",
    }
}

/// Everything that is said about the plans.
fn show(
    options: &HsqueezeOptions,
    asked: &SqueezeOptions,
    cluster: &Cluster,
    found: &Squeeze,
    output: &mut Output,
) -> anyhow::Result<()> {
    let level = options.load.verbosity;
    let wants_lines = options.json || options.commands.is_some();
    let lines = if wants_lines { commands(cluster, &found.plans) } else { Vec::new() };
    if let Some(CommandTarget::File(path)) = &options.commands {
        write_whole(path, &script_titled(SCRIPT_TITLE, &lines))?;
    }
    if level > 1 {
        view::reasons(found, cluster).iter().try_for_each(|line| output.error_line(line))?;
    }
    if options.json {
        output.write(&json::text(&json::squeeze::document(cluster, asked, found))?)?;
        return Ok(());
    }
    if level >= 1 {
        let style = view::Style { candidates: level > 1, headers: !options.no_headers };
        view::text(found, cluster, style).iter().try_for_each(|line| output.line(line))?;
    } else if !found.plans.iter().all(GroupPlan::is_idle) {
        output.line(&view::summary(found, cluster, view::Tense::Planned))?;
    }
    give_commands(options, &lines, output)
}

fn give_commands(options: &HsqueezeOptions, lines: &[Line], output: &mut Output) -> anyhow::Result<()> {
    match &options.commands {
        None => Ok(()),
        Some(CommandTarget::Stdout) => {
            output.line("")?;
            output.line("Commands to run:")?;
            Ok(listing(lines).iter().try_for_each(|line| output.line(line))?)
        }
        Some(CommandTarget::File(path)) => {
            Ok(output.line(&format!("The commands have been written to file '{}'", path.display()))?)
        }
    }
}
