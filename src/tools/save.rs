//! Saved states of a cluster (`-S`).

use std::path::Path;

use crate::report::file::{WriteError, write_whole};

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
