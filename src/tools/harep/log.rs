//! Log of repairs, one JSON object per line. It is for people; the next run relies on tags instead.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use serde::Serialize;

use crate::execute::ClusterId;
use crate::execute::lines::{LineFile, create_private};
use crate::report::repair::text::RepairEntry;
use crate::tools::execution::state_directory;

/// A log file that is created with its first entry.
pub(super) struct RepairLog {
    cluster: ClusterId,
    path: PathBuf,
    file: Option<LineFile>,
}

#[derive(Serialize)]
struct Beginning<'a> {
    log: &'static str,
    cluster: &'a ClusterId,
    version: &'static str,
}

/// Actions on one instance.
#[derive(Serialize)]
struct LoggedVisit<'a> {
    at: u128,
    instance: &'a str,
    status: &'static str,
    added: Option<String>,
    removed: Vec<String>,
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cleanup: Option<&'a str>,
    problem: Option<&'a str>,
}

impl RepairLog {
    /// Prepares the log of a run that starts now.
    ///
    /// # Errors
    /// If the log has no place. harep must not do anything that it cannot log.
    pub(super) fn new(cluster: ClusterId, path: Option<PathBuf>, began: u128) -> anyhow::Result<RepairLog> {
        let path = match path {
            Some(path) => path,
            None => state_directory()?.join(file_name(&cluster, began)),
        };
        ensure!(path.symlink_metadata().is_err(), "the journal '{}' exists already", path.display());
        Ok(RepairLog { cluster, path, file: None })
    }

    /// Logs the actions on an instance, if there were any.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub(super) fn note(&mut self, at: u128, instance: &str, entry: &RepairEntry) -> anyhow::Result<()> {
        let visit = entry.visit.as_ref();
        let added = visit.and_then(|visit| visit.attended.added());
        let removed: Vec<String> =
            visit.map(|v| v.removed.iter().map(ToString::to_string).collect()).unwrap_or_default();
        if added.is_none() && removed.is_empty() && entry.problem.is_none() {
            return Ok(());
        }
        let message = visit.and_then(|visit| visit.message.as_deref());
        let cleanup = visit.and_then(|visit| visit.cleanup.as_deref());
        let problem = entry.problem.as_deref();
        self.write(&LoggedVisit {
            at,
            instance,
            status: entry.status().as_str(),
            added,
            removed,
            message,
            cleanup,
            problem,
        })
    }

    fn write(&mut self, line: &LoggedVisit<'_>) -> anyhow::Result<()> {
        let written = self.append(&serde_json::to_string(line)?);
        written.with_context(|| format!("the journal '{}' cannot be written", self.path.display()))
    }

    fn append(&mut self, line: &str) -> anyhow::Result<()> {
        if let Some(file) = &mut self.file {
            return Ok(file.append(line)?);
        }
        let Self { cluster, .. } = self;
        let beginning = Beginning { log: "htools.repairs-1", cluster, version: env!("CARGO_PKG_VERSION") };
        let mut file = LineFile::new(Box::new(create_private(&self.path)?));
        // Both lines are written at once, so there is never a log without an entry.
        if let Err(error) = file.append(&format!("{}\n{line}", serde_json::to_string(&beginning)?)) {
            let _ = fs::remove_file(&self.path);
            return Err(error.into());
        }
        self.file = Some(file);
        Ok(())
    }
}

/// Name of the log of a run that began at `began`, in milliseconds since 1970.
fn file_name(cluster: &ClusterId, began: u128) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' };
    let cluster: String = cluster.name.chars().take(100).map(plain).collect();
    format!("harep-{cluster}-{began}.repairs")
}
