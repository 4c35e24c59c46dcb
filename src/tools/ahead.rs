//! Early checks: obstacles that are known beforehand are reported before a cluster is read and searched.

use anyhow::bail;

use super::execution::{check_journal, takes_jobs};
use super::options::{CommandTarget, ExecutionOptions, OutputOptions, SourceOptions};
use super::save;
use crate::report::form::file::{WriteError, check_stream, check_whole};

/// Checks that the files of `-C`, `-S` and `--report` can be written. `suffixes` are the states that `-S` saves.
///
/// # Errors
/// The first file that cannot be written.
pub(super) fn files(options: &OutputOptions, suffixes: &[&str]) -> Result<(), WriteError> {
    let OutputOptions { commands, save: saved, report, .. } = options;
    let commands = match commands {
        Some(CommandTarget::File(path)) => Some(path),
        _ => None,
    };
    commands.into_iter().chain(report).try_for_each(|path| check_whole(path))?;
    saved
        .as_deref()
        .map_or(Ok(()), |prefix| suffixes.iter().try_for_each(|end| check_whole(&save::file(prefix, end))))
}

/// Checks that a plan could be executed, if `--exec` is given: the source takes jobs, and the journal and the event
/// stream can be written.
///
/// # Errors
/// The obstacle.
pub(super) fn execution(
    tool: &str,
    execution: &ExecutionOptions,
    source: &SourceOptions,
) -> anyhow::Result<()> {
    if !execution.exec {
        return Ok(());
    }
    if !takes_jobs(source) {
        // Ganeti's own tools use these words and no others, which scripts look for. RAPI works too.
        bail!("{tool}: Execution of commands possible only on LUXI");
    }
    if let Some(path) = &execution.json_events {
        check_stream(path)?;
    }
    check_journal(execution.journal.as_deref())
}
