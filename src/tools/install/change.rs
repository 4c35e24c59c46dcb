//! Compares the file system with an installation, and changes it.
//!
//! The record is written first. Even if the run is cut off, later runs can tell its files from those of others.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use super::files::{FileContent, FileToInstall};
use super::record::{Fingerprint, InstallationRecord, InstalledItem};
use crate::plan::fresh::half_digest;
use crate::report::form::file::write_whole;
use crate::tools::hint::WithHint;
use crate::tools::links;
use crate::tools::output::Output;

/// Size limit in bytes: larger files cannot be ours.
const MOST: u64 = 16 << 20;

/// State of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathState {
    Nothing,
    /// A file or link that this program might have installed.
    Marked(Fingerprint),
    Directory,
    /// A pipe, a device or a very large file.
    Odd,
}

impl PathState {
    fn at(path: &Path) -> anyhow::Result<PathState> {
        PathState::look(path).with_context(|| path.display().to_string())
    }

    fn look(path: &Path) -> io::Result<PathState> {
        let about = match fs::symlink_metadata(path) {
            Ok(about) => about,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(PathState::Nothing),
            Err(error) => return Err(error),
        };
        Ok(match about.file_type() {
            kind if kind.is_symlink() => PathState::Marked(Fingerprint::Link(fs::read_link(path)?)),
            kind if kind.is_dir() => PathState::Directory,
            kind if kind.is_file() && about.len() <= MOST => {
                PathState::Marked(Fingerprint::Digest(half_digest(fs::read(path)?)))
            }
            _ => PathState::Odd,
        })
    }

    /// Tells if this program installed it.
    fn is_ours(&self, marks: &[Fingerprint]) -> bool {
        matches!(self, PathState::Marked(mark) if marks.contains(mark))
    }
}

impl FileToInstall {
    fn mark(&self) -> Fingerprint {
        match &self.kind {
            FileContent::Link(target) => Fingerprint::Link(target.clone()),
            FileContent::Text(text) => Fingerprint::Digest(half_digest(text)),
        }
    }

    fn shown(&self) -> String {
        match &self.kind {
            FileContent::Link(target) => format!("{} -> {}", self.path.display(), target.display()),
            FileContent::Text(_) => self.path.display().to_string(),
        }
    }

    /// Installs the item in one step, replacing whatever is there.
    fn put(&self) -> anyhow::Result<()> {
        match &self.kind {
            FileContent::Link(target) => links::make(&self.path, target)
                .with_context(|| format!("cannot make {}", self.path.display())),
            FileContent::Text(text) => {
                // Writing through a link or to a pipe would go elsewhere.
                if fs::symlink_metadata(&self.path).is_ok_and(|about| !about.is_file()) {
                    fs::remove_file(&self.path).with_context(|| self.path.display().to_string())?;
                }
                write_whole(&self.path, text)?;
                readable(&self.path, 0o644)
            }
        }
    }
}

/// Sets the mode in spite of the umask, because the programs of all users look there.
fn readable(path: &Path, mode: u32) -> anyhow::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode)).with_context(|| path.display().to_string())
}

/// Changes needed for an installation, and obstacles.
#[derive(Debug, Default)]
pub(super) struct Changes<'g> {
    /// Items that are not there.
    missing: Vec<&'g FileToInstall>,
    /// Items installed by another version.
    outdated: Vec<&'g FileToInstall>,
    /// Items whose path is taken by something else.
    taken: Vec<&'g FileToInstall>,
    /// Paths of items that are taken by a directory.
    directories: Vec<PathBuf>,
    /// Files of another version that this version does not have.
    stale: Vec<PathBuf>,
    /// Items that are up to date and ours.
    kept: Vec<&'g FileToInstall>,
}

impl<'g> Changes<'g> {
    /// Computes the changes that install `goods`. `recorded` is the earlier installation.
    ///
    /// # Errors
    /// If the state of a path cannot be read.
    pub(super) fn needed(
        files: &'g [FileToInstall],
        recorded: &InstallationRecord,
        program: &Path,
    ) -> anyhow::Result<Self> {
        let mut changes = Changes::default();
        for file in files {
            let marks = recorded.marks(&file.path);
            match PathState::at(&file.path)? {
                PathState::Nothing => changes.missing.push(file),
                PathState::Directory => changes.directories.push(file.path.clone()),
                found if found == PathState::Marked(file.mark()) => {
                    // A file that was right before the first installation stays at the removal.
                    if !marks.is_empty() {
                        changes.kept.push(file);
                    }
                }
                found if found.is_ours(marks) => changes.outdated.push(file),
                // The path is the program itself, or another link to it.
                _ if leads_to(file, program) => {}
                _ => changes.taken.push(file),
            }
        }
        for item in recorded.items.iter().filter(|item| files.iter().all(|file| file.path != item.path)) {
            if PathState::at(&item.path)?.is_ours(&item.marks) {
                changes.stale.push(item.path.clone());
            }
        }
        Ok(changes)
    }

    /// Lists the obstacles.
    ///
    /// # Errors
    /// If there is one. With `force`, only directories are obstacles.
    pub(super) fn check(&self, force: bool, output: &mut Output) -> anyhow::Result<()> {
        for path in &self.directories {
            output.error_line(&format!("{} is a directory", path.display()))?;
        }
        let taken: Vec<&&FileToInstall> = self.taken.iter().filter(|_| !force).collect();
        for file in &taken {
            output.error_line(&format!(
                "{} exists and was not installed by this command",
                file.path.display()
            ))?;
        }
        match (self.directories.len() + taken.len(), taken.is_empty()) {
            (0, _) => Ok(()),
            (count, true) => Err(blocked(count)),
            (count, false) => Err(blocked(count).hint("--force replaces files")),
        }
    }

    /// Makes and lists the changes; with `dry`, only lists them.
    ///
    /// # Errors
    /// If a change fails. Everything installed until then is recorded.
    pub(super) fn carry_out(
        &self,
        prefix: &Path,
        recorded: &InstallationRecord,
        dry: bool,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let new: Vec<&FileToInstall> = [&self.missing[..], &self.outdated, &self.taken].concat();
        let place = InstallationRecord::place(prefix);
        let paths = new.iter().map(|file| file.path.as_path()).chain([place.as_path()]);
        let record = self.record(recorded, missing_directories(paths)?);
        if !dry && record != *recorded {
            let directories = |below: bool| {
                let above = place.parent().unwrap_or(prefix);
                record.directories.iter().filter(move |directory| above.starts_with(directory) == below)
            };
            directories(true).try_for_each(|directory| make_directory(directory))?;
            recorded.or(&record).write(prefix)?;
            directories(false).try_for_each(|directory| make_directory(directory))?;
        }
        let say = |done: &str, planned: &str| if dry { planned.to_owned() } else { done.to_owned() };
        for file in new {
            if !dry {
                file.put()?;
            }
            let what = if self.missing.contains(&file) {
                say("made", "would make")
            } else {
                say("replaced", "would replace")
            };
            output.line(&format!("{what} {}", file.shown()))?;
        }
        for path in &self.stale {
            if !dry {
                fs::remove_file(path).with_context(|| path.display().to_string())?;
            }
            output.line(&format!("{} {}", say("removed", "would remove"), path.display()))?;
        }
        if !dry && record != *recorded {
            record.write(prefix)?;
        }
        Ok(())
    }

    /// The record after the changes.
    fn record(&self, recorded: &InstallationRecord, made: Vec<PathBuf>) -> InstallationRecord {
        let ours = [&self.missing[..], &self.outdated, &self.taken, &self.kept].concat();
        let mut items: Vec<InstalledItem> = ours
            .iter()
            .map(|file| InstalledItem { path: file.path.clone(), marks: vec![file.mark()] })
            .collect();
        items.sort_by(|a, b| a.path.cmp(&b.path));
        let known = recorded.directories.iter().cloned();
        let new = made.into_iter().filter(|directory| !recorded.directories.contains(directory));
        InstallationRecord::new(items, known.chain(new).collect())
    }
}

/// Error if other files or directories are where files belong.
fn blocked(count: usize) -> anyhow::Error {
    match count {
        1 => anyhow!("nothing was done: another file or directory is in the way"),
        _ => anyhow!("nothing was done: {count} other files or directories are in the way"),
    }
}

/// Tells if the path of a link leads to the program already, for instance through another link.
fn leads_to(file: &FileToInstall, program: &Path) -> bool {
    matches!(&file.kind, FileContent::Link(target) if target == program)
        && file.path.canonicalize().is_ok_and(|real| real == program)
}

/// Missing directories above these paths, outer ones first.
fn missing_directories<'p>(paths: impl Iterator<Item = &'p Path>) -> anyhow::Result<Vec<PathBuf>> {
    let mut missing: Vec<PathBuf> = Vec::new();
    for directory in paths.flat_map(|path| path.ancestors().skip(1)) {
        let is_there = directory.try_exists().with_context(|| directory.display().to_string())?;
        if !is_there && !missing.iter().any(|known| known == directory) {
            missing.push(directory.to_owned());
        }
    }
    // An outer directory sorts before those inside it.
    missing.sort();
    Ok(missing)
}

fn make_directory(directory: &Path) -> anyhow::Result<()> {
    match fs::create_dir(directory) {
        Ok(()) => readable(directory, 0o755),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot make {}", directory.display())),
    }
}

/// Files to remove, and changed files that stay.
pub(super) struct Removal<'r> {
    recorded: &'r InstallationRecord,
    ours: Vec<&'r Path>,
    changed: Vec<&'r Path>,
}

impl<'r> Removal<'r> {
    /// Computes the removal of everything that is recorded.
    ///
    /// # Errors
    /// If the state of a path cannot be read.
    pub(super) fn of(recorded: &'r InstallationRecord) -> anyhow::Result<Self> {
        let mut removal = Removal { recorded, ours: Vec::new(), changed: Vec::new() };
        for item in &recorded.items {
            match PathState::at(&item.path)? {
                PathState::Nothing => {}
                found if found.is_ours(&item.marks) => removal.ours.push(&item.path),
                _ => removal.changed.push(&item.path),
            }
        }
        Ok(removal)
    }

    /// Removes and lists the files; with `dry`, only lists them. Files that stay are named on standard error.
    ///
    /// # Errors
    /// If a file cannot be removed. In this case the record stays, too.
    pub(super) fn carry_out(&self, prefix: &Path, dry: bool, output: &mut Output) -> anyhow::Result<()> {
        let what = if dry { "would remove" } else { "removed" };
        for path in &self.ours {
            if !dry {
                fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
            output.line(&format!("{what} {}", path.display()))?;
        }
        for path in &self.changed {
            output.error_line(&format!(
                "Note: {} was changed since the installation and is kept",
                path.display()
            ))?;
        }
        if !dry {
            let place = InstallationRecord::place(prefix);
            fs::remove_file(&place).with_context(|| format!("cannot remove {}", place.display()))?;
            for directory in self.recorded.directories.iter().rev() {
                // A directory that is still in use stays.
                let _ = fs::remove_dir(directory);
            }
        }
        Ok(())
    }
}
