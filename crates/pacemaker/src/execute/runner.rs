//! Walks through a run task by task, and records each before and after it is done.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::client::{CibCallError, CibClient};
use super::record::{CibHeader, CibRead, CibRecord};
use super::task::{CibTask, difference, obstacle};
use crate::cib::change::CibChange;
use crate::cib::parse;
use crate::pinning::{ExpectedPlace, current};
use htools_ganeti::execute::Ending;
use htools_ganeti::execute::journal::Journal;

/// Longest time to wait for the cluster before looking for an interrupt.
const SLICE: Duration = Duration::from_secs(3);
/// Attempts to ask a cluster that does not answer.
const ATTEMPTS: u32 = 4;
/// Pause before the next attempt.
const PAUSE: Duration = Duration::from_secs(2);
/// Source of documents, for errors.
const SOURCE: &str = "the cluster";

/// An event of a run. Tasks are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CibEvent {
    /// A task begins.
    Begins(usize),
    /// It is done.
    Ends(usize),
    /// It was found done already.
    WasDone(usize),
    /// The cluster does not answer, and will be asked again.
    NoAnswer(String),
}

/// Surroundings of a run besides the cluster.
pub trait CibHost {
    /// Receives an event.
    fn event(&mut self, event: &CibEvent);
    /// Returns true if nothing more should be done.
    fn wants_to_stop(&self) -> bool;
    /// Lets time pass.
    fn pause(&mut self, time: Duration);
    /// The present time.
    fn now(&self) -> SystemTime;
}

/// A run under way.
pub struct CibRunner<'a> {
    client: &'a mut dyn CibClient,
    host: &'a mut dyn CibHost,
    journal: Journal,
    read: CibRead,
}

impl<'a> CibRunner<'a> {
    /// A run with a new journal, or with one that was read.
    pub fn new(
        client: &'a mut dyn CibClient,
        host: &'a mut dyn CibHost,
        journal: Journal,
        read: CibRead,
    ) -> CibRunner<'a> {
        CibRunner { client, host, journal, read }
    }

    /// Notes that the run is taken up again.
    ///
    /// # Errors
    /// Fails if the journal cannot be written.
    pub fn resumed(&mut self) -> Result<(), Ending> {
        let at = self.millis();
        self.record(&CibRecord::Resumed { at })
    }

    /// Does all that is left to do. Returns the ending, and the state of each task.
    pub fn walk(mut self) -> (Ending, CibRead) {
        let ending = loop {
            let Some(task) = self.read.next() else { break Ending::Done };
            if self.host.wants_to_stop() {
                break Ending::Interrupted;
            }
            match self.perform(task) {
                Ok(true) => {}
                Ok(false) => break Ending::Failed,
                Err(ending) => break ending,
            }
        };
        if !matches!(ending, Ending::Unrecorded(_)) {
            let (at, word) = (self.millis(), ending.word().to_owned());
            // the run is over either way
            let _ = self.record(&CibRecord::Closed { at, ending: word });
        }
        (ending, self.read)
    }

    /// Does a task. Returns true if it succeeded.
    fn perform(&mut self, task: usize) -> Result<bool, Ending> {
        self.record(&CibRecord::Beginning { task })?;
        self.host.event(&CibEvent::Begins(task));
        let header = self.read.header.clone();
        let done = match header.tasks()[task] {
            CibTask::Make(change) => self.make(task, &header, change)?,
            CibTask::Await => self.await_rest(header.limit)?,
            CibTask::Compare => self.compare(&header.expected)?,
        };
        match done {
            Ok(()) => {
                self.record(&CibRecord::Done { task })?;
                self.host.event(&CibEvent::Ends(task));
                Ok(true)
            }
            Err(why) => {
                self.record(&CibRecord::Failed { task, why })?;
                Ok(false)
            }
        }
    }

    /// Makes a change, unless it is already made or the cluster has changed.
    fn make(
        &mut self,
        task: usize,
        header: &CibHeader,
        change: &CibChange,
    ) -> Result<Result<(), String>, Ending> {
        let document = self.ask()?;
        match change.is_made_in(&document, SOURCE) {
            Ok(false) => {}
            Ok(true) => {
                self.host.event(&CibEvent::WasDone(task));
                return Ok(Ok(()));
            }
            Err(error) => return Ok(Err(error.to_string())),
        }
        let was = if task == 0 { &header.was } else { &header.expected };
        if let Some(why) = obstacle(change, was, &header.expected, &document) {
            return Ok(Err(why));
        }
        let Err(error) = self.client.make(change) else { return Ok(Ok(())) };
        // The change may have been made all the same.
        let document = self.ask()?;
        Ok(match change.is_made_in(&document, SOURCE) {
            Ok(true) => Ok(()),
            _ => Err(error.to_string()),
        })
    }

    /// Waits for the cluster in slices, so that an onlooker can end the wait.
    fn await_rest(&mut self, limit: u64) -> Result<Result<(), String>, Ending> {
        let end = self.host.now() + Duration::from_secs(limit);
        loop {
            if self.persist(|client| client.await_rest(SLICE))? {
                return Ok(Ok(()));
            }
            if self.host.wants_to_stop() {
                return Err(Ending::Interrupted);
            }
            if self.host.now() >= end {
                return Ok(Err(format!("the cluster was not at rest within {limit} s")));
            }
        }
    }

    fn compare(&mut self, expected: &[ExpectedPlace]) -> Result<Result<(), String>, Ending> {
        let document = self.ask()?;
        Ok(match parse(&document, SOURCE) {
            Ok(set) => difference(expected, &current(&set)).map_or(Ok(()), Err),
            Err(error) => Err(error.to_string()),
        })
    }

    fn ask(&mut self) -> Result<String, Ending> {
        self.persist(|client| client.document())
    }

    /// Asks until there is an answer, in a limited number of attempts.
    fn persist<T>(
        &mut self,
        mut ask: impl FnMut(&mut dyn CibClient) -> Result<T, CibCallError>,
    ) -> Result<T, Ending> {
        let mut attempt = 0;
        loop {
            let error = match ask(self.client) {
                Ok(answer) => return Ok(answer),
                Err(error) => error.to_string(),
            };
            attempt += 1;
            if attempt == ATTEMPTS {
                return Err(Ending::Lost(error));
            }
            self.host.event(&CibEvent::NoAnswer(error));
            self.host.pause(PAUSE);
        }
    }

    /// Applies a record to the state, and writes it to the journal. An impossible record is not written.
    fn record(&mut self, record: &CibRecord) -> Result<(), Ending> {
        self.read.apply(record).map_err(Ending::Contradiction)?;
        self.journal.write(record).map_err(|error| Ending::Unrecorded(error.to_string()))
    }

    fn millis(&self) -> u64 {
        let time = self.host.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    }
}
