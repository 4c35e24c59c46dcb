//! Files that grow by whole lines: a full disk leaves no partial line.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Storage for lines.
pub trait Store {
    /// Appends bytes. After an error, some of them may have been written.
    fn add(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Truncates the content to `length` bytes.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Store for File {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        // A single call makes it unlikely that a kill leaves half a line.
        self.write_all(bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// A file whose appended bytes survive a crash.
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
    /// Number of bytes in whole lines.
    whole: u64,
    /// True if part of a line may follow the whole lines.
    has_rest: bool,
}

impl LineFile {
    /// Starts with empty storage.
    pub fn new(store: Box<dyn Store>) -> LineFile {
        LineFile::go_on(store, 0, false)
    }

    /// Continues an existing file at its end.
    ///
    /// # Errors
    /// If the length of the file cannot be determined.
    pub fn at_end(file: File) -> io::Result<LineFile> {
        let length = file.metadata()?.len();
        Ok(LineFile::go_on(Box::new(file), length, false))
    }

    /// Continues storage that holds `whole` bytes of whole lines, perhaps followed by part of a line.
    pub(super) fn go_on(store: Box<dyn Store>, whole: u64, has_rest: bool) -> LineFile {
        LineFile { store, whole, has_rest }
    }

    /// Tells if a part of a line follows the whole lines.
    pub(super) fn has_rest(&self) -> bool {
        self.has_rest
    }

    /// Appends a line.
    ///
    /// # Errors
    /// If it cannot be written; the file is then as before, if that is possible.
    pub fn append(&mut self, line: &str) -> io::Result<()> {
        self.cut_rest()?;
        let text = format!("{line}\n");
        self.has_rest = true;
        if let Err(error) = self.store.add(text.as_bytes()) {
            // If the rest cannot be removed now, it is removed before the next line, or read as a line that was cut
            // off.
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

/// Creates a file that only its owner can read.
///
/// # Errors
/// If the file exists or cannot be created.
pub fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)
}
