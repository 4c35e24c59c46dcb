//! One run: reads the cluster, decides on each instance and acts.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};

use super::log::RepairLog;
use super::{HarepOptions, SPEC};
use crate::execute::autorepair::{AttendError, Repairer};
use crate::execute::job::RunInfo;
use crate::execute::{JobClient, NodeTaskError, RunHost, disks};
use crate::model::autorepair::{
    DiskFault, RepairHistory, RepairPermission, RepairState, VisitOutcome, permission,
};
use crate::model::shown::shown_name;
use crate::model::{Cluster, InstanceIdx, NodeIdx, Outage, RunStatus};
use crate::plan::names::Impossible;
use crate::plan::repair::{RepairWish, WantedRepair, repair_job};
use crate::plan::work::WorkStep;
use crate::report;
use crate::report::form::json;
use crate::report::repair::text::{RepairEntry, RepairStatus, RepairStyle, lines, statistics};
use crate::search::repair::{RepairCase, RepairDecision, RepairOptions, decide_all, disks_matter};
use crate::tools::ExitStatus;
use crate::tools::execution::{self, Lock, takes_jobs};
use crate::tools::hint::Complaint;
use crate::tools::nodes::named_nodes;
use crate::tools::output::Output;

/// Longest time to wait for nodes to report on disks.
const SURVEY: Duration = Duration::from_secs(60);

pub(super) struct RepairRun<'a> {
    options: &'a HarepOptions,
    client: Option<Box<dyn JobClient>>,
    log: Option<RepairLog>,
    _lock: Option<Lock>,
}

/// The system's clock.
struct Clock;

impl RunHost for Clock {
    fn event(&mut self, _: &crate::execute::Event) {}

    fn wants_to_stop(&self) -> bool {
        false
    }

    fn perform(&mut self, _: &mut dyn JobClient, _: &RunInfo, step: &WorkStep) -> Result<(), NodeTaskError> {
        Err(NodeTaskError::NotOurs(step.title()))
    }

    fn pause(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl<'a> RepairRun<'a> {
    /// Connects to the cluster, if it is a live one, and takes the lock unless it is a dry run. This must happen before
    /// anything is read.
    ///
    /// # Errors
    /// If another run is active, or the cluster cannot be reached.
    pub(super) fn begin(options: &'a HarepOptions) -> anyhow::Result<RepairRun<'a>> {
        let source = &options.load.source;
        if !takes_jobs(source) {
            return Ok(RepairRun { options, client: None, log: None, _lock: None });
        }
        let mut client = execution::client(source)?;
        if options.dry_run {
            return Ok(RepairRun { options, client: Some(client), log: None, _lock: None });
        }
        let cluster = client.cluster().context("failed to load data, aborting")?;
        let lock = Lock::take(SPEC.name, &cluster)?;
        let log = RepairLog::new(cluster, options.execution.journal.clone(), since_1970().as_millis())?;
        Ok(RepairRun { options, client: Some(client), log: Some(log), _lock: Some(lock) })
    }

    /// Attends to every instance.
    ///
    /// # Errors
    /// Failures, after everything possible has been done.
    pub(super) fn carry_out(
        &mut self,
        mut cluster: Cluster,
        output: &mut Output,
    ) -> anyhow::Result<ExitStatus> {
        let options = self.options;
        let failing = named_nodes("simulate-failure", &options.failing, &cluster)?;
        fail(&mut cluster, &failing);
        let now = i64::try_from(since_1970().as_secs()).unwrap_or(i64::MAX);
        let faults = self.disk_faults(&cluster, now, output)?;
        let limits = options.repairs;
        let asked = RepairOptions {
            now,
            limit: limits.all,
            max_per_node: limits.per_node,
            most_failures: limits.most_failures.unwrap_or(1),
        };
        let cases = decide_all(&cluster, &faults, &asked);
        let reasons = options.load.verbosity + i32::from(!failing.is_empty() && options.load.verbosity >= 1);
        let style = RepairStyle { level: reasons, dry: options.dry_run };
        let mut entries: Vec<Option<RepairEntry>> = vec![None; cases.len()];
        let mut problems = Vec::new();
        // Repairs under way come first because they may have ended.
        let (open, rest): (Vec<RepairCase>, Vec<RepairCase>) =
            cases.into_iter().partition(|case| matches!(case.decision, RepairDecision::UnderWay(_)));
        for case in open.into_iter().chain(rest) {
            let at = case.instance.get();
            let entry = self.attend(&cluster, case)?;
            if !options.output.json {
                lines(&cluster, &entry, style).iter().try_for_each(|line| output.line(line))?;
                output.flush()?;
            }
            problems.extend(problem_of(&cluster, &entry));
            entries[at] = Some(entry);
        }
        let entries: Vec<RepairEntry> = entries.into_iter().flatten().collect();
        output.figures(|sheet| report::repair::metrics::tell(sheet, &entries));
        if options.output.json {
            output
                .write(&json::text(&report::repair::json::document(&cluster, &entries, &failing, style))?)?;
        } else if style.level >= 1 {
            statistics(&entries).iter().try_for_each(|line| output.line(line))?;
        }
        output.flush()?;
        match problems.as_slice() {
            [] => Ok(self.status(&entries)),
            [one] => bail!("{one}"),
            [first, more @ ..] => {
                more.iter()
                    .rev()
                    .try_for_each(|problem| output.error_write(&Complaint::new(problem).to_string()))?;
                bail!("{first}")
            }
        }
    }

    fn status(&self, entries: &[RepairEntry]) -> ExitStatus {
        let any = |wanted: &[RepairStatus]| entries.iter().any(|entry| wanted.contains(&entry.status()));
        if !self.options.output.detailed_status {
            ExitStatus::Success
        } else if any(&[RepairStatus::Failure, RepairStatus::NeedsRepair]) {
            ExitStatus::Planned
        } else if any(&[RepairStatus::PendingRepair]) || entries.iter().any(has_ended) {
            ExitStatus::Done
        } else {
            ExitStatus::Success
        }
    }

    /// Disk faults of running instances that may be repaired, as far as nodes report them.
    fn disk_faults(
        &mut self,
        cluster: &Cluster,
        now: i64,
        output: &mut Output,
    ) -> anyhow::Result<HashMap<InstanceIdx, DiskFault>> {
        let options = self.options;
        let Some(client) =
            self.client.as_deref_mut().filter(|_| !options.no_disk_check && options.failing.is_empty())
        else {
            return Ok(HashMap::new());
        };
        let wanted = |idx: &InstanceIdx| {
            let instance = cluster.instance(*idx);
            let is_open = || {
                RepairHistory::of(&instance.tags)
                    .is_ok_and(|history| matches!(history.state, RepairState::Healthy(_)))
            };
            disks_matter(cluster, instance)
                && matches!(permission(cluster, *idx, now), RepairPermission::UpTo(_))
                && is_open()
        };
        let asked: Vec<InstanceIdx> = cluster.instances.iter().map(|i| i.idx).filter(wanted).collect();
        if asked.is_empty() {
            return Ok(HashMap::new());
        }
        let names: Vec<String> = asked.iter().map(|idx| cluster.instance(*idx).name.clone()).collect();
        let run = RunInfo {
            tool: SPEC.name.to_owned(),
            began: u64::try_from(since_1970().as_nanos()).unwrap_or(u64::MAX),
            comment: "state of disks, asked for by harep (htools)".to_owned(),
            reason: execution::reason(SPEC.name, &options.execution),
            priority: 0,
        };
        let found = match disks::survey(client, &mut Clock, &run, &names, SURVEY) {
            Ok(found) => found,
            Err(error) => {
                output.error_line(&format!("Warning: the state of disks is unknown: {error}"))?;
                return Ok(HashMap::new());
            }
        };
        if !found.unknown.is_empty() {
            let names: Vec<String> =
                found.unknown.iter().take(3).map(|name| shown_name(name).to_string()).collect();
            let more = found.unknown.len() - names.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            output.error_line(&format!(
                "Warning: the state of the disks of {}{more} is unknown",
                names.join(", ")
            ))?;
        }
        let fault = |idx: InstanceIdx| Some((idx, found.faults.get(&cluster.instance(idx).name)?.clone()));
        Ok(asked.into_iter().filter_map(fault).collect())
    }

    /// Does what an instance needs.
    ///
    /// # Errors
    /// If the connection is lost, so that going on is useless.
    fn attend(&mut self, cluster: &Cluster, case: RepairCase) -> anyhow::Result<RepairEntry> {
        let instance = cluster.instance(case.instance);
        let mut entry = RepairEntry { case, visit: None, opcodes: Vec::new(), problem: None };
        // With a client that joins opcodes into one job, all tags are written in order.
        let may_be_late = self.client.as_deref().is_none_or(|client| !client.joins_opcodes());
        let is_behind =
            || may_be_late && RepairHistory::of(&instance.tags).is_ok_and(|history| history.is_behind());
        if entry.case.decision == RepairDecision::Well && !is_behind() {
            return Ok(entry);
        }
        if matches!(
            entry.case.decision,
            RepairDecision::Later(..)
                | RepairDecision::NoRoom(..)
                | RepairDecision::NotPermitted { .. }
                | RepairDecision::ForPeople
                | RepairDecision::BackOff(..)
                | RepairDecision::Failed(_)
                | RepairDecision::Unclear(_)
        ) {
            return Ok(entry);
        }
        let mut should_run =
            instance.status != RunStatus::AdminDown && instance.status != RunStatus::AdminOffline;
        if let (Some(client), RepairDecision::Repair(kind, ..)) =
            (self.client.as_deref_mut(), &entry.case.decision)
        {
            // The instance may have changed since the cluster was read, so its current state decides.
            let there = match client.instance_now(&instance.name) {
                Ok(there) => there,
                Err(error) if error.is_passing() => return Err(error).context("harep"),
                // The instance was removed or renamed.
                Err(error) => {
                    entry.problem = Some(error.to_string());
                    return Ok(entry);
                }
            };
            let node = |node: NodeIdx| cluster.node(node).spec.name.clone();
            let nodes: Vec<String> = instance.placement().nodes().map(node).collect();
            if there.nodes != nodes || sorted(&there.tags) != sorted(&instance.tags) {
                entry.case.decision = RepairDecision::Changed(*kind);
                return Ok(entry);
            }
            should_run = there.should_run;
        }
        let wanted = match &entry.case.decision {
            RepairDecision::Repair(kind, way, before) => {
                entry.opcodes = repair_job(cluster, instance, &way.steps, should_run);
                let checked: Result<(), Impossible> =
                    entry.opcodes.iter().try_for_each(crate::plan::opcode::Opcode::check_names);
                if let Err(error) = checked {
                    entry.problem = Some(error.to_string());
                    return Ok(entry);
                }
                Some(WantedRepair { kind: *kind, opcodes: entry.opcodes.clone(), again: before.is_some() })
            }
            _ => None,
        };
        let options = self.options;
        let mut clock = Clock;
        let mut repairer = Repairer {
            client: self.client.as_deref_mut().map(|client| client as &mut dyn JobClient),
            changes: !options.dry_run,
            host: &mut clock,
            reason: execution::reason(SPEC.name, &options.execution),
            delay: options.job_delay(),
        };
        entry.opcodes = if entry.opcodes.is_empty() { Vec::new() } else { repairer.job(&entry.opcodes) };
        let wish = RepairWish::of(wanted.as_ref(), entry.case.decision.note());
        match repairer.attend(&instance.name, &instance.tags, wish, entry.case.damage.is_none()) {
            Ok(visit) => entry.visit = Some(visit),
            Err(AttendError::Call(error)) => return Err(error).context("harep"),
            Err(error) => entry.problem = Some(error.to_string()),
        }
        if let Some(log) = &mut self.log {
            log.note(since_1970().as_millis(), &instance.name, &entry)?;
        }
        Ok(entry)
    }
}

/// Tells if a repair has just ended. The next run will see its effect.
fn has_ended(entry: &RepairEntry) -> bool {
    let attended = entry.visit.as_ref().map(|visit| &visit.attended);
    matches!(attended, Some(VisitOutcome::Ended(_) | VisitOutcome::NeverBegun(_)))
}

fn sorted(tags: &[String]) -> Vec<&String> {
    let mut tags: Vec<&String> = tags.iter().collect();
    tags.sort_unstable();
    tags
}

/// Problem of an instance, as an error message.
fn problem_of(cluster: &Cluster, entry: &RepairEntry) -> Option<String> {
    let name = shown_name(&cluster.instance(entry.case.instance).name);
    match (&entry.problem, &entry.case.decision) {
        (Some(problem), _) => Some(format!("instance {name}: {problem}")),
        (None, RepairDecision::Unclear(why)) => Some(format!(
            "when parsing auto-repair tags: An unfinished repair was found in instance {name}: {why}"
        )),
        (None, _) => None,
    }
}

/// Simulates the failure of nodes.
fn fail(cluster: &mut Cluster, nodes: &[NodeIdx]) {
    for node in nodes {
        let spec = &mut cluster.nodes[node.get()].spec;
        (spec.offline, spec.outage) = (true, Outage::Marked);
    }
    for instance in &mut cluster.instances {
        if nodes.contains(&instance.primary) {
            instance.details_mut().status = RunStatus::ErrorNodeOffline;
        }
    }
}
