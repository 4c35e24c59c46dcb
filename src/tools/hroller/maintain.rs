//! `hroller -X`: the maintenance is carried out, batch after batch.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail, ensure};

use super::options::{MaintainOptions, RebootBy};
use super::site::Site;
use super::{ExitStatus, HrollerOptions, SPEC};
use crate::execute::job::RunInfo;
use crate::execute::journal::{self, Header, Journal, JournalForm, OnFailure, Read, StreamPace};
use crate::execute::maintenance::{
    AfterFailure, BatchRules, MaintenanceEnd, MaintenanceLimits, MaintenanceRun, MaintenanceTerms,
    NodeCommands, NodeStage, OperatorCommands,
};
use crate::execute::{Ending, JobClient};
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::model::{Cluster, NodeIdx};
use crate::plan::maintenance::{NodeMark, NodeTreatment, NodeWork};
use crate::plan::work::{Boots, Work};
use crate::tools::execution::{
    self, Consent, ExecutionContext, JournalName, Lock, ask, check_resumed, journal_path, listen, rates,
    reason, tell_cut_off, unwritable, violation,
};
use crate::tools::hint::WithHint;
use crate::tools::output::Output;

/// Refuses options that do not go together.
///
/// # Errors
/// The first such options.
pub(super) fn check(options: &HrollerOptions) -> anyhow::Result<()> {
    let MaintainOptions { node_command, reboot_by, wait_for_operator, no_reboot, .. } = &options.maintain;
    if options.execution.resume.is_some() {
        return options.output.refuse(&super::options::NEED_EXEC, "cannot be changed with --resume");
    }
    if !options.execution.exec {
        return options.output.refuse(&super::options::NEED_EXEC, "needs --exec");
    }
    let given = [node_command.is_some(), reboot_by.is_some(), *wait_for_operator];
    match given.into_iter().filter(|given| *given).count() {
        0 => {
            return Err(anyhow!("{}: --exec needs a way to maintain the nodes", SPEC.name)
                .hint("use --node-command, --reboot-by=oob or --wait-for-operator"));
        }
        1 => {}
        _ => bail!("options --node-command, --reboot-by and --wait-for-operator exclude each other"),
    }
    ensure!(
        !(*no_reboot && node_command.is_none()),
        "option --no-reboot needs --node-command: otherwise the boot ID tells when a node is back"
    );
    if *wait_for_operator && options.maintain.mark == Some(NodeMark::Offline) {
        return Err(anyhow!("options --wait-for-operator and --mark=offline exclude each other")
            .hint("Ganeti does not ask offline nodes for their boot ID"));
    }
    if *reboot_by == Some(RebootBy::Oob) && options.load.source.rapi.is_some() {
        return Err(anyhow!("{}: the remote API cannot switch the power of nodes", SPEC.name)
            .hint("use --luxi on the master node, or --node-command"));
    }
    Ok(())
}

/// Terms of the maintenance of these nodes.
pub(super) fn terms(options: &HrollerOptions, cluster: &Cluster, nodes: &[NodeIdx]) -> MaintenanceTerms {
    let HrollerOptions { maintain, rolling, execution, .. } = options;
    let (work, boots) = match (maintain.reboot_by, maintain.wait_for_operator) {
        (Some(RebootBy::Oob), _) => (NodeWork::Oob, Boots::Anew),
        (None, true) => (NodeWork::Person, Boots::Anew),
        (None, false) if maintain.no_reboot => (NodeWork::Command, Boots::Maybe),
        (None, false) => (NodeWork::Command, Boots::Anew),
    };
    MaintenanceTerms {
        nodes: nodes.iter().map(|node| cluster.node(*node).spec.name.clone()).collect(),
        treatment: NodeTreatment {
            mark: maintain.mark.unwrap_or_default(),
            work,
            boots,
            returns: maintain.returns.unwrap_or_default(),
            checks_health: maintain.health_command.is_some(),
        },
        commands: OperatorCommands {
            node: maintain.node_command.clone(),
            health: maintain.health_command.clone(),
            skip_when: maintain.skip_when.clone(),
            only_when: maintain.only_when.clone(),
            master: maintain.master_command.clone(),
        },
        rules: BatchRules {
            offline_maintenance: rolling.offline_maintenance,
            ignore_non_redundant: rolling.ignore_non_redundant,
            full_evacuation: rolling.full_evacuation,
            migrate_shared: rolling.migrate_shared,
            honour_run_state: rolling.honour_run_state,
            max_down: rolling.max_down.map(std::num::NonZeroUsize::get),
            canary: maintain.canary,
            soak: maintain.soak.as_secs(),
        },
        after_failure: maintain.on_failure.unwrap_or_default(),
        limits: MaintenanceLimits {
            command: maintain.command_timeout.as_secs(),
            boot: execution.handling.boot.as_secs(),
            check: maintain.check_timeout.as_secs(),
        },
    }
}

fn context(options: &HrollerOptions) -> ExecutionContext<'_> {
    ExecutionContext {
        tool: SPEC.name,
        deadline: options.execution.window.end_from_now(),
        typed: &options.output.typed,
        load: &options.load,
        execution: &options.execution,
        silent: options.output.is_silent(&options.load) || options.execution.prints_document(),
        takes_back: false,
        ignore_soft_errors: false,
        detailed_status: false,
        obstacle: violation,
    }
}

/// Carries out the maintenance of these nodes, which were planned as `batches` batches.
///
/// # Errors
/// Obstacles to beginning it, and failures of the run.
pub(super) fn carry_out(
    options: &HrollerOptions,
    cluster: &Cluster,
    nodes: &[NodeIdx],
    batches: usize,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let mut client = execution::client(&options.load.source)?;
    let id = client.cluster().context(SPEC.name)?;
    let _lock = Lock::take(SPEC.name, &id)?;
    let question = format!(
        "Maintain {} in {}?",
        counted(nodes.len(), "node"),
        if batches == 1 { "1 batch".to_owned() } else { format!("{batches} batches") }
    );
    output.flush()?;
    if !options.execution.yes && ask(&question, output)? == Consent::No {
        output.error_line("Nothing was executed.")?;
        return Ok(ExitStatus::Failure);
    }
    let terms = terms(options, cluster, nodes);
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let on_failure = match terms.after_failure {
        AfterFailure::Stop => OnFailure::Stop,
        AfterFailure::Skip | AfterFailure::Continue => OnFailure::Continue,
    };
    let header = Header {
        journal: journal::SCHEMA.to_owned(),
        run: RunInfo {
            tool: SPEC.name.to_owned(),
            began: u64::try_from(began.as_nanos()).unwrap_or(u64::MAX),
            comment: format!("maintaining nodes via hroller (htools) version {}", env!("CARGO_PKG_VERSION")),
            reason: reason(SPEC.name, &options.execution),
            priority: options.execution.priority.map_or(0, |priority| priority.number()),
        },
        after: client.newest().context(SPEC.name)?,
        // Such a run can be resumed over LUXI and over RAPI.
        joins_opcodes: false,
        group: String::new(),
        ignore_soft_errors: false,
        keep_reserve: options.load.nodes.keep_reserve,
        stream: Some(StreamPace { limits: options.execution.limits, on_failure }),
        cluster: id,
        maintenance: Some(terms),
        work: Work::default(),
    };
    let name = JournalName { tool: SPEC.name, cluster: &header.cluster.name, began: header.run.began };
    let path = journal_path(options.execution.journal.as_deref(), 1, &name)?;
    let journal = Journal::create(&path, &header).with_context(|| unwritable(&path))?;
    let read = Read::begin(header).map_err(anyhow::Error::from)?;
    run(options, &mut *client, read, journal, &path, output)
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
    let context = context(options);
    let mut client = context.client()?;
    let id = client.cluster().context(SPEC.name)?;
    let _lock = Lock::take(SPEC.name, &id)?;
    let (read, journal): (Read, Journal) = journal::open(path)?;
    check_resumed(&read.header, SPEC.name, &id, client.joins_opcodes(), path)?;
    tell_cut_off(&journal, path, output)?;
    let Some(terms) = &read.header.maintenance else {
        bail!("{}: the journal is not of a maintenance", path.display());
    };
    let question = format!("Go on with the maintenance of {}?", counted(terms.nodes.len(), "node"));
    if !options.execution.yes && ask(&question, output)? == Consent::No {
        output.error_line("Nothing was executed.")?;
        return Ok(ExitStatus::Failure);
    }
    run(options, &mut *client, read, journal, path, output)
}

fn run(
    options: &HrollerOptions,
    client: &mut dyn JobClient,
    read: Read,
    journal: Journal,
    path: &Path,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let context = context(options);
    output.flush()?;
    let signals = listen(context.silent)?;
    let mut site = Site {
        stage: context.stage(&signals, 1),
        output: &mut *output,
        commands: NodeCommands::of_journal(path),
        journal: path,
        rates: rates(&options.execution)?,
        is_local: options.load.source.rapi.is_none(),
        needy: BTreeSet::new(),
        batches: 0,
    };
    site.say(&format!("Journal: {}", path.display()));
    let Some(run) = MaintenanceRun::new(client, &mut site, read, journal) else {
        bail!("{}: the journal is not of a maintenance", path.display());
    };
    let (end, read) = run.carry_out();
    let began = read.header.run.began;
    output.figures(|sheet| crate::report::rolling::metrics::tell(sheet, &end.progress, began));
    conclude(&end, path, context.silent, output)
}

/// Reports the end of the run.
fn conclude(
    end: &MaintenanceEnd,
    path: &Path,
    silent: bool,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let count = |stage| end.progress.at(&stage).len();
    let (done, skipped) = (count(NodeStage::Done), count(NodeStage::Skipped));
    let mut summary = format!("{} maintained", counted(done, "node"));
    if skipped > 0 {
        summary += &format!(", {skipped} without need");
    }
    if !end.left.is_empty() {
        summary += &format!(", {} left", end.left.len());
    }
    if silent {
        output.error_line(&summary)?
    } else {
        output.line(&summary)?
    }
    for left in &end.left {
        let marked = |node: &str| {
            let stage = end.progress.nodes.iter().find(|(name, _)| name == node).map(|(_, stage)| stage);
            matches!(stage, Some(NodeStage::Marked | NodeStage::Begun | NodeStage::Maintained))
        };
        let mark = if marked(&left.node) { " (still marked)" } else { "" };
        output.error_line(&format!("  {}{mark}: {}", shown_name(&left.node), left.why))?;
    }
    output.flush()?;
    let resume = format!("hroller --resume {} goes on", path.display());
    match &end.ending {
        Ending::Done => Ok(ExitStatus::Success),
        Ending::OutOfTime => {
            output.error_line(&format!("The time is up; {resume}"))?;
            Ok(ExitStatus::Success)
        }
        Ending::Interrupted => {
            output.error_line(&format!(
                "The run was asked to stop; with the same --luxi or --master, {resume}"
            ))?;
            Ok(ExitStatus::Success)
        }
        Ending::Failed => Err(anyhow!("hroller: not all nodes were maintained").hint(resume)),
        Ending::Lost(why) => {
            Err(anyhow!("hroller: the run stopped, as the cluster gave no usable answer: {why}").hint(resume))
        }
        Ending::Unrecorded(why) => {
            Err(anyhow!("hroller: the run stopped, as its journal cannot be written: {why}")
                .hint(format!("make room; then {resume}")))
        }
        Ending::Contradiction(why) => bail!("hroller: the run stopped: {}: {why}", path.display()),
    }
}
