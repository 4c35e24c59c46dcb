//! Saved states of a cluster (`-S`).

use std::io;
use std::path::{Path, PathBuf};

use super::output::Output;
use crate::load::text;
use crate::load::text::writer::whole_cluster_text;
use crate::model::Cluster;
use crate::report::form::file::{WriteError, write_whole};

/// Function that writes a state to `PREFIX.SUFFIX` and returns a message. The third argument describes the moment.
pub(super) type Write = fn(&Path, &str, &str, &str) -> Result<String, WriteError>;

/// Writes a state of the cluster to `PREFIX.SUFFIX`; returns a message about it.
///
/// # Errors
/// If the file cannot be written, or would not load back.
pub(super) fn save(prefix: &Path, suffix: &str, when: &str, content: &str) -> Result<String, WriteError> {
    let path = file(prefix, suffix);
    if let Err(error) = text::parse(content, "the state") {
        let source = io::Error::other(format!("it would not load back: {error}"));
        return Err(WriteError { path: path.display().to_string(), source });
    }
    write(&path, when, content)
}

/// Writes the state of one node group. It need not load back: instances may have secondary nodes in other groups,
/// which are not in the file.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn save_group(
    prefix: &Path,
    suffix: &str,
    when: &str,
    content: &str,
) -> Result<String, WriteError> {
    write(&file(prefix, suffix), when, content)
}

/// Path of a state's file.
pub(super) fn file(prefix: &Path, suffix: &str) -> PathBuf {
    let mut path = prefix.as_os_str().to_owned();
    path.push(".");
    path.push(suffix);
    path.into()
}

fn write(path: &Path, when: &str, content: &str) -> Result<String, WriteError> {
    write_whole(path, content)?;
    Ok(format!("The cluster state {when} has been written to file '{}'", path.display()))
}

/// Writes the whole cluster and reports that on standard error; does nothing without a prefix.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn save_cluster(
    prefix: Option<&Path>,
    suffix: &str,
    when: &str,
    cluster: &Cluster,
    output: &mut Output,
) -> anyhow::Result<()> {
    let Some(prefix) = prefix else { return Ok(()) };
    Ok(output.error_line(&save(prefix, suffix, when, &whole_cluster_text(cluster))?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state that would not load back is not written.
    #[test]
    fn only_what_loads_back_is_saved() {
        let dir = tempfile::tempdir().unwrap();
        let prefix = dir.path().join("state");
        let group = |name: &str| format!("{name}|u|preferred||\n\n\n\n\n");
        save(&prefix, "original", "before", &group("g")).unwrap();
        let error = save(&prefix, "balanced", "after", &group("g\ng")).unwrap_err();
        assert!(
            error.source.to_string().starts_with("it would not load back: the state, line 1"),
            "{}",
            error.source
        );
        assert!(!dir.path().join("state.balanced").exists());
    }
}
