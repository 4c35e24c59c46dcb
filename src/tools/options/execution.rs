//! Carrying plans out: what is asked about it.

use std::path::PathBuf;

use super::pace::{PlanForm, Window};
use crate::execute::journal::OnFailure;
use crate::execute::nodes::Handling;
use crate::plan::durations::Rates;
use crate::plan::stream::StreamLimits;
use htools_model::words;

words!(
    /// The priority of submitted jobs.
    pub Priority, "priority" {
        Low = "low",
        Normal = "normal",
        High = "high",
    }
);

impl Priority {
    /// Ganeti's number.
    pub(crate) fn number(self) -> i8 {
        match self {
            Priority::Low => 10,
            Priority::Normal => 0,
            Priority::High => -10,
        }
    }
}

/// What is asked for about carrying plans out.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ExecutionOptions {
    /// `-X`
    pub exec: bool,
    pub yes: bool,
    pub journal: Option<PathBuf>,
    pub resume: Option<PathBuf>,
    pub json_events: Option<PathBuf>,
    pub reason: Option<String>,
    pub priority: Option<Priority>,
    /// How nodes are powered up and down.
    pub handling: Handling,
    pub print_plan: Option<PlanForm>,
    pub save_plan: Option<PathBuf>,
    /// How long steps take, unless journals tell.
    pub rates: Rates,
    pub durations_from: Vec<PathBuf>,
    pub stream: bool,
    pub limits: StreamLimits,
    pub window: Window,
    pub on_failure: Option<OnFailure>,
    /// None: 2.
    pub replans: Option<usize>,
}

impl ExecutionOptions {
    /// How often another plan is made after a failure.
    pub(crate) fn replans(&self) -> usize {
        self.replans.unwrap_or(2)
    }

    /// Whether the plan is needed as work, not only as lines.
    pub(crate) fn wants_work(&self) -> bool {
        self.exec || self.print_plan.is_some() || self.save_plan.is_some()
    }

    /// Whether standard output is for a form of the plan alone.
    pub(crate) fn prints_document(&self) -> bool {
        self.print_plan.is_some_and(PlanForm::is_document)
    }
}
