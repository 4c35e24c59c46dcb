//! Reading journals.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;
use serde::de::DeserializeOwned;

use super::{Chain, Header, Journal, Record};
use crate::execute::job::JobId;
use crate::execute::lines::{DurableFile, LineFile, Store};
use crate::execute::state::{RecordError, State};
use crate::execute::terms::{BegunBatch, MaintenanceCourse, PlannedBatch};
use crate::input::LoadError;
use crate::input::local::{Readers, check_ours, read_limited, read_regular};
use htools_model::shown::{printable, shown_source};
use htools_plan::durations::Measured;
use htools_plan::graph::StepIdx;

/// Maximum size of a journal in bytes: some hundred thousand steps.
const MOST: u64 = 256 << 20;

/// Reason that a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file may not be read for this purpose.
    #[error(transparent)]
    Refused(#[from] LoadError),
    /// The file cannot be read.
    #[error("{path}: cannot be read")]
    Unreadable {
        /// The file.
        path: String,
        /// Reason.
        source: io::Error,
    },
    /// Another program is using the journal.
    #[error("{path}: another program is executing this run")]
    InUse {
        /// The file.
        path: String,
    },
    /// The journal is cut off, was changed, or is another kind of file.
    #[error("{path}, line {line}: {problem}")]
    Damaged {
        /// The file.
        path: String,
        /// Number of the line, from 1.
        line: usize,
        /// The problem there.
        problem: String,
    },
}

/// Fault of a line of a journal.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It is not valid UTF-8.
    #[error("it is not valid UTF-8")]
    NotText,
    /// The file has no lines.
    #[error("it is empty")]
    Empty,
    /// The first line is cut off.
    #[error("the line is cut off; if this is the first line, no jobs were submitted")]
    CutOff,
    /// It has no check sum.
    #[error("there is no check sum")]
    NoSum,
    /// The check sum is wrong.
    #[error("the check sum is wrong: this line or the one before it was changed or removed")]
    WrongSum,
    /// It was not written by this program.
    #[error("not a record of a journal: {0}")]
    NoRecord(#[from] serde_json::Error),
    /// The plan in the first line is invalid.
    #[error("{0}")]
    Plan(String),
    /// It cannot follow the lines before it.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The same in another kind of journal, in words.
    #[error("{0}")]
    OutOfTurn(String),
}

/// State that results from the lines of one kind of journal.
pub trait JournalForm: Sized {
    /// Content of the first line.
    type Header: DeserializeOwned;
    /// Content of each other line.
    type Record: DeserializeOwned;

    /// State before anything happened.
    ///
    /// # Errors
    /// If the header is invalid.
    fn begin(header: Self::Header) -> Result<Self, LineError>;

    /// Applies the line with this number.
    ///
    /// # Errors
    /// If it cannot follow the lines before it.
    fn take(&mut self, number: usize, record: Self::Record) -> Result<(), LineError>;
}

/// Content of a journal.
pub struct Read {
    /// The header with the plan.
    pub header: Header,
    /// State of the run.
    pub state: State,
    /// Run times of jobs in milliseconds, as far as they are known.
    pub times: HashMap<JobId, u64>,
    /// Times of steps that this program did itself, in milliseconds, as far as they are known.
    pub own_times: HashMap<StepIdx, u64>,
    /// The batches, nodes and waits of a rolling maintenance.
    pub course: MaintenanceCourse,
    /// The number of lines.
    pub lines: usize,
}

impl Read {
    /// The steps with a single successful job, and the time that each took.
    pub fn measured(&self) -> impl Iterator<Item = Measured<'_>> {
        let steps = self.state.steps().filter(|step| self.state.is_done(*step));
        let times = steps.filter_map(|step| {
            if let Some(took) = self.own_times.get(&step) {
                return Some((step, Duration::from_millis(*took)));
            }
            let parts = self.state.step(step);
            let took = parts.iter().map(|part| self.times.get(&part.job()?)).collect::<Option<Vec<_>>>()?;
            Some((step, Duration::from_millis(took.into_iter().sum())))
        });
        times.map(|(step, took)| Measured { step: self.header.work.step(step), took })
    }
}

/// Reads a journal for its information only; another program may be writing it.
///
/// # Errors
/// Faults of the file or its content, with their place.
pub fn read(path: &Path) -> Result<Read, JournalError> {
    read_of(path, Readers::Anyone)
}

/// Reads a journal that decides what will be done.
///
/// # Errors
/// As [`read`]; also if other users own the file or can write to it.
pub fn read_ours(path: &Path) -> Result<Read, JournalError> {
    read_of(path, Readers::AnyoneNoWriters)
}

fn read_of(path: &Path, readers: Readers) -> Result<Read, JournalError> {
    let bytes = read_regular(path, MOST, readers)?;
    parse(&bytes).map_err(|(line, problem)| damaged(&shown_source(&path.to_string_lossy()), line, &problem))
}

/// Opens a journal, to continue it.
///
/// # Errors
/// Faults of the file or its content, with their place; also if other users own the file or can write to it.
pub fn open<F: JournalForm>(path: &Path) -> Result<(F, Journal), JournalError> {
    let shown = shown_source(&path.to_string_lossy());
    let unreadable = |source| JournalError::Unreadable { path: shown.clone(), source };
    // Do not block on a pipe, which might never end.
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    let file =
        OpenOptions::new().read(true).append(true).custom_flags(at_once).open(path).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() {
        return Err(LoadError::one_line(&shown, "not a regular file").into());
    }
    check_ours(&about).map_err(|error| error.of_file(&shown))?;
    lock(&file, &shown)?;
    let bytes = read_limited(&file, MOST).map_err(unreadable)?;
    go_on(&bytes, Box::new(DurableFile(file))).map_err(|(line, problem)| damaged(&shown, line, &problem))
}

fn damaged(path: &str, line: usize, problem: &LineError) -> JournalError {
    JournalError::Damaged { path: path.to_owned(), line, problem: printable(&problem.to_string(), 230) }
}

/// Reads the content of a journal, to continue it in `store`.
///
/// # Errors
/// As [`parse`].
pub fn go_on<F: JournalForm>(
    bytes: &[u8],
    store: Box<dyn Store>,
) -> Result<(F, Journal), (usize, LineError)> {
    let whole = whole_lines(bytes);
    let (read, chain) = parse_chain(whole)?;
    let lines = LineFile::go_on(store, whole.len() as u64, whole.len() < bytes.len());
    Ok((read, Journal::go_on(lines, chain)))
}

fn lock(file: &File, path: &str) -> Result<(), JournalError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => JournalError::InUse { path: path.to_owned() },
        TryLockError::Error(source) => JournalError::Unreadable { path: path.to_owned(), source },
    })
}

/// Parses the content of a journal.
///
/// # Errors
/// The number of the first faulty line, from 1, and its fault.
pub fn parse<F: JournalForm>(bytes: &[u8]) -> Result<F, (usize, LineError)> {
    parse_chain(whole_lines(bytes)).map(|(read, _)| read)
}

/// The content without a last line that is cut off, unless that is the only line.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    end.map_or(bytes, |end| &bytes[..=end])
}

fn parse_chain<F: JournalForm>(bytes: &[u8]) -> Result<(F, Chain), (usize, LineError)> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        (line, LineError::NotText)
    })?;
    let mut chain = Chain::default();
    let mut lines = (1..).zip(text.split_inclusive('\n'));
    let (number, first) = lines.next().ok_or((1, LineError::Empty))?;
    let header = content(first, &mut chain).map_err(|problem| (number, problem))?;
    let mut read = F::begin(header).map_err(|problem| (number, problem))?;
    for (number, line) in lines {
        let record = content(line, &mut chain).map_err(|problem| (number, problem))?;
        read.take(number, record).map_err(|problem| (number, problem))?;
    }
    Ok((read, chain))
}

impl JournalForm for Read {
    type Header = Header;
    type Record = Record;

    fn begin(header: Header) -> Result<Read, LineError> {
        if let Some(fault) = header.fault() {
            return Err(LineError::Plan(fault));
        }
        let state = State::new(header.parts());
        let (times, own_times) = (HashMap::new(), HashMap::new());
        Ok(Read { state, header, times, own_times, course: MaintenanceCourse::default(), lines: 1 })
    }

    fn take(&mut self, number: usize, record: Record) -> Result<(), LineError> {
        self.apply(record)?;
        self.lines = number;
        Ok(())
    }
}

impl Read {
    /// Applies a record.
    ///
    /// # Errors
    /// If it contradicts the earlier ones.
    pub(crate) fn apply(&mut self, record: Record) -> Result<(), LineError> {
        self.state.apply(&record)?;
        match record {
            Record::Ended { job, took: Some(took), .. } => {
                self.times.insert(job, took);
            }
            Record::Performed { mark, took: Some(took) } => {
                self.own_times.insert(mark.step, took);
            }
            Record::Planned { batch } => self.append(batch)?,
            Record::Skipped { node, why } => {
                self.course.skipped.insert(node, why);
            }
            Record::NotRebooted { node } => {
                self.course.not_rebooted.insert(node, self.course.batches.len());
            }
            Record::Soaking { until } => self.course.soaks_until = Some(until),
            _ => {}
        }
        Ok(())
    }

    /// Appends the steps of a batch to the plan.
    fn append(&mut self, batch: PlannedBatch) -> Result<(), LineError> {
        if self.header.maintenance.is_none() {
            return Err(LineError::OutOfTurn("a batch of a run that is no maintenance".to_owned()));
        }
        if let Some(fault) = batch.work.fault() {
            return Err(LineError::Plan(fault));
        }
        self.state.extend(self.header.parts_of(&batch.work));
        let PlannedBatch { nodes, kind, not_redundant, work } = batch;
        let steps = self.header.work.append(work);
        self.course.batches.push(BegunBatch { nodes, kind, not_redundant, steps });
        Ok(())
    }
}

/// Content of a line, if its check sum is right.
fn content<T: DeserializeOwned>(line: &str, chain: &mut Chain) -> Result<T, LineError> {
    let line = line.strip_suffix('\n').ok_or(LineError::CutOff)?;
    let (text, sum) = line.rsplit_once(' ').ok_or(LineError::NoSum)?;
    if sum != chain.next(text) {
        return Err(LineError::WrongSum);
    }
    Ok(serde_json::from_str(text)?)
}
