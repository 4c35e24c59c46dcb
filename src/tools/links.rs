//! `htools install-links`: creates a symbolic link to this executable for each tool.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};

use super::TOOLS;
use super::hint::WithHint;
use super::output::Output;

/// State of a link's path.
enum LinkState {
    Nothing,
    /// The link or the executable itself: there is nothing to do.
    ThisProgram,
    Other,
    Directory,
}

/// Creates the links in `directory`. If a path is taken, nothing is changed unless `force` allows replacing files.
pub(super) fn install(directory: &Path, force: bool, output: &mut Output) -> anyhow::Result<()> {
    let program = program()?;
    let mut missing = Vec::new();
    for tool in TOOLS {
        let link = directory.join(tool.spec.name());
        match look(&link, &program).with_context(|| link.display().to_string())? {
            LinkState::ThisProgram => {}
            LinkState::Other if !force => {
                return Err(
                    anyhow!("{} exists and is another file", link.display()).hint("--force replaces it")
                );
            }
            LinkState::Directory => bail!("{} is a directory", link.display()),
            LinkState::Nothing | LinkState::Other => missing.push(link),
        }
    }
    for link in missing {
        make(&link, &program).with_context(|| format!("cannot make {}", link.display()))?;
        output.line(&format!("{} -> {}", link.display(), program.display()))?;
    }
    warn_if_closed(&program, output)
}

/// Path of this program, with links resolved.
///
/// # Errors
/// If the system does not report it.
pub(super) fn program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    program.canonicalize().with_context(|| program.display().to_string())
}

/// Warns if the links lead to a program that other users cannot run.
pub(super) fn warn_if_closed(program: &Path, output: &mut Output) -> anyhow::Result<()> {
    if let Some(closed) = closed(program) {
        output.error_line(&format!(
            "Warning: {} is closed to other users, so Ganeti, which runs hail as its own user, cannot run {}",
            closed.display(),
            program.display()
        ))?;
    }
    Ok(())
}

/// The first directory above the program that other users cannot enter.
pub(super) fn closed(program: &Path) -> Option<&Path> {
    let is_closed = |dir: &&Path| fs::metadata(dir).is_ok_and(|data| data.permissions().mode() & 0o001 == 0);
    program.ancestors().skip(1).find(is_closed)
}

fn look(link: &Path, program: &Path) -> io::Result<LinkState> {
    let metadata = match fs::symlink_metadata(link) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LinkState::Nothing),
        Err(error) => return Err(error),
    };
    if metadata.is_dir() {
        return Ok(LinkState::Directory);
    }
    // A dangling link has no canonical path, so it counts as something else.
    let same = link.canonicalize().is_ok_and(|target| target == program);
    Ok(if same { LinkState::ThisProgram } else { LinkState::Other })
}

/// Creates one link. Whatever is there is replaced in one step, so that the name works at every moment.
pub(super) fn make(link: &Path, program: &Path) -> io::Result<()> {
    // The name has the pattern of all our unfinished files.
    let fresh = link.with_file_name(format!(".htools-link-{}", std::process::id()));
    symlink(program, &fresh)?;
    fs::rename(&fresh, link).inspect_err(|_| {
        // The first error is the one to report.
        let _ = fs::remove_file(&fresh);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_others_cannot_enter() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("bin");
        fs::create_dir(&inner).unwrap();
        let mode = |dir: &Path, mode| fs::set_permissions(dir, fs::Permissions::from_mode(mode)).unwrap();
        mode(outer.path(), 0o755);
        mode(&inner, 0o755);
        let program = inner.join("htools");
        let within =
            |closed: Option<&Path>| closed.filter(|dir| dir.starts_with(outer.path())).map(Path::to_owned);
        assert_eq!(within(closed(&program)), None);
        mode(outer.path(), 0o750);
        assert_eq!(within(closed(&program)), Some(outer.path().to_owned()));
        mode(&inner, 0o700);
        assert_eq!(within(closed(&program)), Some(inner.clone()));
    }
}
