//! The part of the state of a run that its journal does not tell: steps that may begin, nodes that are waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use super::job::{JobMark, Watched};
use super::journal::StreamPace;
use super::nodes::BOOT;
use htools_plan::graph::StepIdx;
use htools_plan::stream::{Dispatch, PlanSchedule};
use htools_plan::work::Work;

/// The first pause before a job is submitted again; each is twice the one before.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// Terms of a run that are not a part of its plan.
#[derive(Debug, Clone)]
pub struct RunTerms {
    /// By step, how long it takes, in seconds; nothing if nobody asked.
    pub seconds: Vec<f64>,
    /// When the last step has to have ended.
    pub deadline: Option<SystemTime>,
    /// Longest time for a node to answer after it was powered on.
    pub boot: Duration,
}

impl Default for RunTerms {
    fn default() -> RunTerms {
        RunTerms { seconds: Vec::new(), deadline: None, boot: BOOT }
    }
}

/// State of a stream.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    /// Steps that may begin; none if the walk is by jobsets.
    pub(super) dispatch: Option<Dispatch>,
    /// Those that were let begin, and have not ended.
    pub(super) admitted: BTreeSet<StepIdx>,
    /// Those whose end was taken note of.
    pub(super) over: BTreeSet<StepIdx>,
    /// Those that must follow one that was not done, with which.
    pub(super) dropped: BTreeMap<StepIdx, StepIdx>,
    /// Those that are to be submitted again: when, and how often they were.
    pub(super) again: BTreeMap<StepIdx, (SystemTime, u32)>,
    /// True if a step was not begun because it would end too late.
    pub(super) is_late: bool,
    /// True if it was said that new jobs have to wait.
    pub(super) is_paused: bool,
}

impl Streaming {
    pub(super) fn of(work: &Work, pace: Option<&StreamPace>, terms: &RunTerms) -> Streaming {
        let mut seconds = terms.seconds.clone();
        seconds.resize(work.steps.len(), 1.0);
        let dispatch = pace.map(|pace| PlanSchedule::best(work, &seconds, pace.limits).0);
        Streaming { dispatch, ..Streaming::default() }
    }

    /// Longest wait for jobs while something else may happen.
    pub(super) fn patience(&self, usual: Duration) -> Duration {
        let is_waiting = self.again.keys().any(|step| self.admitted.contains(step));
        if is_waiting || self.is_paused { FIRST_PAUSE } else { usual }
    }
}

/// A node that is waited for.
#[derive(Debug)]
pub(super) struct AwaitedNode {
    pub(super) mark: JobMark,
    pub(super) began: SystemTime,
    /// When it is tried again.
    pub(super) next: SystemTime,
    /// The trial under way.
    pub(super) trial: Option<Watched>,
}
