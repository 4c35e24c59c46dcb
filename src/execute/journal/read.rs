//! Reading journals.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use serde::de::DeserializeOwned;

use super::{Chain, Header, Journal, Record, Store};
use crate::execute::state::{RecordError, State};
use crate::model::shown::{printable, shown_source};

/// The largest journal that is read: some hundred thousand steps.
const MOST: u64 = 256 << 20;

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read.
    #[error("{path}: cannot be read")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Another program is at work with it.
    #[error("{path}: another program carries out this run at this moment")]
    InUse {
        /// The file.
        path: String,
    },
    /// It is cut off, was changed, or is no journal.
    #[error("{path}, line {line}: {problem}")]
    Damaged {
        /// The file.
        path: String,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
}

/// What is wrong with a line of a journal.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Some byte is no part of a character.
    #[error("it is not valid UTF-8")]
    NotText,
    /// There is no line at all.
    #[error("it is empty")]
    Empty,
    /// Its end is missing.
    #[error("the line is cut off")]
    CutOff,
    /// Nothing tells whether it is whole.
    #[error("there is no check sum")]
    NoSum,
    /// It is not what was written.
    #[error("the check sum is wrong: this line or the one before it was changed or removed")]
    WrongSum,
    /// It was written by something else.
    #[error("not a record of a journal: {0}")]
    NoRecord(#[from] serde_json::Error),
    /// The plan of the first line makes no sense.
    #[error("{0}")]
    Plan(String),
    /// It cannot follow on the lines before it.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// What a journal says.
pub struct Read {
    /// The plan and what belongs to it.
    pub header: Header,
    /// How far the run got.
    pub state: State,
    /// The number of lines.
    pub lines: usize,
}

/// Reads a journal, to go on writing it.
///
/// # Errors
/// What is wrong with the file or its content, and where.
pub fn open(path: &Path) -> Result<(Read, Journal), JournalError> {
    let shown = shown_source(&path.to_string_lossy());
    let unreadable = |source| JournalError::Unreadable { path: shown.clone(), source };
    // the end of a pipe might never come
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    let mut file =
        OpenOptions::new().read(true).append(true).custom_flags(at_once).open(path).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::other("not a regular file")));
    }
    lock(&file, &shown)?;
    let mut bytes = Vec::new();
    (&mut file).take(MOST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MOST {
        return Err(unreadable(io::Error::other(format!("more than {MOST} bytes"))));
    }
    go_on(&bytes, Box::new(file)).map_err(|(line, problem)| JournalError::Damaged {
        path: shown.clone(),
        line,
        problem: printable(&problem.to_string(), 230),
    })
}

/// Reads the content of a journal, to go on writing it in `store`.
///
/// # Errors
/// See [`parse`].
pub fn go_on(bytes: &[u8], store: Box<dyn Store>) -> Result<(Read, Journal), (usize, LineError)> {
    let (read, chain) = parse_chain(bytes)?;
    Ok((read, Journal::go_on(store, chain)))
}

fn lock(file: &File, path: &str) -> Result<(), JournalError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => JournalError::InUse { path: path.to_owned() },
        TryLockError::Error(source) => JournalError::Unreadable { path: path.to_owned(), source },
    })
}

/// Reads the content of a journal.
///
/// # Errors
/// The number of the first wrong line, from 1, and what is wrong with it.
pub fn parse(bytes: &[u8]) -> Result<Read, (usize, LineError)> {
    parse_chain(bytes).map(|(read, _)| read)
}

fn parse_chain(bytes: &[u8]) -> Result<(Read, Chain), (usize, LineError)> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        (line, LineError::NotText)
    })?;
    let mut chain = Chain::default();
    let mut lines = (1..).zip(text.split_inclusive('\n'));
    let (number, first) = lines.next().ok_or((1, LineError::Empty))?;
    let header: Header = content(first, &mut chain).map_err(|problem| (number, problem))?;
    if let Some(fault) = header.fault() {
        return Err((number, LineError::Plan(fault)));
    }
    let mut read = Read { state: State::new(header.parts()), header, lines: 1 };
    for (number, line) in lines {
        let record: Record = content(line, &mut chain).map_err(|problem| (number, problem))?;
        read.state.apply(&record).map_err(|problem| (number, problem.into()))?;
        read.lines = number;
    }
    Ok((read, chain))
}

/// What a line says, if its check sum is right.
fn content<T: DeserializeOwned>(line: &str, chain: &mut Chain) -> Result<T, LineError> {
    let line = line.strip_suffix('\n').ok_or(LineError::CutOff)?;
    let (text, sum) = line.rsplit_once(' ').ok_or(LineError::NoSum)?;
    if sum != chain.next(text) {
        return Err(LineError::WrongSum);
    }
    Ok(serde_json::from_str(text)?)
}
