//! Instances that a run may have left half migrated, and the commands that repair them.

use std::path::Path;

use crate::execute::journal::{Header, OnFailure};
use crate::execute::{Report, StepState};
use crate::tools::output::Output;

/// Names the instances that may be half migrated, with their cleanup commands; empty if there are none.
pub(in crate::tools) fn lines(header: &Header, report: &Report, journal: &Path) -> Vec<String> {
    let commands = report.cleanup();
    let first = match commands.len() {
        0 => return Vec::new(),
        1 => {
            "An instance may be half migrated. On the master node, run this before it moves again:".to_owned()
        }
        count => format!(
            "{count} instances may be half migrated. On the master node, run these before they move again:"
        ),
    };
    let tool = &header.run.tool;
    let is_left = |state| matches!(state, StepState::NotStarted | StepState::Begun | StepState::Running);
    let goes_on = header.stream.is_some_and(|pace| pace.on_failure == OnFailure::Continue);
    let then = if goes_on && report.steps.iter().any(|step| is_left(step.state)) {
        format!("After that, {tool} --resume {} continues the run.", journal.display())
    } else {
        format!("After that, make a new plan with {tool}.")
    };
    let commands = commands.iter().map(|command| format!("  {command}"));
    std::iter::once(first).chain(commands).chain([then]).collect()
}

/// Lists the instances that a finished or interrupted run may have left half migrated.
///
/// # Errors
/// If standard error cannot be written.
pub(crate) fn tell(
    header: &Header,
    report: &Report,
    journal: &Path,
    output: &mut Output,
) -> anyhow::Result<()> {
    Ok(lines(header, report, journal).iter().try_for_each(|line| output.error_line(line))?)
}
