//! Walks through a run task by task, and records each before and after it is done.

use std::time::UNIX_EPOCH;

use super::client::CibClient;
use super::record::{CibHeader, CibRead, CibRecord};
use super::surroundings::{CibSurroundings, SOURCE, await_rest, compare, persist};
use super::task::{CibTask, obstacle};
use crate::cib::change::CibChange;
use htools_ganeti::execute::Ending;
use htools_ganeti::execute::journal::Journal;

/// Attempts to ask a cluster that does not answer.
const ATTEMPTS: u32 = 4;

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
pub trait CibHost: CibSurroundings {
    /// Receives an event.
    fn event(&mut self, event: &CibEvent);
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
            CibTask::Await => await_rest(self.client, self.host, ATTEMPTS, header.limit)?,
            CibTask::Compare => compare(&header.expected, &self.ask()?),
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

    fn ask(&mut self) -> Result<String, Ending> {
        persist(self.client, self.host, ATTEMPTS, |client| client.document())
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
