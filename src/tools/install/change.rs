//! What has to be done to a file system, and doing it.
//!
//! The record comes first: whatever ends a run, what it has put somewhere can be told from what others have put there.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::files::{FileContent, FileToInstall};
use super::record::{Fingerprint, InstallationRecord, InstalledItem};
use crate::plan::fresh::half_digest;
use crate::report::form::file::write_whole;
use crate::tools::links;
use crate::tools::output::Output;

/// Larger files are not ours.
const MOST: u64 = 16 << 20;

/// What is in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Nothing,
    /// What we might have put there.
    Marked(Fingerprint),
    Directory,
    /// A pipe, a device, a very large file.
    Odd,
}

impl Found {
    fn at(path: &Path) -> anyhow::Result<Found> {
        Found::look(path).with_context(|| path.display().to_string())
    }

    fn look(path: &Path) -> io::Result<Found> {
        let about = match fs::symlink_metadata(path) {
            Ok(about) => about,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(error) => return Err(error),
        };
        Ok(match about.file_type() {
            kind if kind.is_symlink() => Found::Marked(Fingerprint::Link(fs::read_link(path)?)),
            kind if kind.is_dir() => Found::Directory,
            kind if kind.is_file() && about.len() <= MOST => {
                Found::Marked(Fingerprint::Digest(half_digest(fs::read(path)?)))
            }
            _ => Found::Odd,
        })
    }

    /// Whether we have put it there.
    fn is_ours(&self, marks: &[Fingerprint]) -> bool {
        matches!(self, Found::Marked(mark) if marks.contains(mark))
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

    /// Puts it there in one step, in the place of whatever is there.
    fn put(&self) -> anyhow::Result<()> {
        match &self.kind {
            FileContent::Link(target) => links::make(&self.path, target)
                .with_context(|| format!("cannot make {}", self.path.display())),
            FileContent::Text(text) => {
                // what is written through a link, or to a pipe, would go elsewhere
                if fs::symlink_metadata(&self.path).is_ok_and(|about| !about.is_file()) {
                    fs::remove_file(&self.path).with_context(|| self.path.display().to_string())?;
                }
                write_whole(&self.path, text)?;
                readable(&self.path, 0o644)
            }
        }
    }
}

/// Programs of all users look there, whatever the umask is.
fn readable(path: &Path, mode: u32) -> anyhow::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode)).with_context(|| path.display().to_string())
}

/// What is missing, and what is in the way.
#[derive(Debug, Default)]
pub(super) struct Changes<'g> {
    /// What is not there.
    missing: Vec<&'g FileToInstall>,
    /// What is there from another version.
    outdated: Vec<&'g FileToInstall>,
    /// Where something is that is not ours.
    taken: Vec<&'g FileToInstall>,
    /// Where a directory is.
    directories: Vec<PathBuf>,
    /// What another version has put there, and this one does not know.
    stale: Vec<PathBuf>,
    /// What is as it should be, and ours.
    kept: Vec<&'g FileToInstall>,
}

impl<'g> Changes<'g> {
    /// What has to be done for `files` to be there; `recorded` is what was put there before.
    ///
    /// # Errors
    /// If it cannot be seen what is there.
    pub(super) fn needed(
        files: &'g [FileToInstall],
        recorded: &InstallationRecord,
        program: &Path,
    ) -> anyhow::Result<Self> {
        let mut changes = Changes::default();
        for file in files {
            let marks = recorded.marks(&file.path);
            match Found::at(&file.path)? {
                Found::Nothing => changes.missing.push(file),
                Found::Directory => changes.directories.push(file.path.clone()),
                found if found == Found::Marked(file.mark()) => {
                    // what was as it should be before us stays when we go
                    if !marks.is_empty() {
                        changes.kept.push(file);
                    }
                }
                found if found.is_ours(marks) => changes.outdated.push(file),
                // the program itself, or another way to it
                _ if leads_to(file, program) => {}
                _ => changes.taken.push(file),
            }
        }
        for item in recorded.items.iter().filter(|item| files.iter().all(|file| file.path != item.path)) {
            if Found::at(&item.path)?.is_ours(&item.marks) {
                changes.stale.push(item.path.clone());
            }
        }
        Ok(changes)
    }

    /// Names what is in the way.
    ///
    /// # Errors
    /// If anything is; with `force`, if a directory is.
    pub(super) fn check(&self, force: bool, output: &mut Output) -> anyhow::Result<()> {
        for path in &self.directories {
            output.error_line(&format!("{} is a directory", path.display()))?;
        }
        let taken: Vec<&&FileToInstall> = self.taken.iter().filter(|_| !force).collect();
        for file in &taken {
            output.error_line(&format!(
                "{} exists and was not put there by this command",
                file.path.display()
            ))?;
        }
        match (self.directories.len() + taken.len(), taken.is_empty()) {
            (0, _) => Ok(()),
            (count, true) => bail!("nothing was done: {count} places are taken"),
            (count, false) => bail!("nothing was done: {count} places are taken; --force replaces files"),
        }
    }

    /// Does it, and says what; with `dry`, only says it.
    ///
    /// # Errors
    /// If something cannot be done. What was put there until then is recorded.
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

    /// What is recorded in the end.
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

/// Whether what is in the place of a link leads to the program all the same.
fn leads_to(file: &FileToInstall, program: &Path) -> bool {
    matches!(&file.kind, FileContent::Link(target) if target == program)
        && file.path.canonicalize().is_ok_and(|real| real == program)
}

/// The directories above these paths that are not there, the outer ones first.
fn missing_directories<'p>(paths: impl Iterator<Item = &'p Path>) -> anyhow::Result<Vec<PathBuf>> {
    let mut missing: Vec<PathBuf> = Vec::new();
    for directory in paths.flat_map(|path| path.ancestors().skip(1)) {
        let is_there = directory.try_exists().with_context(|| directory.display().to_string())?;
        if !is_there && !missing.iter().any(|known| known == directory) {
            missing.push(directory.to_owned());
        }
    }
    // what is above another one is shorter
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

/// What is taken away, and what stays because somebody has changed it.
pub(super) struct Removal<'r> {
    recorded: &'r InstallationRecord,
    ours: Vec<&'r Path>,
    changed: Vec<&'r Path>,
}

impl<'r> Removal<'r> {
    /// What has to be done for nothing to be left of what was put there.
    ///
    /// # Errors
    /// If it cannot be seen what is there.
    pub(super) fn of(recorded: &'r InstallationRecord) -> anyhow::Result<Self> {
        let mut removal = Removal { recorded, ours: Vec::new(), changed: Vec::new() };
        for item in &recorded.items {
            match Found::at(&item.path)? {
                Found::Nothing => {}
                found if found.is_ours(&item.marks) => removal.ours.push(&item.path),
                _ => removal.changed.push(&item.path),
            }
        }
        Ok(removal)
    }

    /// Does it, and says what; with `dry`, only says it. What stays is named on standard error.
    ///
    /// # Errors
    /// If something cannot be taken away. Then the record stays, too.
    pub(super) fn carry_out(&self, prefix: &Path, dry: bool, output: &mut Output) -> anyhow::Result<()> {
        let what = if dry { "would remove" } else { "removed" };
        for path in &self.ours {
            if !dry {
                fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
            output.line(&format!("{what} {}", path.display()))?;
        }
        for path in &self.changed {
            output.error_line(&format!("Note: {} is not what was put there; it stays", path.display()))?;
        }
        if !dry {
            let place = InstallationRecord::place(prefix);
            fs::remove_file(&place).with_context(|| format!("cannot remove {}", place.display()))?;
            for directory in self.recorded.directories.iter().rev() {
                // one that others use stays
                let _ = fs::remove_dir(directory);
            }
        }
        Ok(())
    }
}
