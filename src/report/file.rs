//! Writing files whole: readers see the old content or the new, never a part.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write file '{path}'")]
pub struct WriteError {
    /// The file as named by the user.
    pub path: String,
    /// What the system said.
    pub source: io::Error,
}

/// Writes `content` to the file `path`: to a temporary file beside it, which
/// then takes its name. What is not a regular file (a pipe, `/dev/stdout`) is
/// written to directly.
///
/// # Errors
/// What the system says, with the name of the file; the old content, if any, is
/// then still there.
pub fn write_whole(path: &Path, content: &str) -> Result<(), WriteError> {
    let result = match fs::metadata(path) {
        Ok(meta) if !meta.is_file() => write_in_place(path, content),
        // a link keeps being a link
        Ok(_) => fs::canonicalize(path).and_then(|real| replace(&real, content)),
        Err(_) => replace(path, content),
    };
    result.map_err(|source| WriteError { path: path.display().to_string(), source })
}

fn write_in_place(path: &Path, content: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(content.as_bytes())
}

fn replace(path: &Path, content: &str) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut create = OpenOptions::new();
    create.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        // as any new file, or as the one that is replaced; the umask applies
        create.mode(fs::metadata(path).map_or(0o666, |meta| meta.permissions().mode() & 0o777));
    }
    // opened and written here, because tempfile would put its own name into the messages
    let mut file =
        tempfile::Builder::new().prefix(".htools-").make_in(directory, |path| create.open(path))?;
    file.as_file_mut().write_all(content.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_the_content_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.original");
        write_whole(&path, "old").unwrap();
        write_whole(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn errors_name_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("absent").join("state");
        let error = write_whole(&path, "x").unwrap_err();
        assert!(error.to_string().ends_with("absent/state'"), "{error}");
        assert_eq!(error.source.raw_os_error(), Some(2), "{}", error.source);
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_written_to_not_replaced() {
        write_whole(Path::new("/dev/null"), "x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
