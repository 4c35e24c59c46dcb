//! What is known to fail is told before a cluster is asked and searched.

use std::io::{IsTerminal, stderr};

use anyhow::bail;

use super::execution::{check_journal, takes_jobs};
use super::options::{CommandTarget, ExecutionOptions, OutputOptions, SourceOptions};
use super::save;
use crate::report::form::file::{WriteError, check_stream, check_whole};

/// Whether the files of `-C`, `-S` and `--report` can be written; the states of `-S` have these `suffixes`.
///
/// # Errors
/// The first file that cannot be.
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

/// Whether a plan could be carried out, if that is asked for: jobs submitted, and what is done written down.
///
/// # Errors
/// What is in the way.
pub(super) fn execution(
    tool: &str,
    execution: &ExecutionOptions,
    source: &SourceOptions,
) -> anyhow::Result<()> {
    if !execution.exec {
        return Ok(());
    }
    if !takes_jobs(source) {
        // the words of Ganeti's own tools, which scripts know; RAPI does, too
        let way_out = if stderr().is_terminal() { ": name a live cluster with -L or -m" } else { "" };
        bail!("{tool}: Execution of commands possible only on LUXI{way_out}");
    }
    if let Some(path) = &execution.json_events {
        check_stream(path)?;
    }
    check_journal(execution.journal.as_deref())
}
