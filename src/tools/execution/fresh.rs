//! The state of the cluster just before execution.

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

/// Most changes listed.
const SHOWN: usize = 5;

/// Reads the cluster again with the same options. Messages of the first reading are not repeated.
pub(crate) fn read_again(load: &LoadOptions) -> anyhow::Result<Cluster> {
    let mut silence = Output::to(Box::new(io::sink()), Box::new(io::sink()));
    let mut cluster = source::load(load, &mut silence)?;
    // The search ignores named objects that have disappeared and reports them itself.
    let _ = apply_node_options(&mut cluster, &load.nodes);
    Ok(cluster)
}

/// Returns the first fault that executing these steps on the cluster would cause. All steps stay within the node
/// group with the UUID `group`; if that is empty, they concern several groups.
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
        // The checker counts from 1 within these steps; the message needs the number in the plan.
        found.step = at.get(found.step.wrapping_sub(1)).map_or(found.step, |at| at.number());
        Some(found)
    };
    let found = by_group.into_iter().filter_map(first).min_by_key(|found| found.step);
    found.map(|found| found.to_string())
}

/// Returns the first fault that executing these moves between groups on the cluster would cause.
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

/// Lists how the cluster has changed. `again` is true if a new plan is made.
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
