//! Undoes what a failed run did to nodes.

use super::{ExecutionOrder, ExecutionStage, FinishedRun, carry_out, failures};
use crate::execute::{Ending, JobClient, undo};
use crate::plan::work::{Task, Work};
use crate::tools::output::Output;

/// Undoes the safe part of a failed run. Returns the outcome as the end of the error message; empty if there was
/// nothing to undo.
///
/// # Errors
/// Obstacles to starting it.
pub(crate) fn take_back(
    finished: &FinishedRun,
    client: &mut dyn JobClient,
    stage: &ExecutionStage<'_>,
    output: &mut Output,
) -> anyhow::Result<String> {
    let work = undo(&finished.header.work, &finished.report)?;
    if work.steps.is_empty() {
        return Ok(String::new());
    }
    if stage.context.load.verbosity >= 1 {
        output.error_line(&format!("Taking back: {}", listed(&work, |_| true)))?;
    }
    let order = ExecutionOrder {
        purpose: format!("taking back what failed, by {}", stage.context.tool),
        group: finished.header.group.clone(),
        score: None,
        work,
    };
    let undone = carry_out(order, client, stage, output)?;
    let work = &undone.header.work;
    if let Some(problem) = undone.arrival.tell(output)? {
        return Ok(format!("; it is not certain that everything was taken back: {problem}"));
    }
    Ok(match &undone.report.ending {
        Ending::Done => format!("; taken back: {}", listed(work, |_| true)),
        Ending::Failed => format!("; not everything could be taken back: {}", failures(&undone)),
        Ending::Lost(why) | Ending::Unrecorded(why) | Ending::Contradiction(why) => {
            format!("; it is unknown whether everything was taken back: {why}")
        }
        Ending::Interrupted | Ending::OutOfTime => {
            let open = |at: usize| undone.report.steps[at].state != crate::execute::StepState::Done;
            format!("; not taken back, as asked to stop: {}", listed(work, open))
        }
    })
}

fn listed(work: &Work, wanted: impl Fn(usize) -> bool) -> String {
    let steps = work.steps.iter().enumerate().filter(|(at, _)| wanted(*at));
    // Tags are of no interest to the user.
    let news = steps.filter(|(_, step)| !matches!(step.task, Task::Tag | Task::Untag));
    news.map(|(_, step)| step.title()).collect::<Vec<_>>().join(", ")
}
