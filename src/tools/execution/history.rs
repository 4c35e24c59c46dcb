//! Runs in the history of the state directory.

use std::path::Path;

use super::place::{check_directory, make_state};
use crate::execute::history::{HistoryEvent, HistoryFile, HistoryLine, RunBegun, RunEnded};
use crate::execute::journal::Header;
use crate::execute::{ClusterId, Report};
use crate::model::{Cluster, NodeIdx};
use crate::score::Board;
use crate::tools::output::Output;

/// The user's history; `None` without a state directory.
///
/// # Errors
/// If the directory is a symbolic link, or others can write to it.
pub(crate) fn of_user() -> anyhow::Result<Option<HistoryFile>> {
    let Ok(directory) = make_state() else { return Ok(None) };
    check_directory(&directory)?;
    Ok(Some(HistoryFile::in_directory(&directory)))
}

/// Adds a line, and returns a warning if it cannot be written: a run does not stop because of that, as its journal
/// has all that is needed to resume it.
fn add(cluster: &ClusterId, tool: &str, event: HistoryEvent) -> Option<String> {
    let written = of_user().and_then(|file| match file {
        Some(file) => Ok(file.append(&HistoryLine::now(cluster, tool, event))?),
        None => Ok(()),
    });
    written.err().map(|error| format!("Warning: {error:#}; cooldowns will not know this run"))
}

/// Adds a line, with a warning if it cannot be written.
///
/// # Errors
/// If standard error cannot be written.
pub(crate) fn record(
    cluster: &ClusterId,
    tool: &str,
    event: HistoryEvent,
    output: &mut Output,
) -> anyhow::Result<()> {
    add(cluster, tool, event).map_or(Ok(()), |warning| Ok(output.error_line(&warning)?))
}

/// Records the beginning of a run. Returns a warning if that cannot be written.
pub(crate) fn begin(header: &Header, journal: &Path, score: Option<f64>) -> Option<String> {
    let begun = RunBegun::of(header, &journal.display().to_string(), score);
    add(&header.cluster, &header.run.tool, HistoryEvent::Begun(begun))
}

/// Records the end of a run.
///
/// # Errors
/// If standard error cannot be written.
pub(crate) fn end(
    header: &Header,
    report: &Report,
    score: Option<f64>,
    output: &mut Output,
) -> anyhow::Result<()> {
    let ended = RunEnded::of(header, report, score);
    record(&header.cluster, &header.run.tool, HistoryEvent::Ended(ended), output)
}

/// Score of a group, or of all nodes if no group has this UUID.
pub(crate) fn score(cluster: &Cluster, group: &str) -> f64 {
    let group = cluster.groups.iter().find(|known| known.uuid == group);
    let nodes: Vec<NodeIdx> = match group {
        Some(group) => cluster.nodes_of(group.idx).to_vec(),
        None => cluster.nodes.iter().map(|node| node.spec.idx).collect(),
    };
    Board::new(cluster, &nodes).score()
}
