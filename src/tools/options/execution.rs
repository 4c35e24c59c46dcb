//! Options for carrying plans out.

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
    /// Settings for power switching and booting of nodes.
    pub handling: Handling,
    pub print_plan: Option<PlanForm>,
    pub save_plan: Option<PathBuf>,
    /// Speeds of steps, unless journals give measured ones.
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
    /// Maximum number of new plans after failures.
    pub(crate) fn replans(&self) -> usize {
        self.replans.unwrap_or(2)
    }

    /// Tells if the complete plan is needed, to execute, print or save it.
    pub(crate) fn wants_work(&self) -> bool {
        self.exec || self.print_plan.is_some() || self.save_plan.is_some()
    }

    /// Tells if a form of the plan takes all of standard output.
    pub(crate) fn prints_document(&self) -> bool {
        self.print_plan.is_some_and(PlanForm::is_document)
    }
}
