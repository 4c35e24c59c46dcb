//! The plans of groups as commands.

use super::planning::Planning;
use crate::model::Cluster;
use crate::plan::command::plan_lines;
use crate::plan::names::Impossible;
use crate::plan::shell::Line;
use crate::search::squeeze::{Decision, GroupPlan, Squeeze};

/// The lines of all groups in which something is done; of several groups each is named.
///
/// # Errors
/// A name that Ganeti cannot have.
pub fn all_lines(
    planning: &Planning<'_>,
    cluster: &Cluster,
    found: &Squeeze,
) -> Result<Vec<Line>, Impossible> {
    let several = found.plans.len() > 1;
    let mut lines = Vec::new();
    for plan in &found.plans {
        let its = group_lines(planning, cluster, plan)?;
        if several && !its.is_empty() {
            lines.extend([Line::Blank, Line::heading_of("Node group", &cluster.group(plan.group).name)]);
        }
        lines.extend(its);
    }
    if lines.is_empty() {
        lines.push(Line::heading("Nothing to do"));
    }
    Ok(lines)
}

/// What is run for a group, in order.
///
/// # Errors
/// A name that Ganeti cannot have.
pub fn calls(
    planning: &Planning<'_>,
    cluster: &Cluster,
    plan: &GroupPlan,
) -> Result<Vec<String>, Impossible> {
    let lines = group_lines(planning, cluster, plan)?;
    Ok(lines.iter().filter(|line| line.is_command()).map(Line::to_string).collect())
}

fn group_lines(
    planning: &Planning<'_>,
    cluster: &Cluster,
    plan: &GroupPlan,
) -> Result<Vec<Line>, Impossible> {
    let power = planning.options.execution.handling.power_command.as_ref().map(|text| text.to_string_lossy());
    let mut lines = Vec::new();
    if plan.decision == Decision::Expand && plan.nodes.is_empty() {
        // scripts know the heading also where no node is left to power up
        lines.push(Line::heading("Power Commands"));
    }
    if let Some(work) = planning.work(cluster, plan)? {
        lines.extend(plan_lines(&work, power.as_deref())?);
    }
    Ok(lines)
}
