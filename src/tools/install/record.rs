//! Record of the files that `htools install` has installed below a prefix, so that exactly these are removed.

use std::io;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::input::local::{Readers, read_regular};
use crate::report::form::file::write_whole;
use crate::report::form::json;

/// Kind and version of the file.
const SCHEMA: &str = "htools.installation-1";

/// Size limit in bytes, larger than any record.
const MOST: u64 = 1 << 20;

/// The installed files of a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InstallationRecord {
    schema: String,
    /// The installed items.
    pub items: Vec<InstalledItem>,
    /// Directories created for the items, outer ones first.
    pub directories: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InstalledItem {
    /// Path below the prefix, or absolute.
    pub path: PathBuf,
    /// Fingerprints that identify the item as ours; any one is enough. There are two while another version replaces
    /// it.
    pub marks: Vec<Fingerprint>,
}

/// Content that distinguishes an installed item from files of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Fingerprint {
    /// A symbolic link with this target.
    Link(PathBuf),
    /// A file whose content has this digest.
    Digest(String),
}

impl Default for InstallationRecord {
    fn default() -> Self {
        InstallationRecord::new(Vec::new(), Vec::new())
    }
}

impl InstallationRecord {
    pub(super) fn new(items: Vec<InstalledItem>, directories: Vec<PathBuf>) -> InstallationRecord {
        InstallationRecord { schema: SCHEMA.to_owned(), items, directories }
    }

    /// Path of the record of a prefix.
    pub(super) fn place(prefix: &Path) -> PathBuf {
        prefix.join("share/htools/installed.json")
    }

    /// Reads the record of a prefix, if there is one. Its paths are made absolute.
    ///
    /// # Errors
    /// If it cannot be read, or names a path that no installation would use. A user who can write below the prefix
    /// must not choose the files that are removed elsewhere.
    pub(super) fn read(prefix: &Path) -> anyhow::Result<Option<InstallationRecord>> {
        let place = InstallationRecord::place(prefix);
        if matches!(place.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound) {
            return Ok(None);
        }
        let name = place.display().to_string();
        let bytes = read_regular(&place, MOST, Readers::Anyone)?;
        let mut record: InstallationRecord = serde_json::from_slice(&bytes).with_context(|| name.clone())?;
        if record.schema != SCHEMA {
            bail!("{name} is a '{}', not a '{SCHEMA}'", record.schema);
        }
        if let Some(odd) = record.foreign(prefix) {
            bail!("{name} names '{}', which htools never installs", odd.display());
        }
        record.each_path(|path| prefix.join(path));
        Ok(Some(record))
    }

    /// Writes the record of a prefix.
    ///
    /// # Errors
    /// If it cannot be written, for instance because a path is not UTF-8.
    pub(super) fn write(&self, prefix: &Path) -> anyhow::Result<()> {
        let mut record = self.clone();
        record.each_path(|path| path.strip_prefix(prefix).map_or(path.clone(), Path::to_owned));
        let place = InstallationRecord::place(prefix);
        let text = json::text(&record).with_context(|| place.display().to_string())?;
        Ok(write_whole(&place, &text)?)
    }

    /// Fingerprints of our item at this path; empty if there is none.
    pub(super) fn marks(&self, path: &Path) -> &[Fingerprint] {
        self.items.iter().find(|item| item.path == path).map_or(&[], |item| &item.marks)
    }

    /// Merges two records. If an item replaces another, the fingerprints of both are kept.
    pub(super) fn or(&self, other: &InstallationRecord) -> InstallationRecord {
        let mut both = self.clone();
        for item in &other.items {
            match both.items.iter_mut().find(|own| own.path == item.path) {
                Some(own) => own
                    .marks
                    .extend(item.marks.iter().filter(|mark| !self.marks(&item.path).contains(mark)).cloned()),
                None => both.items.push(item.clone()),
            }
        }
        both.directories.extend(other.directories.iter().filter(|d| !self.directories.contains(d)).cloned());
        both
    }

    /// Returns a path that no installation below `prefix` contains. Outside the prefix, an installation contains only
    /// links called `hail`, and the directories above them and above the prefix.
    fn foreign(&self, prefix: &Path) -> Option<&PathBuf> {
        let is_below = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        let is_plain = |path: &Path| {
            let mut parts = path.components();
            parts.next() == Some(Component::RootDir) && is_below(parts.as_path())
        };
        let is_link = |mark: &Fingerprint| matches!(mark, Fingerprint::Link(_));
        let is_allocator = |item: &InstalledItem| {
            is_plain(&item.path) && item.path.ends_with("hail") && item.marks.iter().all(is_link)
        };
        let is_above = |directory: &Path| {
            let mut paths = self.items.iter().map(|item| item.path.as_path()).chain([prefix]);
            is_plain(directory) && paths.any(|path| path.starts_with(directory))
        };
        let odd = self
            .items
            .iter()
            .find(|item| !is_below(&item.path) && !is_allocator(item))
            .map(|item| &item.path);
        odd.or_else(|| self.directories.iter().find(|path| !is_below(path) && !is_above(path)))
    }

    fn each_path(&mut self, change: impl Fn(&PathBuf) -> PathBuf) {
        let items = self.items.iter_mut().map(|item| &mut item.path);
        items.chain(&mut self.directories).for_each(|path| *path = change(path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> anyhow::Result<Option<InstallationRecord>> {
        let prefix = tempfile::tempdir().unwrap();
        let place = InstallationRecord::place(prefix.path());
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, text).unwrap();
        InstallationRecord::read(prefix.path())
    }

    fn with(items: &str, directories: &str) -> String {
        format!(
            r#"{{"schema": "htools.installation-1", "items": [{items}], "directories": [{directories}]}}"#
        )
    }

    #[test]
    fn nothing_is_recorded_where_nothing_is() {
        let prefix = tempfile::tempdir().unwrap();
        assert_eq!(InstallationRecord::read(prefix.path()).unwrap(), None);
    }

    #[test]
    fn records_cannot_name_what_is_elsewhere() {
        let item = |path: &str, mark: &str| format!(r#"{{"path": "{path}", "marks": [{mark}]}}"#);
        let (link, digest) = (r#"{"link": "/usr/bin/htools"}"#, r#"{"digest": "00"}"#);
        for (items, directories) in [
            (item("bin/hbal", link), r#""bin""#),
            (item("/usr/lib/ganeti/iallocators/hail", link), r#""/usr/lib/ganeti""#),
            (item("share/man/man1/hbal.1", digest), r#""", "/tmp""#),
        ] {
            assert!(record(&with(&items, directories)).is_ok(), "{items} {directories}");
        }
        for (items, directories) in [
            (item("../../etc/passwd", digest), ""),
            (item("/etc/passwd", digest), ""),
            (item("/etc/hail", digest), ""),
            (item("/etc/../srv/hail", link), ""),
            (item("bin/hbal", link), r#""/var/empty""#),
            (item("bin/hbal", link), r#""bin/..""#),
        ] {
            let error = record(&with(&items, directories)).unwrap_err().to_string();
            assert!(error.contains("which htools never installs"), "{error}");
        }
    }

    #[test]
    fn other_files_are_no_records() {
        for text in ["", "[]", "{}", r#"{"schema": "x", "items": [], "directories": []}"#, "\0"] {
            let error = format!("{:#}", record(text).unwrap_err());
            assert!(error.contains("installed.json"), "{error}");
        }
    }

    #[test]
    fn both_versions_are_known_while_one_takes_the_place_of_the_other() {
        let item = |path: &str, digest: &str| InstalledItem {
            path: path.into(),
            marks: vec![Fingerprint::Digest(digest.to_owned())],
        };
        let record = |items: Vec<InstalledItem>, directories: &[&str]| {
            InstallationRecord::new(items, directories.iter().map(PathBuf::from).collect())
        };
        let old = record(vec![item("a", "1"), item("b", "1")], &["x"]);
        let new = record(vec![item("b", "2"), item("c", "2")], &["x", "y"]);
        let both = old.or(&new);
        assert_eq!(both.marks(Path::new("b")), [&item("b", "1").marks[..], &item("b", "2").marks].concat());
        assert_eq!(both.marks(Path::new("a")), item("a", "1").marks);
        assert_eq!(both.marks(Path::new("c")), item("c", "2").marks);
        assert_eq!(both.directories, ["x", "y"].map(PathBuf::from));
        assert_eq!(old.or(&old), old);
    }
}
