//! The whole plan, to be saved and to be compared with one that was approved.

use super::planning::Planning;
use crate::model::{Cluster, GroupIdx};
use crate::plan::names::Impossible;
use crate::plan::work::Work;
use crate::search::squeeze::Squeeze;
use crate::tools::execution::{PlanToSave, save_plan};
use crate::tools::output::Output;

/// The steps of all groups that change.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub(super) fn whole(planning: &Planning<'_>, cluster: &Cluster, found: &Squeeze) -> Result<Work, Impossible> {
    let work = found.by_group().filter_map(|plans| planning.work(cluster, plans).transpose());
    Ok(Work::side_by_side(work.collect::<Result<Vec<_>, Impossible>>()?))
}

/// Saves the plans of all groups with `--save-plan`, if there is anything to do.
///
/// # Errors
/// As [`save_plan`].
pub(super) fn save(
    planning: &Planning<'_>,
    cluster: &Cluster,
    found: &Squeeze,
    work: &Work,
    output: &mut Output,
) -> anyhow::Result<()> {
    let Some(path) = &planning.options.execution.save_plan else { return Ok(()) };
    let groups: Vec<GroupIdx> = found.changed_groups().map(|plans| plans[0].group).collect();
    if groups.is_empty() {
        return Ok(());
    }
    let plan = PlanToSave { before: cluster, groups: &groups, group: "", purpose: "switching nodes", work };
    save_plan(&super::execute::context(planning.options), &plan, path)?;
    Ok(output.error_line(&format!("The plan has been written to '{}'", path.display()))?)
}
