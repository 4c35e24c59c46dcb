//! Report on each step of a run.

use serde::Serialize;

use super::cleanup;
use super::job::{JobId, JobStatus};
use super::state::{JobPart, State};
use htools_model::words;
use htools_plan::graph::StepIdx;
use htools_plan::shell::Command;
use htools_plan::work::{Work, WorkStep};

/// Ending of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "how", content = "why", rename_all = "snake_case")]
pub enum Ending {
    /// Every step is done.
    Done,
    /// A step failed; the steps after it were not begun.
    Failed,
    /// It was interrupted.
    Interrupted,
    /// The remaining steps would not end in time.
    OutOfTime,
    /// Ganeti could no longer be reached, or its answers were malformed.
    Lost(String),
    /// The journal could not be written.
    Unrecorded(String),
    /// The journal and Ganeti's queue contradict each other.
    Contradiction(String),
}

impl Ending {
    /// Reason for an ending other than success, in words.
    pub fn told(&self) -> &str {
        match self {
            Ending::Lost(why) | Ending::Unrecorded(why) | Ending::Contradiction(why) => why,
            other => other.word(),
        }
    }

    /// Returns the word for the ending in reports.
    pub fn word(&self) -> &'static str {
        match self {
            Ending::Done => "done",
            Ending::Failed => "failed",
            Ending::Interrupted => "interrupted",
            Ending::OutOfTime => "out of time",
            Ending::Lost(_) => "connection lost",
            Ending::Unrecorded(_) => "not recorded",
            Ending::Contradiction(_) => "contradiction",
        }
    }
}

words!(
    /// State of a step at the end of a run.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub StepState, "state of a step" {
        /// All of it was done.
        Done = "done",
        /// Ganeti could not do it, or refused to.
        Failed = "failed",
        /// It is under way.
        Running = "running",
        /// Some of its jobs are done, and the others were not submitted.
        Begun = "begun, not finished",
        /// It is unknown whether its job was submitted, or how it ended.
        Unknown = "unknown",
        /// Not begun.
        NotStarted = "not started",
        /// Not begun, as it must follow a step that was not done.
        Dropped = "dropped",
    }
);

impl StepState {
    /// State of a step, by its jobs.
    pub(crate) fn of(parts: &[JobPart]) -> StepState {
        let any = |test: fn(&JobPart) -> bool| parts.iter().any(test);
        if parts.iter().all(JobPart::is_done) {
            StepState::Done
        } else if any(|part| matches!(part, JobPart::Submitting | JobPart::Gone { .. })) {
            StepState::Unknown
        } else if any(|part| matches!(part, JobPart::Submitted(..))) {
            StepState::Running
        } else if any(JobPart::has_failed) {
            StepState::Failed
        } else if any(JobPart::is_done) {
            StepState::Begun
        } else {
            StepState::NotStarted
        }
    }
}

/// Report on one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepReport {
    /// Its state.
    pub state: StepState,
    /// True if some of it was begun, or may have been. A job that Ganeti refused was not begun.
    pub began: bool,
    /// Its jobs in Ganeti's queue.
    pub jobs: Vec<JobId>,
    /// The problem.
    pub message: Option<String>,
    /// Commands that clean up after its live migrations, one of which may have stopped half-way.
    pub cleanup: Vec<Command>,
}

/// Report on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Its ending.
    pub ending: Ending,
    /// Reports on the steps, by step.
    pub steps: Vec<StepReport>,
}

impl Report {
    /// The report on a run.
    pub fn of(ending: Ending, work: &Work, state: &State) -> Report {
        let step = |step: StepIdx| StepReport::of(work.step(step), state.step(step));
        Report { ending, steps: state.steps().map(step).collect() }
    }

    /// Commands that clean up after all live migrations that may have stopped half-way.
    pub fn cleanup(&self) -> Vec<&Command> {
        self.steps.iter().flat_map(|step| &step.cleanup).collect()
    }

    /// The number of steps in one of these states.
    pub fn count(&self, states: &[StepState]) -> usize {
        self.steps.iter().filter(|step| states.contains(&step.state)).count()
    }

    /// The steps that failed, with their jobs' numbers.
    pub fn failed<'a>(&'a self, work: &'a Work) -> impl Iterator<Item = (usize, String, &'a StepReport)> {
        let steps = self.steps.iter().zip(&work.steps).enumerate();
        steps
            .filter(|(_, (report, _))| matches!(report.state, StepState::Failed | StepState::Unknown))
            .map(|(at, (report, step))| (at + 1, step.described(), report))
    }
}

impl StepReport {
    /// Report on a step that was dropped because `cause` was not done.
    #[must_use]
    pub(crate) fn dropped(self, cause: StepIdx) -> StepReport {
        let message = Some(format!("step {cause} was not done"));
        StepReport { state: StepState::Dropped, message, ..self }
    }

    /// Report on a step, from its jobs.
    pub(crate) fn of(step: &WorkStep, parts: &[JobPart]) -> StepReport {
        StepReport {
            state: StepState::of(parts),
            began: parts.iter().any(|part| !matches!(part, JobPart::NotStarted | JobPart::Refused(_))),
            jobs: parts.iter().filter_map(JobPart::job).collect(),
            message: parts.iter().find_map(message),
            cleanup: cleanup::commands(step, parts),
        }
    }
}

/// Problem of a job.
fn message(part: &JobPart) -> Option<String> {
    match part {
        JobPart::Refused(why) => Some(format!("not submitted: {why}")),
        JobPart::Failed(why) => Some(why.clone()),
        JobPart::Gone { job, .. } => Some(format!("job {job} is no longer in Ganeti's queue")),
        JobPart::Ended { job, status: JobStatus::Canceled, .. } => Some(format!("job {job} was cancelled")),
        JobPart::Ended { job, status: JobStatus::Error, message, .. } => {
            let why = message.as_deref().unwrap_or("Ganeti gives no reason");
            Some(format!("job {job} failed: {why}"))
        }
        JobPart::Submitting => Some("it is unknown whether its job was submitted".to_owned()),
        _ => None,
    }
}
