//! Reconciliation with Ganeti's queue of submissions whose answers were lost.

use std::time::Duration;

use super::client::JobClient;
use super::events::Event;
use super::job::{JobId, JobMark};
use super::journal::Record;
use super::report::Ending;
use super::runner::{MayEnd, Runner};
use super::state::JobPart;
use crate::remote::CallError;

/// Maximum time for a daemon to enter jobs that it received before it, or the connection to it, went away.
const SETTLE: Duration = Duration::from_secs(5);
/// Number of looks for jobs while the daemon may still enter them, and the pause between looks: ten minutes in all.
const LATE_LOOKS: u32 = 20;
const LATE_PAUSE: Duration = Duration::from_secs(30);

impl Runner<'_> {
    /// Finds out whether jobs were submitted whose submission failed with an error.
    pub(super) fn clarify(&mut self, marks: &[JobMark], error: CallError) -> MayEnd<()> {
        let steps = marks.iter().map(|mark| mark.step.number()).collect();
        self.host.event(&Event::Unclear { steps, problem: error.to_string() });
        // A daemon that is still running may be slow; one that went away enters no more jobs.
        let late = matches!(error, CallError::Late(_));
        let (looks, pause) = if late { (LATE_LOOKS, LATE_PAUSE) } else { (1, SETTLE) };
        for _ in 0..looks {
            // Only after the pause is the content of the queue reliable.
            self.host.pause(pause);
            self.record_found_jobs()?;
            if self.submitting().is_empty() {
                return Ok(());
            }
        }
        if late {
            return Err(Ending::Lost(error.to_string()));
        }
        let jobs = self.submitting();
        self.record(Record::Absent { jobs })?;
        self.submission_failed(error)
    }

    /// Compares the journal of an earlier run with Ganeti's queue.
    pub(super) fn reconcile(&mut self) -> MayEnd<()> {
        let at = self.millis();
        self.record(Record::Resumed { at })?;
        self.inherited = self.state.under_way().map(|job| job.id).collect();
        self.record_found_jobs()?;
        self.inherit()?;
        if self.submitting().is_empty() {
            return Ok(());
        }
        // The program that submitted them may have ended a moment ago.
        self.host.pause(SETTLE);
        self.record_found_jobs()?;
        let jobs = self.submitting();
        if jobs.is_empty() { Ok(()) } else { self.record(Record::Absent { jobs }) }
    }

    /// Goes on with the steps without jobs that an earlier program has begun. Those that changed nothing are begun
    /// anew.
    fn inherit(&mut self) -> MayEnd<()> {
        if self.header.maintenance.is_none() {
            return Ok(());
        }
        for mark in self.submitting() {
            let has_job = !self.header.work.step(mark.step).opcodes.is_empty();
            if !has_job && !self.inherit_node_work(mark) {
                self.record(Record::Absent { jobs: vec![mark] })?;
            }
        }
        Ok(())
    }

    /// The jobs whose submission is not clear. Steps without jobs that are under way are not among them.
    fn submitting(&self) -> Vec<JobMark> {
        let parts = self.state.parts().filter(|(_, part)| **part == JobPart::Submitting);
        let marks = parts.map(|(mark, _)| mark);
        marks.filter(|mark| !self.is_under_way(*mark)).collect()
    }

    /// Records the jobs of this run that are in the queue.
    fn record_found_jobs(&mut self) -> MayEnd<()> {
        let (run, after) = (&self.header.run, self.header.after);
        let found = self.persist(|client: &mut dyn JobClient| client.jobs_of(run, after))?;
        for (job, mark) in found {
            match self.state.part(mark) {
                Some(JobPart::Submitting) if !self.state.knows(job) => self.enter(mark, job)?,
                Some(part) if part.job() == Some(job) => {}
                // The job failed, and was or will be submitted again.
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
        "job {job} in Ganeti's queue is job {step}.{} of this run, but the journal does not have it: the journal was cut off or changed",
        part.saturating_add(1)
    )
}
