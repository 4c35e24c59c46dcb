//! The file of the history.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{History, HistoryLine, SCHEMA};
use crate::execute::lines::{DurableFile, Store};
use crate::input::local::{Readers, read_regular};

/// Name of the file in the state directory.
pub const FILE_NAME: &str = "history.jsonl";
/// Size in bytes at which a file is put aside: about 10,000 moves.
const FULL: u64 = 4 << 20;
/// Number of files that are put aside.
const KEPT: usize = 4;
/// Maximum size in bytes of a file that is read: one line more than a full file.
const MOST: u64 = 64 << 20;

/// Reason that the history cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file cannot be read.
    #[error("the history cannot be read: {0}")]
    Unreadable(#[from] crate::input::LoadError),
    /// The file cannot be written.
    #[error("the history '{path}' cannot be written: {source}")]
    Unwritable {
        /// The file.
        path: String,
        /// Reason.
        source: io::Error,
    },
    /// A line is not one of a history.
    #[error("{path}, line {line}: not a line of a history: {problem}")]
    Damaged {
        /// The file.
        path: String,
        /// Number of the line, from 1.
        line: usize,
        /// The problem.
        problem: String,
    },
}

/// A history on disk: the file being written, and older ones with `.1`, `.2`, ... at the end of their names.
#[derive(Debug, Clone)]
pub struct HistoryFile {
    path: PathBuf,
    full: u64,
}

impl HistoryFile {
    /// The history in a directory.
    pub fn in_directory(directory: &Path) -> HistoryFile {
        HistoryFile::at(&directory.join(FILE_NAME))
    }

    /// The history in a file.
    pub fn at(path: &Path) -> HistoryFile {
        HistoryFile { path: path.to_owned(), full: FULL }
    }

    #[cfg(test)]
    pub(super) fn with_full(self, full: u64) -> HistoryFile {
        HistoryFile { full, ..self }
    }

    /// The file being written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn aside(&self, number: usize) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".{number}"));
        path.into()
    }

    /// Reads all lines, the oldest first. A last line that is cut off counts as not written. There is no history
    /// without a file.
    ///
    /// # Errors
    /// If a file cannot be read, others can write to it, or a line is not one of a history.
    pub fn read(&self) -> Result<History, HistoryError> {
        let mut history = History::default();
        // No other program puts files aside meanwhile.
        let _turn = File::open(&self.path).and_then(|file| file.lock_shared().map(|()| file)).ok();
        let older = (1..=KEPT).rev().map(|number| self.aside(number));
        for path in older.chain([self.path.clone()]).filter(|path| path.symlink_metadata().is_ok()) {
            let bytes = read_regular(&path, MOST, Readers::AnyoneNoWriters)?;
            read_lines(&bytes, &path, &mut history)?;
        }
        Ok(history)
    }

    /// Appends a line, on disk when this returns. Other programs wait for their turn.
    ///
    /// # Errors
    /// If it cannot be written; the file is then as before.
    pub fn append(&self, line: &HistoryLine) -> Result<(), HistoryError> {
        let wrong = |source| HistoryError::Unwritable { path: self.path.display().to_string(), source };
        let text = serde_json::to_string(line).map_err(|error| wrong(error.into()))?;
        let mut file = self.locked().map_err(wrong)?;
        if file.metadata().map_err(wrong)?.len() >= self.full {
            self.put_aside().map_err(wrong)?;
            file = self.locked().map_err(wrong)?;
        }
        let whole = whole_length(&mut file).map_err(wrong)?;
        let mut store = DurableFile(file);
        store.cut(whole).map_err(wrong)?;
        store.add(format!("{text}\n").as_bytes()).map_err(|error| {
            // A part of a line that stays is cut off before the next one.
            let _ = store.cut(whole);
            wrong(error)
        })
    }

    /// Opens the file with an exclusive lock. It is opened again if another program has just put it aside.
    fn locked(&self) -> io::Result<File> {
        loop {
            let mut options = OpenOptions::new();
            options.read(true).append(true).create(true).mode(0o600);
            let file = options
                .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
                .open(&self.path)?;
            file.lock()?;
            let same = |a: &fs::Metadata, b: &fs::Metadata| {
                use std::os::unix::fs::MetadataExt;
                (a.dev(), a.ino()) == (b.dev(), b.ino())
            };
            let there = fs::symlink_metadata(&self.path);
            if there.is_ok_and(|there| file.metadata().is_ok_and(|here| same(&here, &there))) {
                return Ok(file);
            }
        }
    }

    /// Gives the files the next number, and drops the last one.
    fn put_aside(&self) -> io::Result<()> {
        for number in (1..KEPT).rev() {
            match fs::rename(self.aside(number), self.aside(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, self.aside(1))
    }
}

/// Length of the file up to its last line end.
fn whole_length(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let mut end = length;
    let mut block = [0; 4096];
    while end > 0 {
        let size = end.min(block.len() as u64);
        file.seek(SeekFrom::Start(end - size))?;
        let part = &mut block[..usize::try_from(size).unwrap_or(0)];
        file.read_exact(part)?;
        if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
            return Ok(end - size + at as u64 + 1);
        }
        end -= size;
    }
    Ok(0)
}

fn read_lines(bytes: &[u8], path: &Path, history: &mut History) -> Result<(), HistoryError> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    for (number, line) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
        let damaged = |problem: String| HistoryError::Damaged {
            path: path.display().to_string(),
            line: number + 1,
            problem,
        };
        let line: HistoryLine = serde_json::from_slice(line).map_err(|error| damaged(error.to_string()))?;
        if line.history != SCHEMA {
            return Err(damaged(format!("its schema is not {SCHEMA}")));
        }
        history.0.push(line);
    }
    Ok(())
}
