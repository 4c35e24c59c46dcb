//! State of a run. It changes only by the journal's records, so reading a journal restores the state of the run.

use std::collections::{HashMap, HashSet};

use super::job::{JobId, JobMark, JobStatus, WatchedJob};
use super::record::Record;
use htools_plan::graph::StepIdx;

/// State of one job of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JobPart {
    /// Not begun.
    NotStarted,
    /// About to be submitted, or submitted without an answer yet.
    Submitting,
    /// In Ganeti's queue under this number, with its last known status.
    Submitted(JobId, JobStatus),
    /// Refused by Ganeti, with the reason.
    Refused(String),
    /// Ended.
    Ended {
        /// Its number.
        job: JobId,
        /// Final status.
        status: JobStatus,
        /// Message of its failed opcode.
        message: Option<String>,
        /// Position of the opcode that failed; `None` if it failed before it had changed anything.
        failed_opcode: Option<usize>,
    },
    /// Submitted, but no longer in Ganeti's queue.
    Gone {
        /// Its number.
        job: JobId,
        /// True unless it was last seen before it began.
        begun: bool,
    },
    /// Done by this program itself.
    Performed,
    /// To be done by this program, but failed.
    Failed(String),
}

impl JobPart {
    /// Its number in Ganeti's queue, if it got there.
    pub(crate) fn job(&self) -> Option<JobId> {
        match self {
            JobPart::Submitted(id, _) | JobPart::Ended { job: id, .. } | JobPart::Gone { job: id, .. } => {
                Some(*id)
            }
            JobPart::NotStarted
            | JobPart::Submitting
            | JobPart::Refused(_)
            | JobPart::Performed
            | JobPart::Failed(_) => None,
        }
    }

    /// Tells if it succeeded.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self, JobPart::Ended { status: JobStatus::Success, .. } | JobPart::Performed)
    }

    /// Tells if it failed.
    pub(crate) fn has_failed(&self) -> bool {
        match self {
            JobPart::Refused(_) | JobPart::Gone { .. } | JobPart::Failed(_) => true,
            JobPart::Ended { status, .. } => *status != JobStatus::Success,
            JobPart::NotStarted | JobPart::Submitting | JobPart::Submitted(..) | JobPart::Performed => false,
        }
    }
}

/// Reason that a record contradicts the state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The number belongs to another job.
    #[error("job {0} is recorded twice")]
    Twice(JobId),
    /// The status is not a final one.
    #[error("job {job} cannot have ended with status '{}'", .status.as_str())]
    NotFinal {
        /// Its number.
        job: JobId,
        /// The status.
        status: JobStatus,
    },
    /// The plan has no such job.
    #[error("there is no job {}.{}", .0.step, .0.part.saturating_add(1))]
    NoJob(JobMark),
    /// Another record must come first.
    #[error("the record says that job {}.{} is {what}, which contradicts earlier records", .mark.step, .mark.part + 1)]
    OutOfTurn {
        /// The job.
        mark: JobMark,
        /// The new state.
        what: &'static str,
    },
}

/// States of all jobs of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Jobs by step and part.
    steps: Vec<Vec<JobPart>>,
    /// The numbers in use.
    jobs: HashSet<JobId>,
    /// Boot IDs of nodes before the steps that take them out of service.
    boots: HashMap<StepIdx, String>,
}

impl State {
    /// The state before anything is done. `parts` has the number of jobs of each step.
    pub fn new(parts: impl IntoIterator<Item = usize>) -> State {
        let steps = parts.into_iter().map(|count| vec![JobPart::NotStarted; count]).collect();
        State { steps, jobs: HashSet::new(), boots: HashMap::new() }
    }

    /// Adds steps that are not begun. `parts` has the number of jobs of each.
    pub(crate) fn extend(&mut self, parts: impl IntoIterator<Item = usize>) {
        self.steps.extend(parts.into_iter().map(|count| vec![JobPart::NotStarted; count]));
    }

    /// Boot ID of a node before this step took it out of service; `None` if the step has changed nothing.
    pub(crate) fn boot_before(&self, step: StepIdx) -> Option<&str> {
        self.boots.get(&step).map(String::as_str)
    }

    /// The parts of a step.
    pub(crate) fn step(&self, step: StepIdx) -> &[JobPart] {
        &self.steps[step.get()]
    }

    /// All steps.
    pub fn steps(&self) -> impl Iterator<Item = StepIdx> + use<> {
        (0..self.steps.len()).map(StepIdx::new)
    }

    /// All jobs, with their marks.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (JobMark, &JobPart)> {
        let of_step = |(step, parts)| {
            let parts: &Vec<JobPart> = parts;
            parts
                .iter()
                .enumerate()
                .map(move |(part, state)| (JobMark { step: StepIdx::new(step), part }, state))
        };
        self.steps.iter().enumerate().flat_map(of_step)
    }

    /// Jobs in Ganeti's queue that have not ended.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = WatchedJob> {
        self.parts().filter_map(|(_, part)| match part {
            JobPart::Submitted(id, status) => Some(WatchedJob { id: *id, status: *status }),
            _ => None,
        })
    }

    /// One job.
    pub(crate) fn part(&self, mark: JobMark) -> Option<&JobPart> {
        self.steps.get(mark.step.get())?.get(mark.part)
    }

    /// The job with this number.
    pub(crate) fn find(&self, id: JobId) -> Option<JobMark> {
        self.parts().find(|(_, part)| part.job() == Some(id)).map(|(mark, _)| mark)
    }

    /// Tells if a number is or was in use.
    pub(crate) fn knows(&self, id: JobId) -> bool {
        self.jobs.contains(&id)
    }

    /// Tells if all jobs of a step succeeded.
    pub fn is_done(&self, step: StepIdx) -> bool {
        self.steps[step.get()].iter().all(JobPart::is_done)
    }

    /// Tells if some job of a step failed.
    pub fn has_failed(&self, step: StepIdx) -> bool {
        self.steps[step.get()].iter().any(JobPart::has_failed)
    }

    /// Tells if a step has begun.
    pub fn has_begun(&self, step: StepIdx) -> bool {
        self.steps[step.get()].iter().any(|part| *part != JobPart::NotStarted)
    }

    /// Sets the present status of a job in the queue.
    pub(crate) fn note(&mut self, mark: JobMark, now: JobStatus) {
        if let JobPart::Submitted(_, status) = &mut self.steps[mark.step.get()][mark.part] {
            *status = now;
        }
    }

    /// Applies a record.
    ///
    /// # Errors
    /// If the record contradicts the state.
    pub(crate) fn apply(&mut self, record: &Record) -> Result<(), RecordError> {
        match record {
            Record::Submitting { jobs } => jobs.iter().try_for_each(|mark| {
                self.change(
                    *mark,
                    "submitted",
                    |part| matches!(part, JobPart::NotStarted),
                    JobPart::Submitting,
                )
            }),
            Record::Submitted { mark, job } => {
                if !self.jobs.insert(*job) {
                    return Err(RecordError::Twice(*job));
                }
                let submitting = |part: &JobPart| *part == JobPart::Submitting;
                self.change(*mark, "in the queue", submitting, JobPart::Submitted(*job, JobStatus::Queued))
            }
            Record::Absent { jobs } => jobs.iter().try_for_each(|mark| {
                self.change(*mark, "absent", |part| *part == JobPart::Submitting, JobPart::NotStarted)
            }),
            Record::Refused { jobs, why } => jobs.iter().try_for_each(|mark| {
                let submitting = |part: &JobPart| *part == JobPart::Submitting;
                self.change(*mark, "refused", submitting, JobPart::Refused(why.clone()))
            }),
            Record::Again { mark } => {
                let failed = |part: &JobPart| matches!(part, JobPart::Ended { status: JobStatus::Error, .. });
                self.change(*mark, "submitted again", failed, JobPart::NotStarted)
            }
            Record::Ended { mark, job, status, message, failed_opcode, .. } => {
                if !status.is_final() {
                    return Err(RecordError::NotFinal { job: *job, status: *status });
                }
                let known = |part: &JobPart| matches!(part, JobPart::Submitted(id, _) if id == job);
                let (job, status, message, failed_opcode) = (*job, *status, message.clone(), *failed_opcode);
                self.change(*mark, "ended", known, JobPart::Ended { job, status, message, failed_opcode })
            }
            Record::Failed { mark, why } => {
                let known = |part: &JobPart| *part == JobPart::Submitting;
                self.change(*mark, "failed", known, JobPart::Failed(why.clone()))
            }
            Record::Noted { mark, boot } => {
                let open = |part: &JobPart| matches!(part, JobPart::NotStarted | JobPart::Submitting);
                if !self.part(*mark).ok_or(RecordError::NoJob(*mark)).map(open)? {
                    return Err(RecordError::OutOfTurn { mark: *mark, what: "about to begin" });
                }
                self.boots.insert(mark.step, boot.clone());
                Ok(())
            }
            Record::Performed { mark, .. } => {
                self.change(*mark, "done", |part| *part == JobPart::Submitting, JobPart::Performed)
            }
            Record::Gone { mark, job, begun } => {
                let known = |part: &JobPart| matches!(part, JobPart::Submitted(id, _) if id == job);
                self.change(*mark, "gone", known, JobPart::Gone { job: *job, begun: *begun })
            }
            // The steps of a batch are added by the reader of the journal, which has the plan.
            Record::Planned { .. } | Record::Skipped { .. } | Record::Soaking { .. } => Ok(()),
            Record::NotRebooted { .. } => Ok(()),
            Record::Resumed { .. } | Record::Closed { .. } => Ok(()),
        }
    }

    fn change(
        &mut self,
        mark: JobMark,
        what: &'static str,
        may: impl Fn(&JobPart) -> bool,
        new: JobPart,
    ) -> Result<(), RecordError> {
        let found = self.steps.get_mut(mark.step.get()).and_then(|parts| parts.get_mut(mark.part));
        let state = found.ok_or(RecordError::NoJob(mark))?;
        if !may(state) {
            return Err(RecordError::OutOfTurn { mark, what });
        }
        *state = new;
        Ok(())
    }
}
