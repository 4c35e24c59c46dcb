//! End of a maintenance: what the user is told, and the exit status.

use std::path::Path;

use anyhow::{anyhow, bail};

use super::ExitStatus;
use crate::execute::Ending;
use crate::execute::maintenance::LeftNode;
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::tools::hint::WithHint;
use crate::tools::output::Output;

/// A maintenance that has ended for now.
pub(super) struct EndedMaintenance<'e> {
    pub ending: &'e Ending,
    /// Number of nodes that were maintained.
    pub done: usize,
    /// Number of nodes without need of maintenance.
    pub skipped: usize,
    /// Number of nodes that were not maintained.
    pub open: usize,
    /// Nodes with something to be told about them.
    pub left: &'e [LeftNode],
    pub journal: &'e Path,
    /// Command that goes on with the journal named after it.
    pub command: &'e str,
    /// True if standard output is for something else.
    pub silent: bool,
}

impl EndedMaintenance<'_> {
    /// Tells what was done and what is left. `mark` returns the words for a node that is still out of service.
    ///
    /// # Errors
    /// A failure of the run, and failures to write.
    pub(super) fn conclude(
        &self,
        mark: impl Fn(&str) -> Option<&'static str>,
        output: &mut Output,
    ) -> anyhow::Result<ExitStatus> {
        let summary = self.summary();
        if self.silent {
            output.error_line(&summary)?
        } else {
            output.line(&summary)?
        }
        for LeftNode { node, why } in self.left {
            let mark = mark(node).map(|words| format!(" ({words})")).unwrap_or_default();
            output.error_line(&format!("  {}{mark}: {why}", shown_name(node)))?;
        }
        output.flush()?;
        let journal = self.journal.display();
        let resume = format!("{} --resume {journal} goes on", self.command);
        match self.ending {
            Ending::Done => Ok(ExitStatus::Success),
            Ending::OutOfTime => {
                output.error_line(&format!("The time is up; {resume}"))?;
                Ok(ExitStatus::Success)
            }
            Ending::Interrupted => {
                output.error_line(&format!("The run was asked to stop; {resume}"))?;
                Ok(ExitStatus::Success)
            }
            Ending::Failed => Err(anyhow!("hroller: not all nodes were maintained").hint(resume)),
            Ending::Lost(why) => {
                Err(anyhow!("hroller: the run stopped, as the cluster gave no usable answer: {why}")
                    .hint(resume))
            }
            Ending::Unrecorded(why) => {
                Err(anyhow!("hroller: the run stopped, as its journal cannot be written: {why}")
                    .hint(format!("make room; then {resume}")))
            }
            Ending::Contradiction(why) => bail!("hroller: the run stopped: {journal}: {why}"),
        }
    }

    fn summary(&self) -> String {
        let mut summary = format!("{} maintained", counted(self.done, "node"));
        if self.skipped > 0 {
            summary += &format!(", {} without need", self.skipped);
        }
        if self.open > 0 {
            summary += &format!(", {} left", self.open);
        }
        summary
    }
}
