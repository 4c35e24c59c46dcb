//! Plans that were saved and approved earlier. They are executed only if a new plan would be the same.

use anyhow::anyhow;

use crate::model::number::counted;
use crate::plan::work::{Task, Work};
use crate::report::timetable::what;
use crate::tools::hint::WithHint;
use crate::tools::output::Output;

/// Most differences listed.
const SHOWN: usize = 10;

/// A plan that was approved.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApprovedPlan {
    pub work: Work,
    /// True to execute another plan if this one no longer fits.
    pub replan: bool,
}

impl ApprovedPlan {
    /// Compares a new plan with the approved one.
    ///
    /// # Errors
    /// If they differ and no other plan may be executed.
    pub(crate) fn compare(&self, new: &Work, output: &mut Output) -> anyhow::Result<()> {
        let (then, now) = (outline(&self.work), outline(new));
        if then == now {
            let steps = counted(self.work.steps.len(), "step");
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
        if !self.replan {
            return Err(anyhow!("nothing was done, because the plan no longer fits")
                .hint("--replan makes another plan"));
        }
        Ok(())
    }
}

/// The steps with their numbers. Tags are left out because they contain the time of the switching.
fn outline(work: &Work) -> Vec<(usize, String)> {
    let steps = (1..).zip(&work.steps);
    let steps = steps.filter(|(_, step)| !matches!(step.task, Task::Tag | Task::Untag));
    steps.map(|(number, step)| (number, what(step))).collect()
}
