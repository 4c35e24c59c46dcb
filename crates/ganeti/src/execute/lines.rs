//! Files that grow by whole lines, so that a full disk leaves no half of one.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Storage for lines.
pub trait Store {
    /// Adds bytes at the end. After an error, a part of them may be there.
    fn add(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Removes all but the first `length` bytes.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Store for File {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        // one call, so that a kill is unlikely to leave half a line
        self.write_all(bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// A file whose bytes are safe from a crash once they are added.
pub(super) struct DurableFile(pub File);

impl Store for DurableFile {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.add(bytes)?;
        self.0.sync_data()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.0.cut(length)
    }
}

/// A file that grows by whole lines.
pub struct LineFile {
    store: Box<dyn Store>,
    /// The bytes that are whole lines.
    whole: u64,
    /// True if a part of a line may follow the whole lines.
    has_rest: bool,
}

impl LineFile {
    /// A file that holds nothing.
    pub fn new(store: Box<dyn Store>) -> LineFile {
        LineFile::go_on(store, 0, false)
    }

    /// A file that is gone on with at its end.
    ///
    /// # Errors
    /// If the system does not say how long it is.
    pub fn at_end(file: File) -> io::Result<LineFile> {
        let length = file.metadata()?.len();
        Ok(LineFile::go_on(Box::new(file), length, false))
    }

    /// A file that holds `whole` bytes of whole lines, and perhaps a part of one behind them.
    pub(super) fn go_on(store: Box<dyn Store>, whole: u64, has_rest: bool) -> LineFile {
        LineFile { store, whole, has_rest }
    }

    /// Tells if a part of a line follows the whole lines.
    pub(super) fn has_rest(&self) -> bool {
        self.has_rest
    }

    /// Adds a line.
    ///
    /// # Errors
    /// If it cannot be written; the file is as before then, as far as that is possible.
    pub fn append(&mut self, line: &str) -> io::Result<()> {
        self.cut_rest()?;
        let text = format!("{line}\n");
        self.has_rest = true;
        if let Err(error) = self.store.add(text.as_bytes()) {
            // what stays now goes before the next line, or is taken for a line that was cut off
            let _ = self.cut_rest();
            return Err(error);
        }
        self.has_rest = false;
        self.whole += text.len() as u64;
        Ok(())
    }

    fn cut_rest(&mut self) -> io::Result<()> {
        if self.has_rest {
            self.store.cut(self.whole)?;
            self.has_rest = false;
        }
        Ok(())
    }
}

/// Opens a new file for lines, which only its owner can read.
///
/// # Errors
/// If the file exists or cannot be made.
pub fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)
}
