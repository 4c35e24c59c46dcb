//! Fate of a submission whose answer did not come: Ganeti's queue knows.

use std::time::Duration;

use super::client::JobClient;
use super::events::Event;
use super::job::{JobId, JobMark};
use super::journal::Record;
use super::report::Ending;
use super::runner::{MayEnd, Runner};
use super::state::JobPart;
use crate::remote::CallError;

/// Longest time for a daemon to enter jobs into the queue that it was given before
/// it, or the connection to it, went away.
const SETTLE: Duration = Duration::from_secs(5);
/// Number of looks for jobs while the daemon may still be about to enter them, and
/// how long to wait in between: ten minutes in all.
const LATE_LOOKS: u32 = 20;
const LATE_PAUSE: Duration = Duration::from_secs(30);

impl Runner<'_> {
    /// Finds out about jobs that may have been submitted.
    pub(super) fn clarify(&mut self, marks: &[JobMark], error: CallError) -> MayEnd<()> {
        let steps = marks.iter().map(|mark| mark.step.number()).collect();
        self.host.event(&Event::Unclear { steps, problem: error.to_string() });
        // a daemon that is still there may be slow; one that went away is not
        let late = matches!(error, CallError::Late(_));
        let (looks, pause) = if late { (LATE_LOOKS, LATE_PAUSE) } else { (1, SETTLE) };
        for _ in 0..looks {
            // only what was to be seen after a while is the truth
            self.host.pause(pause);
            self.adopt()?;
            if self.submitting().is_empty() {
                return Ok(());
            }
        }
        if late {
            return Err(Ending::Lost(error.to_string()));
        }
        let jobs = self.submitting();
        self.record(Record::Absent { jobs })?;
        self.vainly(error)
    }

    /// Compares the journal of an earlier run with Ganeti's queue.
    pub(super) fn reconcile(&mut self) -> MayEnd<()> {
        let at = self.millis();
        self.record(Record::Resumed { at })?;
        self.inherited = self.state.under_way().map(|job| job.id).collect();
        self.adopt()?;
        if self.submitting().is_empty() {
            return Ok(());
        }
        // the program that submitted them may have ended a moment ago
        self.host.pause(SETTLE);
        self.adopt()?;
        let jobs = self.submitting();
        if jobs.is_empty() { Ok(()) } else { self.record(Record::Absent { jobs }) }
    }

    fn submitting(&self) -> Vec<JobMark> {
        let parts = self.state.parts().filter(|(_, part)| **part == JobPart::Submitting);
        parts.map(|(mark, _)| mark).collect()
    }

    /// Takes note of the jobs that are in the queue.
    fn adopt(&mut self) -> MayEnd<()> {
        let (run, after) = (&self.header.run, self.header.after);
        let found = self.persist(|client: &mut dyn JobClient| client.jobs_of(run, after))?;
        for (job, mark) in found {
            match self.state.part(mark) {
                Some(JobPart::Submitting) if !self.state.knows(job) => self.enter(mark, job)?,
                Some(part) if part.job() == Some(job) => {}
                // it failed, and was or will be submitted again
                Some(_) if self.state.knows(job) => {}
                _ => return Err(Ending::Contradiction(unexpected(job, mark))),
            }
        }
        Ok(())
    }
}

fn unexpected(job: JobId, mark: JobMark) -> String {
    let JobMark { step, part } = mark;
    format!(
        "job {job} in Ganeti's queue is job {step}.{} of this run, but the journal does not say so: it was cut off or changed",
        part.saturating_add(1)
    )
}
