//! The cluster just before something is done to it.

use std::collections::BTreeMap;
use std::io;

use crate::load::merge::apply_node_options;
use crate::model::{Cluster, GroupIdx, Step};
use crate::plan::checker::{CheckOptions, Violation, check, check_crossings};
use crate::plan::graph::StepIdx;
use crate::plan::work::Work;
use crate::tools::options::LoadOptions;
use crate::tools::output::Output;
use crate::tools::source;

/// Most changes that are listed.
const SHOWN: usize = 5;

/// The cluster as it is now, with the options applied; what was said at the first
/// reading is not said again.
pub(crate) fn read_again(load: &LoadOptions) -> anyhow::Result<Cluster> {
    let mut silence = Output::to(Box::new(io::sink()), Box::new(io::sink()));
    let mut cluster = source::load(load, &mut silence)?;
    // the search does not find what was named and is gone, and says so itself
    let _ = apply_node_options(&mut cluster, &load.nodes);
    Ok(cluster)
}

/// The first of these steps that must not be carried out on a cluster. All stay in their node
/// group, which is the one with the UUID `group`; if that is empty, there are several.
pub(crate) fn violation(
    work: &Work,
    steps: &[StepIdx],
    group: &str,
    ignore_soft_errors: bool,
    now: &Cluster,
) -> Option<String> {
    let steps: Vec<StepIdx> =
        steps.iter().copied().filter(|at| !work.step(*at).relocations().is_empty()).collect();
    let steps = &steps[..];
    let moves = match work.steps_on(now, steps) {
        Ok(moves) => moves,
        Err(unknown) => return Some(unknown.to_string()),
    };
    let mut by_group: BTreeMap<GroupIdx, Vec<(StepIdx, Step)>> = BTreeMap::new();
    if group.is_empty() {
        for (at, step) in steps.iter().zip(moves) {
            by_group.entry(now.node(step.from.primary).spec.group).or_default().push((*at, step));
        }
    } else {
        let Some(group) = now.groups.iter().find(|known| known.uuid == group) else {
            return Some(format!("there is no node group '{group}'"));
        };
        by_group.insert(group.idx, steps.iter().copied().zip(moves).collect());
    }
    let options = CheckOptions { ignore_soft_errors };
    let first = |(group, moves): (GroupIdx, Vec<(StepIdx, Step)>)| {
        let (at, moves): (Vec<StepIdx>, Vec<Step>) = moves.into_iter().unzip();
        let mut found = check(now, now.nodes_of(group), &moves, options).err()?;
        // its number among these steps
        found.step = at.get(found.step.wrapping_sub(1)).map_or(found.step, |at| at.number());
        Some(found)
    };
    let found = by_group.into_iter().filter_map(first).min_by_key(|found| found.step);
    found.map(|found| found.to_string())
}

/// The first of these moves between groups that must not be carried out on a cluster.
pub(crate) fn crossing_violation(
    work: &Work,
    steps: &[StepIdx],
    _: &str,
    _: bool,
    now: &Cluster,
) -> Option<String> {
    match work.steps_on(now, steps) {
        Ok(moves) => {
            let found = check_crossings(now, &moves).err();
            found.map(|Violation { step, instance, fault }| {
                format!("move {step}, instance '{instance}': {fault}")
            })
        }
        Err(unknown) => Some(unknown.to_string()),
    }
}

/// Says how the cluster has changed; `again` if the plan is made anew.
pub(super) fn announce(changes: &[String], again: bool, output: &mut Output) -> io::Result<()> {
    let then = if again { ", so the plan is made anew" } else { "" };
    output.error_line(&format!("The cluster has changed since it was read{then}:"))?;
    for change in changes.iter().take(SHOWN) {
        output.error_line(&format!("  {change}"))?;
    }
    match changes.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => output.error_line(&format!("  and {more} more")),
    }
}
