//! `--metrics`: writes the figures of a run to a file for the textfile collector of Prometheus's node exporter.

use std::path::Path;
use std::time::{Instant, SystemTime};

use super::ExitStatus;
use super::hint::Complaint;
use super::options::OutputOptions;
use super::output::{Output, reader_is_gone};
use crate::report::form::file::{check_whole, write_for_all};
use crate::report::form::metrics::{Sheet, exposition};
use crate::report::runs::{self, RunRecord};

/// Tells if a run with this exit status has failed.
pub(super) type IsFailure = fn(ExitStatus) -> bool;

/// For tools whose exit status reports success.
pub(super) fn by_status(status: ExitStatus) -> bool {
    status == ExitStatus::Failure
}

/// For tools whose exit status is an answer.
pub(super) fn never(_: ExitStatus) -> bool {
    false
}

/// Runs a tool on the cluster with this name and writes the file with `--metrics`. The file is written even if the
/// run fails, so that the failure is noticed.
///
/// # Errors
/// Errors of the run, or a file that cannot be written.
pub(super) fn metered(
    tool: &str,
    options: &OutputOptions,
    cluster: String,
    output: &mut Output,
    is_failure: IsFailure,
    run: impl FnOnce(&mut Output) -> anyhow::Result<ExitStatus>,
) -> anyhow::Result<ExitStatus> {
    let Some(path) = &options.metrics else { return run(output) };
    check_whole(path)?;
    output.collect_figures(cluster);
    let began = Instant::now();
    let result = run(output);
    let success = match &result {
        Ok(status) => !is_failure(*status),
        Err(error) => reader_is_gone(error),
    };
    let record = RunRecord { tool, ended: SystemTime::now(), took: began.elapsed(), success };
    let written = write(path, output.take_figures(), record);
    match (result, written) {
        (result, Ok(())) => result,
        (Ok(_), Err(problem)) => Err(problem),
        (Err(error), Err(problem)) => {
            output.error_write(&Complaint::of(&problem).to_string())?;
            Err(error)
        }
    }
}

fn write(path: &Path, sheet: Option<Sheet>, record: RunRecord<'_>) -> anyhow::Result<()> {
    let mut sheet = sheet.unwrap_or_default();
    runs::tell(&mut sheet, record);
    Ok(write_for_all(path, &exposition(&[&sheet]))?)
}
