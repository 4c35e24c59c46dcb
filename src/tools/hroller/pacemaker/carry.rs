//! `hroller -X --live`: the maintenance is carried out, batch after batch.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};

use super::site::CibSite;
use crate::execute::history::HistoryEvent;
use crate::execute::journal::{self, Journal, JournalForm};
use crate::execute::maintenance::{LeftNode, NodeCommands};
use crate::execute::signals::{SignalWish, Signals};
use crate::model::shown::shown_name;
use crate::pacemaker::execute::maintenance::{
    CibMaintenanceEnd, CibMaintenanceHeader, CibMaintenanceRead, CibMaintenanceRun, CibMaintenanceTerms,
    CibNodeStage, CibNodeWork, MAINTENANCE_SCHEMA, MaintainedNode,
};
use crate::pacemaker::execute::past::cluster_id;
use crate::pacemaker::execute::{CibClient, LocalCluster};
use crate::pacemaker::rolling::StandbyBatch;
use crate::pacemaker::{WorkingSet, cib};
use crate::tools::execution::{
    Consent, JournalName, Lock, consent, history, journal_path, rates, tell_cut_off, unwritable,
};
use crate::tools::hplace::cluster::ReadCib;
use crate::tools::hroller::ending::EndedMaintenance;
use crate::tools::hroller::need::KnownNeed;
use crate::tools::hroller::{ExitStatus, HrollerOptions, PURPOSE, SPEC, question};
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
        commands: maintain.commands(),
        work: if maintain.wait_for_operator { CibNodeWork::Person } else { CibNodeWork::Command },
        reboots: !maintain.no_reboot,
        max_down: options.rolling.max_down.map(std::num::NonZeroUsize::get),
        canary: maintain.canary,
        soak: maintain.soak.as_secs(),
        after_failure: maintain.on_failure.unwrap_or_default(),
        limits: options.time_limits(),
        rest: REST,
        skip_unsupported: options.cib.skip_unsupported,
    }
}

fn lock(cluster: &str) -> anyhow::Result<Lock> {
    Lock::take(SPEC.name, &cluster_id(cluster))
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
    if consent(&options.execution, &question(terms.nodes.len(), Some(batches.len())), output)? == Consent::No
    {
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
    if consent(&options.execution, &question(read.nodes.len(), None), output)? == Consent::No {
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
        need: KnownNeed::default(),
    };
    let mut client = LocalCluster;
    let cluster = cluster_id(&read.header.cluster);
    let begun = HistoryEvent::Begun(read.begun(&path.display().to_string(), PURPOSE));
    site.output.error_lines(history::record(&cluster, SPEC.name, begun))?;
    let (end, read) = CibMaintenanceRun::new(&mut client, &mut site, journal, read).carry_out();
    let ended = HistoryEvent::Ended(read.ended(&end));
    output.error_lines(history::record(&cluster, SPEC.name, ended))?;
    conclude(&end, &read, path, output)
}

/// Tells the end of the run.
fn conclude(
    end: &CibMaintenanceEnd,
    read: &CibMaintenanceRead,
    journal: &Path,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let is_done = |left: &&LeftNode| read.stage(&left.node) == Some(CibNodeStage::Done);
    let ended = EndedMaintenance {
        ending: &end.ending,
        done: read.at(CibNodeStage::Done).len(),
        skipped: read.at(CibNodeStage::Skipped).len(),
        open: end.left.len() - end.left.iter().filter(is_done).count(),
        left: &end.left,
        journal,
        command: "hroller --live",
        silent: false,
    };
    let is_out = |node: &str| read.stage(node).is_some_and(CibNodeStage::is_open);
    ended.conclude(|node| is_out(node).then_some("still in standby"), output)
}
