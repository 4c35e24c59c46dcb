//! Writing journals.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::Serialize;

use super::Chain;

/// Where the lines go: safe from a crash once [`append`](Store::append) comes back.
pub trait Store {
    /// Adds a line, with its end.
    fn append(&mut self, line: &str) -> io::Result<()>;
}

impl Store for File {
    fn append(&mut self, line: &str) -> io::Result<()> {
        // one call, so that a kill cannot leave half a line
        self.write_all(line.as_bytes())?;
        self.sync_data()
    }
}

/// A journal being written.
pub struct Journal {
    store: Box<dyn Store>,
    chain: Chain,
}

impl Journal {
    /// Begins a journal in a new file, which only its owner can read and no other
    /// program can write to meanwhile.
    ///
    /// # Errors
    /// If the file exists or cannot be written.
    pub fn create(path: &Path, header: &impl Serialize) -> io::Result<Journal> {
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
        file.try_lock().map_err(io::Error::from)?;
        Journal::begin(Box::new(file), header)
    }

    /// Begins a journal anywhere.
    pub fn begin(store: Box<dyn Store>, header: &impl Serialize) -> io::Result<Journal> {
        let mut journal = Journal::go_on(store, Chain::default());
        journal.line(header)?;
        Ok(journal)
    }

    pub(super) fn go_on(store: Box<dyn Store>, chain: Chain) -> Journal {
        Journal { store, chain }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// If it cannot be written; the journal is of no further use then.
    pub fn write(&mut self, record: &impl Serialize) -> io::Result<()> {
        self.line(record)
    }

    fn line(&mut self, content: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(content)?;
        let sum = self.chain.next(&text);
        self.store.append(&format!("{text} {sum}\n"))
    }
}
