//! `htools show FILE`.

use super::*;
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::tools::execution::shown;
use crate::tools::options::pace::PlanForm;

/// Name, purpose and options.
pub(super) const SPEC: Spec<ExecutionOptions> = Spec {
    name: "htools show",
    summary: "show a saved plan: its steps, what they wait for, how long they take",
    forms: &["[OPTION...] FILE"],
    examples: &[
        example("htools show plan.json", "show who made the plan, and its steps"),
        example("htools show --print-plan svg plan.json", "draw its time table"),
        example("htools show --max-parallel 2 plan.json", "estimate it with 2 steps at a time"),
    ],
    options: &[
        &PRINT_PLAN
            .says("show the plan in this form")
            .more("json, dot and svg, a time table, are all that is printed then.")
            .otherwise("text")
            .common(),
        &MAX_PARALLEL.says("run at most N steps at a time").common(),
        &MAX_OUT_PER_NODE.says("copy from a node in at most N steps at a time").common(),
        &MAX_IN_PER_NODE.says("copy to a node in at most N steps at a time").common(),
        &MAX_SYNCS.says("copy disks in at most N steps at a time").common(),
        &MAX_PER_GROUP.says("run at most N steps in a group at a time").common(),
        &SPEEDS,
        &HELP,
    ],
    words: &[FILE],
    ..Spec::PLAIN
};

/// Shows a saved plan.
pub(super) fn run(
    options: &ExecutionOptions,
    path: PathBuf,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let plan = SavedPlan::read(&path)?;
    let mut execution = options.clone();
    let form = *execution.print_plan.get_or_insert(PlanForm::Text);
    if !form.is_document() {
        let made = jiff::Timestamp::from_millisecond(i64::try_from(plan.made_at).unwrap_or(i64::MAX));
        let made = made.map_or_else(|_| plan.made_at.to_string(), |time| time.to_string());
        let by = (shown_name(&plan.tool), shown_name(&plan.version), shown_name(&plan.made_by));
        output.line(&format!("Made by {} {} of {}, {made}", by.0, by.1, by.2))?;
        if let Some(cluster) = &plan.cluster {
            output.line(&format!(
                "Cluster: {} ({})",
                shown_name(&cluster.name),
                shown_name(&cluster.uuid)
            ))?;
        }
        if !plan.options.is_empty() {
            let options: Vec<String> = plan.options.iter().map(|o| shown_name(o).to_string()).collect();
            output.line(&format!("Options: {}", options.join(" ")))?;
        }
        output.line(&format!("Touches {}", counted(plan.groups.len(), "node group")))?;
    }
    let document = shown(&execution, &plan.work, false, output)?;
    document.map_or(Ok(()), |document| output.write(&document))?;
    Ok(ExitStatus::Success)
}
