//! State of a run. The journal's records are the only way in which it changes, so
//! that reading a journal gives the state that the run was in.

use std::collections::HashSet;

use super::job::{JobId, JobMark, JobStatus, Watched};
use super::record::Record;
use htools_plan::graph::StepIdx;

/// State of one job of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JobPart {
    /// Nothing was done about it.
    NotStarted,
    /// It is about to be submitted, or was, without an answer.
    Submitting,
    /// It is in Ganeti's queue, under this number, and was this far when last seen.
    Submitted(JobId, JobStatus),
    /// Ganeti refused it, and says why.
    Refused(String),
    /// It came to its end.
    Ended {
        /// Its number.
        job: JobId,
        /// How.
        status: JobStatus,
        /// The words of its failed opcode.
        message: Option<String>,
        /// Position of the opcode that failed while it was carried out.
        failed_opcode: Option<usize>,
    },
    /// It was submitted and is not in Ganeti's queue any more.
    Gone {
        /// Its number.
        job: JobId,
        /// True unless it was last seen before it began.
        begun: bool,
    },
    /// This program has done it itself.
    Performed,
    /// This program was to do it itself, and could not.
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

    /// Tells if it ended well.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self, JobPart::Ended { status: JobStatus::Success, .. } | JobPart::Performed)
    }

    /// Tells if it ended otherwise.
    pub(crate) fn has_failed(&self) -> bool {
        match self {
            JobPart::Refused(_) | JobPart::Gone { .. } | JobPart::Failed(_) => true,
            JobPart::Ended { status, .. } => *status != JobStatus::Success,
            JobPart::NotStarted | JobPart::Submitting | JobPart::Submitted(..) | JobPart::Performed => false,
        }
    }
}

/// Why a record cannot follow on what is already known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A number stands for one job.
    #[error("job {0} is recorded twice")]
    Twice(JobId),
    /// It can only have ended as something final.
    #[error("job {job} cannot have ended as '{}'", .status.as_str())]
    NotFinal {
        /// Its number.
        job: JobId,
        /// The ending that it cannot have.
        status: JobStatus,
    },
    /// The plan has no such job.
    #[error("there is no job {}.{}", .0.step, .0.part.saturating_add(1))]
    NoJob(JobMark),
    /// Something else has to come first.
    #[error("job {}.{} cannot be {what} now", .mark.step, .mark.part + 1)]
    OutOfTurn {
        /// The job.
        mark: JobMark,
        /// The state that it would get.
        what: &'static str,
    },
}

/// States of all jobs of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// By step and part.
    steps: Vec<Vec<JobPart>>,
    /// The numbers in use.
    jobs: HashSet<JobId>,
}

impl State {
    /// Nothing was done yet. `parts` holds the number of jobs of each step.
    pub fn new(parts: impl IntoIterator<Item = usize>) -> State {
        let steps = parts.into_iter().map(|count| vec![JobPart::NotStarted; count]).collect();
        State { steps, jobs: HashSet::new() }
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
    pub(crate) fn under_way(&self) -> impl Iterator<Item = Watched> {
        self.parts().filter_map(|(_, part)| match part {
            JobPart::Submitted(id, status) => Some(Watched { id: *id, status: *status }),
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

    /// Tells if a number is in use, or was.
    pub(crate) fn knows(&self, id: JobId) -> bool {
        self.jobs.contains(&id)
    }

    /// Tells if all jobs of a step ended well.
    pub fn is_done(&self, step: StepIdx) -> bool {
        self.steps[step.get()].iter().all(JobPart::is_done)
    }

    /// Tells if some job of a step failed.
    pub fn has_failed(&self, step: StepIdx) -> bool {
        self.steps[step.get()].iter().any(JobPart::has_failed)
    }

    /// Tells if something was done about a step.
    pub fn has_begun(&self, step: StepIdx) -> bool {
        self.steps[step.get()].iter().any(|part| *part != JobPart::NotStarted)
    }

    /// Notes how far a job is that is in the queue.
    pub(crate) fn note(&mut self, mark: JobMark, now: JobStatus) {
        if let JobPart::Submitted(_, status) = &mut self.steps[mark.step.get()][mark.part] {
            *status = now;
        }
    }

    /// Changes as a record says.
    ///
    /// # Errors
    /// Why the record cannot follow on what is already known.
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
            Record::Performed { mark } => {
                self.change(*mark, "done", |part| *part == JobPart::Submitting, JobPart::Performed)
            }
            Record::Gone { mark, job, begun } => {
                let known = |part: &JobPart| matches!(part, JobPart::Submitted(id, _) if id == job);
                self.change(*mark, "gone", known, JobPart::Gone { job: *job, begun: *begun })
            }
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
