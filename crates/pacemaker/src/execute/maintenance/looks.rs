//! Looks at the nodes of a batch, which are polled so that they do not wait for each other.

use std::time::{Duration, SystemTime};

use super::checks::{NodeSight, sight};
use super::run::CibMaintenanceRun;
use super::{CibBatch, CibMaintenanceEvent, CibMaintenanceRecord, CibNodeStage, CibNodeWork};
use crate::pinning::current;
use crate::rolling::left_on;
use crate::working_set::WorkingSet;
use htools_ganeti::execute::Ending;
use htools_ganeti::execute::job::JobMark;
use htools_ganeti::execute::maintenance::{
    AfterFailure, CONNECTION_BROKEN, CommandFate, CommandRun, command_failure,
};
use htools_model::shown::shown_name;
use htools_plan::graph::StepIdx;

/// Looks in a row that must see a node as a member: the first may see an old state.
const SIGHTINGS: u32 = 2;

/// State of the looks at a node.
#[derive(Debug, Clone)]
pub(super) struct NodeWatch {
    /// The beginning of its stage.
    since: SystemTime,
    sightings: u32,
    /// True if its health check or its wait for a person has begun in this program.
    has_begun: bool,
}

impl NodeWatch {
    pub(super) fn new(now: SystemTime) -> NodeWatch {
        NodeWatch { since: now, sightings: 0, has_begun: false }
    }
}

/// Part of a batch with commands of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandPart {
    Maintenance,
    Health,
}

/// The command of a node in a batch. Batches are counted from 0.
fn command_run<'c>(
    batch: usize,
    part: CommandPart,
    command: &'c str,
    node: &'c str,
    limit: u64,
) -> CommandRun<'c> {
    let step = batch * 2 + usize::from(part == CommandPart::Health);
    let mark = JobMark { step: StepIdx::new(step), part: 0 };
    CommandRun { mark, command, node, limit: Duration::from_secs(limit) }
}

impl CibMaintenanceRun<'_> {
    /// Looks at a node, and takes it further if possible. Without `set`, the cluster does not answer.
    pub(super) fn look(
        &mut self,
        batch: &CibBatch,
        node: &str,
        set: Option<&WorkingSet>,
        watch: &mut NodeWatch,
    ) -> Result<(), Ending> {
        let Some(stage) = self.read.stage(node) else { return Ok(()) };
        let mark = self.read.header.began.to_string();
        let seen = set.map_or(NodeSight::Away, |set| sight(set, node, &mark));
        match stage {
            CibNodeStage::Emptied => self.begin(batch, node, set, seen, watch)?,
            CibNodeStage::Begun => match self.read.header.terms.work {
                CibNodeWork::Command => self.look_at_command(node, seen, watch)?,
                CibNodeWork::Person => self.look_for_person(node, seen, watch)?,
            },
            CibNodeStage::Maintained => self.look_for_return(node, seen, watch)?,
            CibNodeStage::Back => self.look_at_health(node, watch)?,
            _ => {}
        }
        if self.read.stage(node) != Some(stage) {
            *watch = NodeWatch::new(self.host.now());
        }
        Ok(())
    }

    fn is_late(&self, watch: &NodeWatch, limit: u64) -> bool {
        let waited = self.host.now().duration_since(watch.since).unwrap_or_default();
        waited >= Duration::from_secs(limit)
    }

    fn fail_one(&mut self, node: &str, why: String) -> Result<(), Ending> {
        self.fail(&[node.to_owned()], why)
    }

    /// Begins the maintenance of a node in standby, once it is marked and nothing runs there that should not.
    fn begin(
        &mut self,
        batch: &CibBatch,
        node: &str,
        set: Option<&WorkingSet>,
        seen: NodeSight,
        watch: &NodeWatch,
    ) -> Result<(), Ending> {
        let limits = self.read.header.terms.limits;
        let Some(set) = set.filter(|_| seen != NodeSight::Away) else {
            return match self.is_late(watch, limits.check) {
                true => self.fail_one(node, "it has left the cluster before its maintenance".to_owned()),
                false => Ok(()),
            };
        };
        let is_in_standby = set.hosts.iter().any(|host| host.name == node && host.state.standby);
        if !is_in_standby {
            return self.fail_one(node, "it was taken out of standby meanwhile".to_owned());
        }
        if let Some(resource) = left_on(node, &batch.expected, &current(set)) {
            let why = format!("{} runs there in spite of the standby", shown_name(resource));
            return self.fail_one(node, why);
        }
        if self.read.header.terms.reboots && seen != NodeSight::Same {
            if self.is_late(watch, limits.check) {
                return self.fail_one(node, "the cluster does not take its mark".to_owned());
            }
            let value = self.read.header.began.to_string();
            if let Err(error) = self.client.set_mark(node, &value) {
                self.host.event(&CibMaintenanceEvent::NoAnswer(error.to_string()));
            }
            return Ok(());
        }
        self.record(&CibMaintenanceRecord::Beginning { node: node.to_owned() })?;
        match self.read.header.terms.work {
            // The next look says that the node is ready.
            CibNodeWork::Person => Ok(()),
            CibNodeWork::Command => {
                self.host.event(&CibMaintenanceEvent::Commanding(node.to_owned()));
                self.start(node)
            }
        }
    }

    /// Starts the command of a node.
    fn start(&mut self, node: &str) -> Result<(), Ending> {
        let terms = &self.read.header.terms;
        let command = terms.commands.node.clone().unwrap_or_default();
        let batch = self.begun_in(node);
        let run = command_run(batch, CommandPart::Maintenance, &command, node, terms.limits.command);
        match self.host.start_command(&run) {
            Ok(()) => Ok(()),
            Err(why) => self.refuse(node, why.to_string()),
        }
    }

    fn begun_in(&self, node: &str) -> usize {
        let progress = self.read.nodes.iter().find(|progress| progress.name == node);
        progress.map_or(0, |progress| progress.begun_in)
    }

    /// The command has ended with a failure.
    fn refuse(&mut self, node: &str, why: String) -> Result<(), Ending> {
        self.host.event(&CibMaintenanceEvent::Failed(vec![node.to_owned()], why.clone()));
        self.given_up.insert(node.to_owned());
        self.record(&CibMaintenanceRecord::Refused { node: node.to_owned(), why })
    }

    fn maintained(&mut self, node: &str) -> Result<(), Ending> {
        self.record(&CibMaintenanceRecord::Maintained { node: node.to_owned() })?;
        self.host.event(&CibMaintenanceEvent::Maintained(node.to_owned()));
        Ok(())
    }

    fn look_at_command(&mut self, node: &str, seen: NodeSight, watch: &mut NodeWatch) -> Result<(), Ending> {
        let terms = &self.read.header.terms;
        let (limits, reboots) = (terms.limits, terms.reboots);
        let command = terms.commands.node.clone().unwrap_or_default();
        let run = command_run(self.begun_in(node), CommandPart::Maintenance, &command, node, limits.command);
        match self.host.command_fate(&run) {
            CommandFate::Running if self.is_late(watch, limits.command) => {
                self.host.kill_command(&run);
                self.refuse(node, format!("the command did not end within {} s", limits.command))
            }
            CommandFate::Running => Ok(()),
            CommandFate::Ended { status: Some(0), .. } => self.maintained(node),
            // The mark will tell.
            CommandFate::Ended { status: Some(CONNECTION_BROKEN), .. } if reboots => self.maintained(node),
            CommandFate::Ended { status, last_words } => {
                self.refuse(node, command_failure(status, &last_words))
            }
            CommandFate::Unknown if reboots && seen == NodeSight::New => self.maintained(node),
            // It may still reboot the node, so it is not repeated at once.
            CommandFate::Unknown
                if (reboots || seen == NodeSight::Away) && !self.is_late(watch, limits.boot) =>
            {
                Ok(())
            }
            CommandFate::Unknown if seen == NodeSight::Away => {
                self.fail_one(node, format!("it was not back within {} s", limits.boot))
            }
            CommandFate::Unknown => {
                watch.since = self.host.now();
                self.host.event(&CibMaintenanceEvent::Commanding(node.to_owned()));
                self.start(node)
            }
        }
    }

    fn look_for_person(&mut self, node: &str, seen: NodeSight, watch: &mut NodeWatch) -> Result<(), Ending> {
        if !watch.has_begun {
            watch.has_begun = true;
            self.host.event(&CibMaintenanceEvent::Waiting(node.to_owned()));
        }
        if seen == NodeSight::New { self.maintained(node) } else { Ok(()) }
    }

    fn look_for_return(&mut self, node: &str, seen: NodeSight, watch: &mut NodeWatch) -> Result<(), Ending> {
        let (boot, reboots) = (self.read.header.terms.limits.boot, self.read.header.terms.reboots);
        let is_back = seen == NodeSight::New || seen == NodeSight::Same && !reboots;
        watch.sightings = if is_back { watch.sightings + 1 } else { 0 };
        if watch.sightings >= SIGHTINGS {
            self.record(&CibMaintenanceRecord::Back { node: node.to_owned() })?;
            self.host.event(&CibMaintenanceEvent::Back(node.to_owned()));
            return Ok(());
        }
        match seen {
            _ if is_back || !self.is_late(watch, boot) => Ok(()),
            NodeSight::Away => self.fail_one(node, format!("it was not back within {boot} s")),
            _ => self.fail_one(node, format!("it was not rebooted: it has not left the cluster in {boot} s")),
        }
    }

    fn look_at_health(&mut self, node: &str, watch: &mut NodeWatch) -> Result<(), Ending> {
        let terms = &self.read.header.terms;
        let limit = terms.limits.check;
        let batch = self.read.batches.len().saturating_sub(1);
        let healthy = CibMaintenanceRecord::Healthy { node: node.to_owned() };
        let Some(command) = terms.commands.health.clone() else { return self.record(&healthy) };
        let run = command_run(batch, CommandPart::Health, &command, node, limit);
        let fate = if watch.has_begun { self.host.command_fate(&run) } else { CommandFate::Unknown };
        let why = match fate {
            CommandFate::Ended { status: Some(0), .. } => return self.record(&healthy),
            CommandFate::Running if !self.is_late(watch, limit) => return Ok(()),
            CommandFate::Running => {
                self.host.kill_command(&run);
                format!("the health check did not end within {limit} s")
            }
            CommandFate::Ended { status, last_words } if self.is_late(watch, limit) => {
                format!("health check: {}", command_failure(status, &last_words))
            }
            CommandFate::Ended { .. } | CommandFate::Unknown => {
                watch.has_begun = true;
                return match self.host.start_command(&run) {
                    Ok(()) => Ok(()),
                    Err(why) => self.fail_one(node, why.to_string()),
                };
            }
        };
        if self.read.header.terms.after_failure == AfterFailure::Continue {
            self.host.event(&CibMaintenanceEvent::Warning(format!("{}: {why}", shown_name(node))));
            return self.record(&healthy);
        }
        self.fail_one(node, why)
    }
}
