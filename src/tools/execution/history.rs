//! Runs in the history of the state directory.

use std::ops::Range;
use std::path::Path;

use super::place::{has_state, state};
use crate::execute::history::{BatchMoves, HistoryEvent, HistoryFile, HistoryLine, RunBegun, RunEnded};
use crate::execute::journal::Header;
use crate::execute::{ClusterId, Report};
use crate::model::{Cluster, NodeIdx};
use crate::score::Board;

/// The user's history; `None` if no state directory is known.
///
/// # Errors
/// If the directory cannot be created, is a symbolic link, or others can write to it.
pub(crate) fn of_user() -> anyhow::Result<Option<HistoryFile>> {
    has_state().then(|| Ok(HistoryFile::in_directory(&state()?))).transpose()
}

/// Adds a line. Returns a warning if it cannot be written: a run does not stop because of that, as its journal has all
/// that is needed to resume it.
pub(crate) fn record(cluster: &ClusterId, tool: &str, event: HistoryEvent) -> Option<String> {
    let written = of_user().and_then(|file| match file {
        Some(file) => Ok(file.append(&HistoryLine::now(cluster, tool, event))?),
        None => Ok(()),
    });
    written
        .err()
        .map(|error| format!("Warning: {error:#}; htools history and cooldowns will not know this run"))
}

/// Records the beginning of a run, as [`record`].
pub(crate) fn begin(header: &Header, journal: &Path, score: Option<f64>) -> Option<String> {
    let begun = RunBegun::of(header, &journal.display().to_string(), score);
    record(&header.cluster, &header.run.tool, HistoryEvent::Begun(begun))
}

/// Records the beginning of a batch of a maintenance, as [`record`].
pub(crate) fn batch(header: &Header, steps: &Range<usize>) -> Option<String> {
    let batch = BatchMoves::of(header, steps);
    record(&header.cluster, &header.run.tool, HistoryEvent::Batch(batch))
}

/// Records the end of a run, as [`record`].
pub(crate) fn end(header: &Header, report: &Report, score: Option<f64>) -> Option<String> {
    let ended = RunEnded::of(header, report, score);
    record(&header.cluster, &header.run.tool, HistoryEvent::Ended(ended))
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
