//! State of a run that its journal does not record: steps that may begin, and nodes that are booting.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use super::job::{JobMark, WatchedJob};
use super::journal::StreamPace;
use super::nodes::BOOT;
use htools_plan::graph::StepIdx;
use htools_plan::stream::{PlanSchedule, StepDispatcher};
use htools_plan::work::Work;

/// The first pause before a job is resubmitted; each pause is twice as long as the one before.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// Parameters of a run that are not part of its plan.
#[derive(Debug, Clone)]
pub struct RunTerms {
    /// Estimated duration of each step in seconds; empty if not needed.
    pub seconds: Vec<f64>,
    /// Time by which the last step must have ended.
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
    /// Steps that may begin; `None` if the run goes jobset by jobset.
    pub(super) dispatch: Option<StepDispatcher>,
    /// Steps that were allowed to begin, and have not ended.
    pub(super) admitted: BTreeSet<StepIdx>,
    /// Steps whose end was processed.
    pub(super) over: BTreeSet<StepIdx>,
    /// Dropped steps, each with the step that was not done and that it would have to follow.
    pub(super) dropped: BTreeMap<StepIdx, StepIdx>,
    /// Steps to be resubmitted: the time, and the number of attempts so far.
    pub(super) again: BTreeMap<StepIdx, (SystemTime, u32)>,
    /// True if a step was not begun because it would end too late.
    pub(super) is_late: bool,
    /// True if the pause of new jobs was announced.
    pub(super) is_paused: bool,
}

impl Streaming {
    pub(super) fn of(work: &Work, pace: Option<&StreamPace>, terms: &RunTerms) -> Streaming {
        let mut seconds = terms.seconds.clone();
        seconds.resize(work.steps.len(), 1.0);
        let dispatch = pace.map(|pace| PlanSchedule::best(work, &seconds, pace.limits).0);
        Streaming { dispatch, ..Streaming::default() }
    }

    /// Maximum wait for jobs while something else may happen.
    pub(super) fn patience(&self, usual: Duration) -> Duration {
        let is_waiting = self.again.keys().any(|step| self.admitted.contains(step));
        if is_waiting || self.is_paused { FIRST_PAUSE } else { usual }
    }
}

/// A node that is booting.
#[derive(Debug)]
pub(super) struct AwaitedNode {
    pub(super) mark: JobMark,
    pub(super) began: SystemTime,
    /// Time of the next trial.
    pub(super) next: SystemTime,
    /// The trial under way.
    pub(super) trial: Option<WatchedJob>,
}

/// A step of a maintenance that is under way.
#[derive(Debug)]
pub(super) struct NodeWorkUnderWay {
    pub(super) mark: JobMark,
    pub(super) began: SystemTime,
    /// Time of the next look.
    pub(super) next: SystemTime,
    pub(super) stage: WorkStage,
}

/// Event that a step under way waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkStage {
    /// The operator's command.
    Command,
    /// The same command, which an earlier program has started, or was about to start.
    Doubt,
    /// A person at the node.
    Person,
    /// The return of the node.
    Return,
    /// The operator's health check.
    Health,
    /// The state of the cluster.
    Cluster,
}

impl WorkStage {
    pub(super) fn asks_for_boots(self) -> bool {
        matches!(self, WorkStage::Doubt | WorkStage::Person | WorkStage::Return)
    }

    pub(super) fn is_check(self) -> bool {
        matches!(self, WorkStage::Health | WorkStage::Cluster)
    }
}
