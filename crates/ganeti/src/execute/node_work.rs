//! Steps of a maintenance that this program does itself: the operator's commands, and waiting and checks. They are
//! polled, so the nodes of a batch do not wait for each other.

use std::time::{Duration, SystemTime};

use super::client::JobClient;
use super::course::{NodeWorkUnderWay, WorkStage};
use super::events::Event;
use super::host::NodeTaskError;
use super::job::JobMark;
use super::journal::Header;
use super::nodes::{QUESTIONS, RETRY, listed};
use super::operator::{CONNECTION_BROKEN, CommandFate, CommandRun, command_failure};
use super::record::Record;
use super::runner::{MayEnd, Runner};
use super::terms::{AfterFailure, MaintenanceTerms};
use crate::remote::CallError;
use htools_plan::graph::StepIdx;
use htools_plan::maintenance::NodeMark;
use htools_plan::work::{Boots, Task};

/// Interval at which a command is polled for its end.
const LOOK: Duration = Duration::from_secs(1);

/// Result of a look at a step under way.
enum Look {
    Pending,
    Done,
    Failed(String),
}

/// Boot ID of a node now, compared with the last one that was noted.
#[derive(Debug, Clone, Copy)]
struct BootSight<'b> {
    /// The ID; `None` if the node does not answer.
    now: Option<&'b str>,
    /// True if it differs from the noted one.
    is_new: bool,
    /// True if an ID was noted.
    is_known: bool,
}

impl Runner<'_> {
    /// Begins a step of a maintenance.
    pub(super) fn begin_node_work(&mut self, mark: JobMark) -> MayEnd<()> {
        self.record(Record::Submitting { jobs: vec![mark] })?;
        let begun = match self.task(mark) {
            Task::Maintain(_) => self.begin_command(mark)?.map(|()| WorkStage::Command),
            Task::AwaitPerson => self.note_boot(mark)?.map(|()| {
                self.tell_of_wait(mark);
                WorkStage::Person
            }),
            Task::AwaitBack(_) => Ok(WorkStage::Return),
            Task::CheckHealth => self.start(mark).map(|()| WorkStage::Health),
            Task::CheckCluster(_) => Ok(WorkStage::Cluster),
            _ => Err(NodeTaskError::NotOurs(self.header.work.step(mark.step).title())),
        };
        match begun {
            Ok(stage) => {
                let now = self.host.now();
                self.working.push(NodeWorkUnderWay { mark, began: now, next: now, stage });
                Ok(())
            }
            Err(why) => self.end_node_work(mark, None, Err(why.to_string())),
        }
    }

    /// Goes on with a step that an earlier program has begun; false if it certainly has changed nothing.
    pub(super) fn inherit_node_work(&mut self, mark: JobMark) -> bool {
        let stage = match self.task(mark) {
            _ if self.state.boot_before(mark.step).is_none() => return false,
            Task::Maintain(_) => WorkStage::Doubt,
            Task::AwaitPerson => {
                self.tell_of_wait(mark);
                WorkStage::Person
            }
            _ => return false,
        };
        let now = self.host.now();
        self.working.push(NodeWorkUnderWay { mark, began: now, next: now, stage });
        true
    }

    /// Tells if a step without a job is under way.
    pub(super) fn is_under_way(&self, mark: JobMark) -> bool {
        self.working.iter().any(|work| work.mark == mark) || self.awaited.iter().any(|node| node.mark == mark)
    }

    /// Tells if a job may take a node out of service: only if nothing runs there, by the cluster's word now. Otherwise
    /// the step fails.
    pub(super) fn may_disrupt(&mut self, mark: JobMark) -> MayEnd<bool> {
        let Err(why) = self.note_boot(mark)? else { return Ok(true) };
        self.record(Record::Submitting { jobs: vec![mark] })?;
        self.record(Record::Refused { jobs: vec![mark], why: why.to_string() })?;
        self.tell_of_end(mark.step);
        Ok(false)
    }

    fn maintenance(&self) -> Option<&MaintenanceTerms> {
        self.header.maintenance.as_ref()
    }

    fn node(&self, mark: JobMark) -> &str {
        &self.header.work.step(mark.step).subject
    }

    fn tell_of_wait(&mut self, mark: JobMark) {
        let title = self.header.work.step(mark.step).title();
        self.host.event(&Event::Waiting { step: mark.step.number(), title });
    }

    /// Notes the boot ID of a node on which nothing runs. Without the record, the step has changed nothing.
    fn note_boot(&mut self, mark: JobMark) -> MayEnd<Result<(), NodeTaskError>> {
        let earlier = self.boot_noted(mark.step).map(str::to_owned);
        let is_offline = self.maintenance().is_some_and(|terms| terms.treatment.mark == NodeMark::Offline)
            && *self.task(mark) != Task::SetOffline;
        let boot = match earlier.filter(|_| is_offline) {
            // Ganeti does not ask offline nodes; the ID was noted before the node went offline.
            Some(boot) => Ok(boot),
            None => self.boot_of_idle(mark),
        };
        match boot {
            Ok(boot) => {
                self.record(Record::Noted { mark, boot })?;
                Ok(Ok(()))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    /// The boot ID of a node on which nothing runs.
    fn boot_of_idle(&mut self, mark: JobMark) -> Result<String, NodeTaskError> {
        let node = self.node(mark).to_owned();
        let running = self.ask(|client| client.running_on(&node)).map_err(NodeTaskError::Unknown)?;
        if !running.is_empty() {
            return Err(NodeTaskError::Holds(listed(&running)));
        }
        let boots = self.ask(|client| client.boot_ids(&[&node])).map_err(NodeTaskError::Unknown)?;
        boots.into_iter().next().flatten().ok_or(NodeTaskError::Silent)
    }

    /// Repeats a question a few times.
    fn ask<T>(&mut self, ask: impl Fn(&mut dyn JobClient) -> Result<T, CallError>) -> Result<T, CallError> {
        for attempt in 1.. {
            match ask(self.client) {
                Err(error @ (CallError::Refused(_) | CallError::NoLogin(_))) => return Err(error),
                Err(error) if attempt == QUESTIONS => return Err(error),
                Err(_) => self.host.pause(RETRY / 5),
                Ok(answer) => return Ok(answer),
            }
        }
        unreachable!("the last attempt returns")
    }

    /// The last noted boot ID of the node of a step.
    fn boot_noted(&self, step: StepIdx) -> Option<&str> {
        let node = &self.header.work.step(step).subject;
        let earlier = (0..=step.get()).rev().map(StepIdx::new);
        earlier
            .filter(|at| self.header.work.step(*at).subject == *node)
            .find_map(|at| self.state.boot_before(at))
    }

    fn begin_command(&mut self, mark: JobMark) -> MayEnd<Result<(), NodeTaskError>> {
        Ok(match self.note_boot(mark)? {
            Ok(()) => self.start(mark),
            Err(why) => Err(why),
        })
    }

    /// Starts the command of a step.
    fn start(&mut self, mark: JobMark) -> Result<(), NodeTaskError> {
        let header = self.header;
        match command_run(header, mark) {
            Some(run) => self.host.start_command(&run),
            None => Err(NodeTaskError::NotOurs(header.work.step(mark.step).title())),
        }
    }

    /// Time until the next look at a step under way; `None` if there is none.
    pub(super) fn next_look(&self) -> Option<Duration> {
        let now = self.host.now();
        self.working.iter().map(|work| work.next.duration_since(now).unwrap_or_default()).min()
    }

    /// Looks at the steps under way that are due. Returns true if one has ended.
    pub(super) fn look_at_node_work(&mut self) -> MayEnd<bool> {
        let now = self.host.now();
        let due = |work: &NodeWorkUnderWay| work.next <= now;
        if !self.working.iter().any(due) {
            return Ok(false);
        }
        let boots = self.boots_of_awaited(now);
        let working = std::mem::take(&mut self.working);
        let count = working.len();
        for mut work in working {
            if !due(&work) {
                self.working.push(work);
                continue;
            }
            let boot =
                boots.iter().find(|(mark, _)| *mark == work.mark).and_then(|(_, boot)| boot.as_deref());
            match self.look(&mut work, boot) {
                Look::Pending => {
                    let pause = match work.stage {
                        WorkStage::Command | WorkStage::Health => LOOK,
                        _ => RETRY,
                    };
                    work.next = self.host.now() + pause;
                    self.working.push(work);
                }
                Look::Done => self.end_node_work(work.mark, Some(work.began), Ok(()))?,
                Look::Failed(why) if work.stage.is_check() && self.checks_only_warn() => {
                    let title = self.header.work.step(work.mark.step).title();
                    self.host.event(&Event::Warning { step: work.mark.step.number(), title, problem: why });
                    self.end_node_work(work.mark, Some(work.began), Ok(()))?;
                }
                Look::Failed(why) => self.end_node_work(work.mark, Some(work.began), Err(why))?,
            }
        }
        Ok(self.working.len() < count)
    }

    fn checks_only_warn(&self) -> bool {
        self.maintenance().is_some_and(|terms| terms.after_failure == AfterFailure::Continue)
    }

    /// Boot IDs of the nodes of the steps that are due and wait for one, by one question.
    fn boots_of_awaited(&mut self, now: SystemTime) -> Vec<(JobMark, Option<String>)> {
        let asking = self.working.iter().filter(|work| work.next <= now && work.stage.asks_for_boots());
        let marks: Vec<JobMark> = asking.map(|work| work.mark).collect();
        let header = self.header;
        let nodes: Vec<&str> =
            marks.iter().map(|mark| header.work.step(mark.step).subject.as_str()).collect();
        if nodes.is_empty() {
            return Vec::new();
        }
        // If the master does not answer, the nodes count as silent: it may be booting itself.
        let boots = self.client.boot_ids(&nodes).unwrap_or_else(|_| vec![None; nodes.len()]);
        marks.into_iter().zip(boots).collect()
    }

    fn look(&mut self, work: &mut NodeWorkUnderWay, boot: Option<&str>) -> Look {
        let header = self.header;
        let Some(terms) = &header.maintenance else { return Look::Failed("no maintenance".to_owned()) };
        let before = self.boot_noted(work.mark.step);
        let boots =
            BootSight { now: boot, is_new: boot.is_some() && boot != before, is_known: before.is_some() };
        match work.stage {
            WorkStage::Command | WorkStage::Doubt => self.look_at_command(work, terms, boots),
            WorkStage::Person if boots.is_new => Look::Done,
            WorkStage::Person => Look::Pending,
            WorkStage::Return => self.look_for_return(work, terms, boots),
            WorkStage::Health => self.look_at_health(work, terms),
            WorkStage::Cluster => {
                let Task::CheckCluster(instances) = self.task(work.mark) else { return Look::Done };
                match self.host.check_cluster(self.client, instances) {
                    Ok(()) => Look::Done,
                    Err(why) if self.is_late(work, terms.limits.check) => Look::Failed(why),
                    Err(_) => Look::Pending,
                }
            }
        }
    }

    fn waited(&self, work: &NodeWorkUnderWay) -> Duration {
        self.host.now().duration_since(work.began).unwrap_or_default()
    }

    fn is_late(&self, work: &NodeWorkUnderWay, limit: u64) -> bool {
        self.waited(work) >= Duration::from_secs(limit)
    }

    fn look_at_command(
        &mut self,
        work: &mut NodeWorkUnderWay,
        terms: &MaintenanceTerms,
        boots: BootSight<'_>,
    ) -> Look {
        let Some(run) = command_run(self.header, work.mark) else {
            return Look::Failed("the journal has no command".to_owned());
        };
        let reboots = *self.task(work.mark) == Task::Maintain(Boots::Anew);
        match self.host.command_fate(&run) {
            CommandFate::Running if self.is_late(work, terms.limits.command) => {
                self.host.kill_command(&run);
                Look::Failed(format!("the command did not end within {} s", terms.limits.command))
            }
            CommandFate::Running => Look::Pending,
            CommandFate::Ended { status: Some(0), .. } => Look::Done,
            // The boot ID will tell.
            CommandFate::Ended { status: Some(CONNECTION_BROKEN), .. } if reboots => Look::Done,
            CommandFate::Ended { status, last_words } => Look::Failed(command_failure(status, &last_words)),
            CommandFate::Unknown if boots.is_new => Look::Done,
            // It may still reboot the node, so it is not repeated at once.
            CommandFate::Unknown if reboots && !self.is_late(work, terms.limits.boot) => Look::Pending,
            // The node may be booting, so the wait for its return decides.
            CommandFate::Unknown if reboots && boots.now.is_none() => Look::Done,
            CommandFate::Unknown => match self.host.start_command(&run) {
                Ok(()) => {
                    (work.stage, work.began) = (WorkStage::Command, self.host.now());
                    Look::Pending
                }
                Err(why) => Look::Failed(why.to_string()),
            },
        }
    }

    fn look_for_return(
        &self,
        work: &NodeWorkUnderWay,
        terms: &MaintenanceTerms,
        boots: BootSight<'_>,
    ) -> Look {
        let needs_new = *self.task(work.mark) == Task::AwaitBack(Boots::Anew) && boots.is_known;
        match boots.now {
            Some(_) if boots.is_new || !needs_new => Look::Done,
            _ if !self.is_late(work, terms.limits.boot) => Look::Pending,
            Some(_) => Look::Failed(format!(
                "the node was not rebooted: its boot ID is the same as {} s ago",
                self.waited(work).as_secs()
            )),
            None => Look::Failed(format!("the node did not answer within {} s", terms.limits.boot)),
        }
    }

    fn look_at_health(&mut self, work: &NodeWorkUnderWay, terms: &MaintenanceTerms) -> Look {
        let Some(run) = command_run(self.header, work.mark) else { return Look::Done };
        let is_late = self.is_late(work, terms.limits.check);
        match self.host.command_fate(&run) {
            CommandFate::Running if !is_late => Look::Pending,
            CommandFate::Running => {
                self.host.kill_command(&run);
                Look::Failed(format!("the health check did not end within {} s", terms.limits.check))
            }
            CommandFate::Ended { status: Some(0), .. } => Look::Done,
            CommandFate::Ended { status, last_words } if is_late => {
                Look::Failed(command_failure(status, &last_words))
            }
            CommandFate::Ended { .. } | CommandFate::Unknown => match self.host.start_command(&run) {
                Ok(()) => Look::Pending,
                Err(why) => Look::Failed(why.to_string()),
            },
        }
    }

    /// Records the end of a step.
    fn end_node_work(
        &mut self,
        mark: JobMark,
        began: Option<SystemTime>,
        result: Result<(), String>,
    ) -> MayEnd<()> {
        let took = began.and_then(|began| self.host.now().duration_since(began).ok());
        let took = took.and_then(|took| u64::try_from(took.as_millis()).ok());
        self.record(match result {
            Ok(()) => Record::Performed { mark, took },
            Err(why) => Record::Failed { mark, why },
        })?;
        self.tell_of_end(mark.step);
        Ok(())
    }
}

/// The command of a step, with its node and its time limit.
fn command_run<'h>(header: &'h Header, mark: JobMark) -> Option<CommandRun<'h>> {
    let terms = header.maintenance.as_ref()?;
    let step = header.work.step(mark.step);
    let (command, limit) = match step.task {
        Task::Maintain(_) => (&terms.commands.node, terms.limits.command),
        Task::CheckHealth => (&terms.commands.health, terms.limits.check),
        _ => return None,
    };
    let (command, limit) = (command.as_deref()?, Duration::from_secs(limit));
    Some(CommandRun { mark, command, node: &step.subject, limit })
}
