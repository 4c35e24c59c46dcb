//! Writing journals.

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;

use super::Chain;
use crate::execute::lines::{DurableFile, LineFile, Store, create_private};

/// A journal being written.
pub struct Journal {
    lines: LineFile,
    chain: Chain,
}

impl Journal {
    /// Creates a journal in a new file that only its owner can read, and locks it against other programs.
    ///
    /// # Errors
    /// If the file exists or cannot be written. If only the first line cannot be written, the file is removed.
    pub fn create(path: &Path, header: &impl Serialize) -> io::Result<Journal> {
        let file = create_private(path)?;
        let locked = file.try_lock().map_err(io::Error::from);
        let begun = locked.and_then(|()| Journal::begin(Box::new(DurableFile(file)), header));
        if begun.is_err() {
            // A journal without a plan would only be in the way.
            let _ = fs::remove_file(path);
        }
        begun
    }

    /// Begins a journal in any store.
    pub fn begin(store: Box<dyn Store>, header: &impl Serialize) -> io::Result<Journal> {
        let mut journal = Journal::go_on(LineFile::new(store), Chain::default());
        journal.write(header)?;
        Ok(journal)
    }

    pub(super) fn go_on(lines: LineFile, chain: Chain) -> Journal {
        Journal { lines, chain }
    }

    /// True if the last line of the journal is cut off. It counts as not written.
    pub fn is_cut_off(&self) -> bool {
        self.lines.has_rest()
    }

    /// Appends a record.
    ///
    /// # Errors
    /// If it cannot be written; the journal is then as before.
    pub fn write(&mut self, record: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(record)?;
        let mut chain = self.chain.clone();
        let sum = chain.next(&text);
        self.lines.append(&format!("{text} {sum}"))?;
        self.chain = chain;
        Ok(())
    }
}
