//! `hbal --deep`, `--repair-only` and `--evacuate`: the goal of the search, and its group.

use anyhow::{bail, ensure};

use super::HbalOptions;
use crate::model::shown::shown_name;
use crate::model::{Cluster, GroupIdx, NodeIdx};
use crate::search::balance::deep::DeepOptions;
use crate::search::balance::deep::plan::DeepGoal;
use crate::tools::nodes::named_nodes;
use crate::tools::options::one_form;

/// Refuses options that contradict each other, or have no effect without another one.
///
/// # Errors
/// The options.
pub(super) fn check(options: &HbalOptions) -> anyhow::Result<()> {
    let goals = [
        ("merge", options.merge),
        ("deep", options.is_deep()),
        ("repair-only", options.repair_only),
        ("until-below", options.steady.until_below),
        ("evacuate", !options.emptied.is_empty()),
    ];
    one_form(&goals)?;
    options.load.check_rules(&options.balance.rules)?;
    one_form(&[("svg", options.svg), ("json", options.output.json)])?;
    one_form(&[("pareto", options.pareto), ("exec", options.execution.exec)])?;
    if !options.is_deep() {
        options.output.refuse(&["max-moves", "max-data", "min-move-gain", "effort"], "needs --deep")?;
    }
    if goals.iter().all(|(_, given)| !given) {
        let concessions = ["allow-interruptions", "allow-overcommit-during-migration"];
        options
            .output
            .refuse(&concessions, "needs --deep, --merge, --repair-only, --until-below or --evacuate")?;
    }
    ensure!(options.pareto || !options.svg, "option --svg needs --pareto");
    let several = options.worst_group || options.all_groups;
    ensure!(
        !several || options.emptied.is_empty(),
        "option --evacuate works on one node group; it cannot be given with --worst-group or --all-groups"
    );
    ensure!(
        !several || options.without_steps.is_empty(),
        "option --without-step works on one node group; it cannot be given with --worst-group or --all-groups"
    );
    ensure!(
        !several || !options.svg,
        "option --svg shows one node group; it cannot be given with --worst-group or --all-groups"
    );
    Ok(())
}

/// Goal of the search in a group with these nodes (ascending); none for a step-by-step search.
///
/// # Errors
/// If `--evacuate` names a node outside the group.
pub(super) fn goal(
    options: &HbalOptions,
    cluster: &Cluster,
    nodes: &[NodeIdx],
) -> anyhow::Result<Option<DeepGoal>> {
    if options.repair_only {
        return Ok(Some(DeepGoal::Repair));
    }
    if options.steady.until_below {
        return Ok(Some(DeepGoal::Relieve));
    }
    if !options.emptied.is_empty() {
        let emptied = emptied(options, cluster)?;
        if let Some(other) = emptied.iter().find(|node| !nodes.contains(node)) {
            let name = shown_name(&cluster.node(*other).spec.name).to_string();
            bail!("--evacuate: node '{name}' is not in the node group");
        }
        return Ok(Some(DeepGoal::Evacuate(emptied)));
    }
    let usual = DeepOptions::of(cluster, nodes);
    let limited = options.max_moves.is_some() || options.max_data.is_some();
    Ok(options.is_deep().then(|| {
        DeepGoal::Best(DeepOptions {
            effort: options.deep.effort.unwrap_or(usual.effort),
            max_moves: options.max_moves,
            max_data: options.max_data,
            // A user who sets a limit wants the best plan within it, so moves cost nothing.
            move_cost: options.least_gain.or(limited.then_some(0.0)),
            ..usual
        })
    }))
}

/// The group of the nodes that `--evacuate` names; none without the option.
///
/// # Errors
/// If no node has such a name.
pub(super) fn group(options: &HbalOptions, cluster: &Cluster) -> anyhow::Result<Option<GroupIdx>> {
    Ok(emptied(options, cluster)?.first().map(|node| cluster.node(*node).spec.group))
}

/// The nodes that `--evacuate` names.
///
/// # Errors
/// If no node has such a name.
pub(super) fn emptied(options: &HbalOptions, cluster: &Cluster) -> anyhow::Result<Vec<NodeIdx>> {
    named_nodes("evacuate", &options.emptied, cluster)
}
