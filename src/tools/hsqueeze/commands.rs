//! Commands of the groups' plans.

use std::slice;

use super::planning::Planning;
use crate::model::Cluster;
use crate::plan::command::plan_lines;
use crate::plan::names::Impossible;
use crate::plan::shell::Line;
use crate::search::squeeze::{Decision, GroupPlan, Squeeze};

/// Command lines of all groups with a plan. If there are several groups, each gets a heading.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub(super) fn all_lines(
    planning: &Planning<'_>,
    cluster: &Cluster,
    found: &Squeeze,
) -> Result<Vec<Line>, Impossible> {
    let several = found.has_several_groups();
    let mut lines = Vec::new();
    for plans in found.by_group() {
        let its = group_lines(planning, cluster, plans)?;
        if several && !its.is_empty() {
            lines.extend([Line::Blank, Line::heading_of("Node group", &cluster.group(plans[0].group).name)]);
        }
        lines.extend(its);
    }
    if lines.is_empty() {
        lines.push(Line::heading("Nothing to do"));
    }
    Ok(lines)
}

/// Commands of one group's plan, in order.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub(super) fn calls(
    planning: &Planning<'_>,
    cluster: &Cluster,
    plan: &GroupPlan,
) -> Result<Vec<String>, Impossible> {
    let lines = group_lines(planning, cluster, slice::from_ref(plan))?;
    Ok(lines.iter().filter(|line| line.is_command()).map(Line::to_string).collect())
}

fn group_lines(
    planning: &Planning<'_>,
    cluster: &Cluster,
    plans: &[GroupPlan],
) -> Result<Vec<Line>, Impossible> {
    let power = planning.options.execution.handling.power_command.as_ref().map(|text| text.to_string_lossy());
    let mut lines = Vec::new();
    if plans[0].decision == Decision::Expand && plans[0].nodes.is_empty() {
        // Scripts expect the heading even if there is no node left to power up.
        lines.push(Line::heading("Power Commands"));
    }
    if let Some(work) = planning.work(cluster, plans)? {
        lines.extend(plan_lines(&work, power.as_deref())?);
    }
    Ok(lines)
}
