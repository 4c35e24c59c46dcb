//! Watches the history of the tools, and keeps what its metrics need.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use super::log_line;
use crate::execute::history::{HistoryFile, PastRun, now};
use crate::report::form::metrics::{Family, Sheet};
use crate::report::past;

/// The history that `--history` names.
pub(super) struct WatchedHistory {
    file: HistoryFile,
    known: Mutex<KnownHistory>,
}

#[derive(Default)]
struct KnownHistory {
    /// Size and time of the file that was read last.
    seen: Option<(u64, Option<SystemTime>)>,
    runs: Vec<PastRun>,
    is_readable: bool,
    last_message: String,
}

impl WatchedHistory {
    /// A history that has not been read yet.
    pub(super) fn new(path: &Path) -> WatchedHistory {
        WatchedHistory { file: HistoryFile::at(path), known: Mutex::default() }
    }

    /// Reads the history at intervals, for ever.
    pub(super) fn watch(&self, every: Duration) {
        loop {
            self.refresh();
            thread::sleep(every);
        }
    }

    /// Reads the history if it has changed.
    pub(super) fn refresh(&self) {
        let about = fs::metadata(self.file.path()).ok();
        let seen = about.map(|about| (about.len(), about.modified().ok()));
        let is_known = |known: &KnownHistory| known.is_readable && seen.is_some() && known.seen == seen;
        if is_known(&self.lock()) {
            return;
        }
        let result = match seen {
            Some(_) => self.file.read().map_err(|error| error.to_string()),
            None => Err(format!("{}: there is no such file", self.file.path().display())),
        };
        let mut known = self.lock();
        known.seen = seen;
        known.is_readable = result.is_ok();
        let message = match result {
            Ok(history) => {
                known.runs = past::without_old(history.runs(), now());
                String::new()
            }
            Err(message) => message,
        };
        if known.last_message != message {
            log_line(if message.is_empty() { "the history can be read again" } else { &message });
            known.last_message = message;
        }
    }

    /// The figures at present.
    pub(super) fn sheets(&self) -> Vec<Sheet> {
        let known = self.lock();
        let mut own = Sheet::default();
        own.put(Family::HistoryReadable, &[], f64::from(u8::from(known.is_readable)));
        let mut sheets = past::sheets(&known.runs, now());
        sheets.insert(0, own);
        sheets
    }

    fn lock(&self) -> MutexGuard<'_, KnownHistory> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
