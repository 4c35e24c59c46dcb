//! Default location of journals.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use rustix::io::Errno;

use crate::input::local::check_ours;
use crate::report::form::file::check_whole;
use crate::tools::hint::WithHint;

/// Path of the journal of a command's `number`th run: the named file, with `.number` appended from the second run on,
/// or else a default path.
pub(crate) fn journal_path(
    named: Option<&Path>,
    number: usize,
    name: &JournalName<'_>,
) -> anyhow::Result<PathBuf> {
    match named {
        None => Ok(state()?.join(name.file())),
        Some(path) if number == 1 => Ok(path.to_owned()),
        Some(path) => {
            let mut path = path.as_os_str().to_owned();
            path.push(format!(".{number}"));
            Ok(path.into())
        }
    }
}

/// File name of a run's journal in the user's state directory, which follows the XDG base directory specification.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JournalName<'a> {
    pub tool: &'a str,
    pub cluster: &'a str,
    /// Start of the run.
    pub began: u64,
}

impl JournalName<'_> {
    fn file(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' };
        let cluster: String = self.cluster.chars().take(100).map(plain).collect();
        format!("{}-{cluster}-{}.journal", self.tool, self.began)
    }
}

/// Checks that a run's journal can be written as a new file.
///
/// # Errors
/// The obstacle.
pub(crate) fn check(named: Option<&Path>) -> anyhow::Result<()> {
    match named {
        None => Ok(check_whole(&state()?.join("journal"))?),
        Some(path) => check_new(path).with_context(|| unwritable(path)),
    }
}

fn check_new(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Err(Errno::EXIST.into()),
        Err(_) => check_whole(path).map_err(|error| error.source),
    }
}

/// Message for a journal that cannot be created.
pub(crate) fn unwritable(path: &Path) -> String {
    format!("the journal '{}' cannot be written, so nothing was submitted", path.display())
}

/// Returns the state directory, which is created if necessary.
///
/// # Errors
/// If it cannot be created, is a symbolic link, or others can write to it.
pub(crate) fn state() -> anyhow::Result<PathBuf> {
    let directory = make_state()?;
    check_directory(&directory)?;
    Ok(directory)
}

/// Refuses a directory that is a symbolic link or that others can write to.
///
/// # Errors
/// The reason for the refusal.
pub(super) fn check_directory(directory: &Path) -> anyhow::Result<()> {
    let checked = match directory.symlink_metadata() {
        Ok(about) if about.is_symlink() => Err(anyhow!("it is a symbolic link")),
        Ok(about) => check_ours(&about).map_err(anyhow::Error::from),
        Err(error) => Err(error.into()),
    };
    checked.with_context(|| {
        format!("the directory '{}' cannot be used for journals and locks", directory.display())
    })
}

/// Tells if the environment says where the state directory is.
pub(super) fn has_state() -> bool {
    known_state().is_some()
}

fn known_state() -> Option<PathBuf> {
    state_directory(std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"))
}

/// Returns the state directory without checking its permissions.
///
/// # Errors
/// If it does not exist and cannot be created.
pub(super) fn make_state() -> anyhow::Result<PathBuf> {
    let Some(directory) = known_state() else {
        return Err(anyhow!(
            "no directory for journals is known, because XDG_STATE_HOME and HOME are not set"
        )
        .hint("use --journal FILE"));
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .with_context(|| format!("cannot make the directory '{}' for the journal", directory.display()))?;
    Ok(directory)
}

fn state_directory(state: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    // The XDG base directory specification says that relative paths are ignored.
    let absolute = |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute(state).or_else(|| absolute(home).map(|home| home.join(".local/state")));
    state.map(|state| state.join("htools"))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn directories_that_are_not_trusted() {
        let base = tempfile::tempdir().unwrap();
        let (directory, link) = (base.path().join("own"), base.path().join("link"));
        fs::create_dir(&directory).unwrap();
        std::os::unix::fs::symlink(&directory, &link).unwrap();
        let why = |path: &Path| check_directory(path).map_err(|error| error.root_cause().to_string());
        assert_eq!(why(&directory), Ok(()));
        assert_eq!(why(&link), Err("it is a symbolic link".to_owned()));
        for mode in [0o777, 0o1777, 0o770, 0o702] {
            fs::set_permissions(&directory, Permissions::from_mode(mode)).unwrap();
            assert_eq!(why(&directory), Err(format!("other users can write to it (mode {mode:04o})")));
        }
    }

    #[test]
    fn the_state_directory_of_the_user() {
        let directory = |state: Option<&str>, home: Option<&str>| {
            state_directory(state.map(OsString::from), home.map(OsString::from))
        };
        assert_eq!(directory(Some("/s"), Some("/h")), Some("/s/htools".into()));
        assert_eq!(directory(Some("s"), Some("/h")), Some("/h/.local/state/htools".into()));
        assert_eq!(directory(Some(""), None), None);
    }
}
