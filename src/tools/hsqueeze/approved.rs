//! Plans that were saved and approved earlier. They are executed only if a new plan would be the same.

use anyhow::anyhow;

use super::HsqueezeOptions;
use super::planning::Planning;
use crate::model::number::counted;
use crate::model::{Cluster, GroupIdx};
use crate::plan::names::Impossible;
use crate::plan::work::{Task, Work};
use crate::report::timetable::what;
use crate::search::squeeze::Squeeze;
use crate::tools::execution::{PlanToSave, save_plan};
use crate::tools::hint::WithHint;
use crate::tools::output::Output;

/// Most differences listed.
const SHOWN: usize = 10;

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

/// Compares the new plan with the approved one, if there is one.
///
/// # Errors
/// If they differ and `--replan` is not given.
pub(super) fn compare(options: &HsqueezeOptions, work: &Work, output: &mut Output) -> anyhow::Result<()> {
    let HsqueezeOptions { approved: Some(approved), replan, .. } = options else { return Ok(()) };
    let (then, now) = (outline(approved), outline(work));
    if then == now {
        let steps = counted(approved.steps.len(), "step");
        return Ok(output.error_line(&format!("The plan fits the cluster: {steps} can be carried out"))?);
    }
    output.error_line("The plan no longer fits the cluster:")?;
    let gone = then.iter().filter(|(_, step)| !now.iter().any(|(_, other)| other == step));
    let gone = gone.map(|(number, step)| format!("step {number}, {step}: no longer needed"));
    let new = now.iter().filter(|(_, step)| !then.iter().any(|(_, other)| other == step));
    let new = new.map(|(_, step)| format!("{step}: needed now, but not in the plan"));
    let mut lines: Vec<String> = gone.chain(new).collect();
    if lines.is_empty() {
        lines.push("the steps are needed in another order".to_owned());
    }
    for line in lines.iter().take(SHOWN) {
        output.error_line(&format!("  {line}"))?;
    }
    if lines.len() > SHOWN {
        output.error_line(&format!("  and {} more", lines.len() - SHOWN))?;
    }
    if !replan {
        return Err(
            anyhow!("nothing was done, because the plan no longer fits").hint("--replan makes another plan")
        );
    }
    Ok(())
}

/// The steps with their numbers. Tags are left out because they contain the time of the switching.
fn outline(work: &Work) -> Vec<(usize, String)> {
    let steps = (1..).zip(&work.steps);
    let steps = steps.filter(|(_, step)| !matches!(step.task, Task::Tag | Task::Untag));
    steps.map(|(number, step)| (number, what(step))).collect()
}
