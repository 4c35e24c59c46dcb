//! Saved states of a cluster (`-S`).

use std::path::Path;

use super::output::Output;
use crate::model::Cluster;
use crate::report::file::{WriteError, write_whole};
use crate::report::text::whole_cluster_text;

/// Writes a state of the cluster to `PREFIX.SUFFIX`; returns what is to be said about
/// it.
///
/// # Errors
/// If the file cannot be written.
pub fn save(prefix: &Path, suffix: &str, when: &str, content: &str) -> Result<String, WriteError> {
    let mut path = prefix.as_os_str().to_owned();
    path.push(".");
    path.push(suffix);
    let path = Path::new(&path);
    write_whole(path, content)?;
    Ok(format!("The cluster state {when} has been written to file '{}'", path.display()))
}

/// Writes the whole cluster, and says so on standard error; nothing without a prefix.
///
/// # Errors
/// If the file cannot be written.
pub fn save_cluster(
    prefix: Option<&Path>,
    suffix: &str,
    when: &str,
    cluster: &Cluster,
    output: &mut Output,
) -> anyhow::Result<()> {
    let Some(prefix) = prefix else { return Ok(()) };
    Ok(output.error_line(&save(prefix, suffix, when, &whole_cluster_text(cluster))?)?)
}
