//! `hroller -X --live`: the maintenance is carried out, batch after batch.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail, ensure};

use super::operator_commands;
use super::site::CibSite;
use crate::execute::journal::{self, Journal, JournalForm};
use crate::execute::maintenance::{LeftNode, MaintenanceLimits, NodeCommands};
use crate::execute::signals::{SignalWish, Signals};
use crate::execute::{ClusterId, Ending};
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::pacemaker::execute::maintenance::{
    CibMaintenanceEnd, CibMaintenanceHeader, CibMaintenanceRead, CibMaintenanceRun, CibMaintenanceTerms,
    CibNodeStage, CibNodeWork, MAINTENANCE_SCHEMA, MaintainedNode,
};
use crate::pacemaker::execute::{CibClient, LocalCluster};
use crate::pacemaker::rolling::StandbyBatch;
use crate::pacemaker::{WorkingSet, cib};
use crate::tools::execution::{
    Consent, JournalName, Lock, ask, journal_path, rates, tell_cut_off, unwritable,
};
use crate::tools::hint::WithHint;
use crate::tools::hplace::cluster::ReadCib;
use crate::tools::hroller::{ExitStatus, HrollerOptions, SPEC};
use crate::tools::interrupts;
use crate::tools::output::Output;

/// Longest time until the cluster is at rest, in seconds.
const REST: u64 = 600;
/// Exit status after a second request to stop.
const LEFT: i32 = 1;

/// The cluster, by the names of its nodes: a Pacemaker cluster need not have a name.
fn cluster_name(set: &WorkingSet) -> String {
    let members = set.hosts.iter().filter(|host| host.is_member());
    members.map(|host| host.name.as_str()).collect::<Vec<_>>().join(",")
}

fn terms(options: &HrollerOptions, set: &WorkingSet, batches: &[StandbyBatch]) -> CibMaintenanceTerms {
    let maintain = &options.maintain;
    let in_standby = |name: &str| set.hosts.iter().any(|host| host.name == name && host.state.standby);
    let nodes = batches.iter().flat_map(|batch| &batch.nodes);
    let node = |name: &String| MaintainedNode { name: name.clone(), standby: in_standby(name) };
    CibMaintenanceTerms {
        nodes: nodes.map(node).collect(),
        commands: operator_commands(options),
        work: if maintain.wait_for_operator { CibNodeWork::Person } else { CibNodeWork::Command },
        reboots: !maintain.no_reboot,
        max_down: options.rolling.max_down.map(std::num::NonZeroUsize::get),
        canary: maintain.canary,
        soak: maintain.soak.as_secs(),
        after_failure: maintain.on_failure.unwrap_or_default(),
        limits: MaintenanceLimits {
            command: maintain.command_timeout.as_secs(),
            boot: options.execution.handling.boot.as_secs(),
            check: maintain.check_timeout.as_secs(),
        },
        rest: REST,
        skip_unsupported: options.cib.skip_unsupported,
    }
}

fn lock(cluster: &str) -> anyhow::Result<Lock> {
    Lock::take(SPEC.name, &ClusterId { name: cluster.to_owned(), uuid: cluster.to_owned() })
}

/// Carries out the maintenance of the nodes of these batches.
///
/// # Errors
/// Obstacles to beginning it, and failures of the run.
pub(super) fn carry_out(
    options: &HrollerOptions,
    cib: &ReadCib,
    batches: &[StandbyBatch],
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let cluster = cluster_name(&cib.set);
    let _lock = lock(&cluster)?;
    let terms = terms(options, &cib.set, batches);
    let question = format!(
        "Maintain {} in {}?",
        counted(terms.nodes.len(), "node"),
        if batches.len() == 1 { "1 batch".to_owned() } else { format!("{} batches", batches.len()) }
    );
    output.flush()?;
    if !options.execution.yes && ask(&question, output)? == Consent::No {
        output.error_line("Nothing was executed.")?;
        return Ok(ExitStatus::Failure);
    }
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let header = CibMaintenanceHeader {
        journal: MAINTENANCE_SCHEMA.to_owned(),
        cluster,
        began: u64::try_from(began.as_nanos()).unwrap_or(u64::MAX),
        terms,
    };
    let name = JournalName { tool: SPEC.name, cluster: &header.cluster, began: header.began };
    let path = journal_path(options.execution.journal.as_deref(), 1, &name)?;
    let journal = Journal::create(&path, &header).with_context(|| unwritable(&path))?;
    run(options, CibMaintenanceRead::begin(header)?, journal, &path, output)
}

/// Goes on with the maintenance of a journal.
///
/// # Errors
/// Obstacles to resuming it, and failures of the run.
pub(super) fn resume(
    options: &HrollerOptions,
    path: &Path,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let (read, journal): (CibMaintenanceRead, Journal) = journal::open(path)?;
    let set = cib::parse(&LocalCluster.document()?, "cibadmin")?;
    let (its, this) = (&read.header.cluster, cluster_name(&set));
    ensure!(
        *its == this,
        "{}: the journal belongs to the cluster of nodes {}; this cluster has the nodes {}",
        path.display(),
        shown_name(its),
        shown_name(&this)
    );
    tell_cut_off(&journal, path, output)?;
    let _lock = lock(&this)?;
    let question = format!("Go on with the maintenance of {}?", counted(read.nodes.len(), "node"));
    if !options.execution.yes && ask(&question, output)? == Consent::No {
        output.error_line("Nothing was executed.")?;
        return Ok(ExitStatus::Failure);
    }
    run(options, read, journal, path, output)
}

fn run(
    options: &HrollerOptions,
    read: CibMaintenanceRead,
    journal: Journal,
    path: &Path,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let is_quiet = options.load.verbosity < 1;
    if !is_quiet {
        output.error_line(&format!("Journal: {}", path.display()))?;
    }
    output.flush()?;
    let signals = Signals::listen(LEFT, |wish| {
        let text = match wish {
            SignalWish::Stop => "Interrupted: no other node is taken out of service\n",
            SignalWish::Leave => "Leaving at once\n",
        };
        // Standard error may be closed by now, and the run must still end in order.
        let _ = std::io::stderr().write_all(text.as_bytes());
    });
    let signals = signals.context("cannot prepare for signals")?;
    interrupts::retire();
    let boot = rates(&options.execution)?.boot;
    let mut site = CibSite {
        output: &mut *output,
        signals: &signals,
        commands: NodeCommands::of_journal(path),
        is_quiet,
        deadline: options.execution.window.end_from_now(),
        boot: Duration::try_from_secs_f64(boot).unwrap_or_default(),
        began: None,
        longest: Duration::ZERO,
        needy: BTreeSet::new(),
    };
    let mut client = LocalCluster;
    let (end, read) = CibMaintenanceRun::new(&mut client, &mut site, journal, read).carry_out();
    conclude(&end, &read, path, output)
}

/// Reports the end of the run.
fn conclude(
    end: &CibMaintenanceEnd,
    read: &CibMaintenanceRead,
    path: &Path,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let (done, skipped) = (read.at(CibNodeStage::Done).len(), read.at(CibNodeStage::Skipped).len());
    let mut summary = format!("{} maintained", counted(done, "node"));
    if skipped > 0 {
        summary += &format!(", {skipped} without need");
    }
    let is_done = |left: &&LeftNode| read.stage(&left.node) == Some(CibNodeStage::Done);
    let left = end.left.len() - end.left.iter().filter(is_done).count();
    if left > 0 {
        summary += &format!(", {left} left");
    }
    output.line(&summary)?;
    for LeftNode { node, why } in &end.left {
        let is_out = read.stage(node).is_some_and(CibNodeStage::is_open);
        let mark = if is_out { " (still in standby)" } else { "" };
        output.error_line(&format!("  {}{mark}: {why}", shown_name(node)))?;
    }
    output.flush()?;
    let resume = format!("hroller --live --resume {} goes on", path.display());
    match &end.ending {
        Ending::Done => Ok(ExitStatus::Success),
        Ending::OutOfTime => {
            output.error_line(&format!("The time is up; {resume}"))?;
            Ok(ExitStatus::Success)
        }
        Ending::Interrupted => {
            output.error_line(&format!("The run was asked to stop; {resume}"))?;
            Ok(ExitStatus::Success)
        }
        Ending::Failed => Err(anyhow!("hroller: not all nodes were maintained").hint(resume)),
        Ending::Lost(why) => {
            Err(anyhow!("hroller: the run stopped because of the cluster: {why}").hint(resume))
        }
        Ending::Unrecorded(why) => {
            Err(anyhow!("hroller: the run stopped, as its journal cannot be written: {why}")
                .hint(format!("make room; then {resume}")))
        }
        Ending::Contradiction(why) => bail!("hroller: the run stopped: {}: {why}", path.display()),
    }
}
