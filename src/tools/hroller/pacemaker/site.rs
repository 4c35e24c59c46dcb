//! Surroundings of a maintenance on a Pacemaker cluster: output, signals, time and the operator's commands.

use std::time::{Duration, Instant, SystemTime};

use crate::execute::NodeTaskError;
use crate::execute::history::HistoryEvent;
use crate::execute::maintenance::{CommandFate, CommandRun, LeftNode, NodeCommands};
use crate::execute::signals::Signals;
use crate::pacemaker::execute::CibSurroundings;
use crate::pacemaker::execute::maintenance::{
    CibMaintenanceEvent, CibMaintenanceHost, CibMaintenanceRead, CibMaintenanceTerms,
};
use crate::pacemaker::execute::past::cluster_id;
use crate::tools::execution::history;
use crate::tools::hroller::SPEC;
use crate::tools::hroller::need::{KnownNeed, Needless};
use crate::tools::output::Output;

/// Estimated time to empty a node, to check it and to use it again.
const AROUND: Duration = Duration::from_secs(60);

/// The surroundings.
pub(super) struct CibSite<'a> {
    pub output: &'a mut Output,
    pub signals: &'a Signals,
    pub commands: NodeCommands,
    /// True if only problems are shown.
    pub is_quiet: bool,
    /// Time by which the last batch must have ended.
    pub deadline: Option<SystemTime>,
    /// Estimated time of a reboot.
    pub boot: Duration,
    /// Beginning of the batch under way.
    pub began: Option<Instant>,
    /// Longest time that a batch has taken.
    pub longest: Duration,
    pub need: KnownNeed,
}

impl CibMaintenanceHost for CibSite<'_> {
    fn event(&mut self, event: &CibMaintenanceEvent) {
        match event {
            CibMaintenanceEvent::Emptying(_) => {
                self.began = Some(Instant::now());
                self.need.clear();
            }
            CibMaintenanceEvent::Returned(_) => {
                let took = self.began.take().map(|began| began.elapsed()).unwrap_or_default();
                self.longest = self.longest.max(took);
            }
            _ => {}
        }
        let is_problem = matches!(
            event,
            CibMaintenanceEvent::Failed(..)
                | CibMaintenanceEvent::Warning(_)
                | CibMaintenanceEvent::Waiting(_)
        );
        if is_problem || !self.is_quiet {
            let CibSite { output, signals, .. } = self;
            // The run goes on even if standard error is closed.
            let _ = signals.whole(|| output.error_line(&event.to_string()));
        }
    }

    fn batch(&mut self, read: &CibMaintenanceRead) {
        let event = HistoryEvent::Batch(read.batch_moves());
        let warning = history::record(&cluster_id(&read.header.cluster), SPEC.name, event);
        // The run goes on even if standard error is closed.
        let _ = self.signals.whole(|| self.output.error_lines(warning));
    }

    fn is_in_time(&self) -> bool {
        let takes = if self.longest > Duration::ZERO { self.longest } else { self.boot + AROUND };
        let end = SystemTime::now().checked_add(takes);
        self.deadline.is_none_or(|deadline| end.is_some_and(|end| end <= deadline))
    }

    fn needless(&mut self, terms: &CibMaintenanceTerms, nodes: &[String]) -> Vec<LeftNode> {
        let limit = Duration::from_secs(terms.limits.command);
        let Needless { left, warnings } = self.need.needless(&terms.commands, limit, nodes);
        warnings.into_iter().for_each(|warning| self.event(&CibMaintenanceEvent::Warning(warning)));
        left
    }

    fn start_command(&mut self, run: &CommandRun<'_>) -> Result<(), NodeTaskError> {
        self.commands.start(run)
    }

    fn command_fate(&mut self, run: &CommandRun<'_>) -> CommandFate {
        self.commands.fate(run)
    }

    fn kill_command(&mut self, run: &CommandRun<'_>) {
        self.commands.kill(run);
    }
}

impl CibSurroundings for CibSite<'_> {
    fn unanswered(&mut self, why: String) {
        self.event(&CibMaintenanceEvent::NoAnswer(why));
    }

    fn wants_to_stop(&self) -> bool {
        self.signals.wants_to_stop()
    }
}
