//! `hroller -X`: the maintenance is carried out, batch after batch.

use std::path::Path;

use anyhow::{Context, anyhow, bail, ensure};

use super::ending::EndedMaintenance;
use super::need::KnownNeed;
use super::options::{MaintainOptions, RebootBy};
use super::site::Site;
use super::{ExitStatus, HrollerOptions, PURPOSE, SPEC, question};
use crate::execute::journal::{self, Header, Journal, JournalForm, OnFailure, Read, StreamPace};
use crate::execute::maintenance::{
    AfterFailure, BatchRules, MaintenanceEnd, MaintenanceRun, MaintenanceTerms, NodeCommands, NodeStage,
};
use crate::execute::{JobClient, Report};
use crate::model::{Cluster, NodeIdx};
use crate::plan::maintenance::{Batch, NodeMark, NodeTreatment, NodeWork, Strays};
use crate::plan::names::Impossible;
use crate::plan::work::{Boots, Work};
use crate::search::rolling::Part;
use crate::tools::execution::{
    self, Consent, ExecutionContext, JournalName, Lock, check_resumed, consent, history, journal_path,
    listen, rates, tell_cut_off, unwritable, violation,
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
        options.output.refuse(&super::options::IN_JOURNAL, "cannot be changed with --resume")?;
        return options.output.refuse(&super::options::NEED_EXEC, "cannot be changed with --resume");
    }
    ensure!(
        options.upgrade_order || options.migrate_to.is_none(),
        "option --migrate-to needs --upgrade-order"
    );
    let is_for_later = options.execution.save_plan.is_some() || options.approved.is_some();
    if !options.execution.exec && !is_for_later {
        return options.output.refuse(&super::options::NEED_EXEC, "needs --exec or --save-plan");
    }
    let given = [node_command.is_some(), reboot_by.is_some(), *wait_for_operator];
    match given.into_iter().filter(|given| *given).count() {
        // The command is given when the plan is applied.
        0 if !options.execution.exec => {}
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

/// Treatment of each node.
fn treatment(options: &HrollerOptions) -> NodeTreatment {
    let HrollerOptions { maintain, rolling, .. } = options;
    let (work, boots) = match (maintain.reboot_by, maintain.wait_for_operator) {
        (Some(RebootBy::Oob), _) => (NodeWork::Oob, Boots::Anew),
        (None, true) => (NodeWork::Person, Boots::Anew),
        (None, false) if maintain.no_reboot => (NodeWork::Command, Boots::Maybe),
        (None, false) => (NodeWork::Command, Boots::Anew),
    };
    NodeTreatment {
        mark: maintain.mark.unwrap_or_default(),
        work,
        boots,
        returns: maintain.returns.unwrap_or_default(),
        checks_health: maintain.health_command.is_some(),
        upgrade: rolling.upgrade,
    }
}

/// Terms of the maintenance of these nodes.
fn terms(options: &HrollerOptions, cluster: &Cluster, nodes: &[NodeIdx]) -> MaintenanceTerms {
    let HrollerOptions { maintain, rolling, .. } = options;
    MaintenanceTerms {
        nodes: nodes.iter().map(|node| cluster.node(*node).spec.name.clone()).collect(),
        treatment: treatment(options),
        commands: maintain.commands(),
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
        limits: options.time_limits(),
    }
}

/// The steps of these batches, if the cluster stays as it is.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub(super) fn work(options: &HrollerOptions, cluster: &Cluster, parts: &[Part]) -> Result<Work, Impossible> {
    let strays = Strays::default();
    let batches = parts.iter().map(|part| Batch {
        cluster,
        nodes: &part.nodes,
        moved: &part.moves,
        stops_all: options.rolling.offline_maintenance,
        strays: &strays,
        offline: &[],
    });
    Batch::work_of_all(batches, &treatment(options))
}

pub(super) fn context(options: &HrollerOptions) -> ExecutionContext<'_> {
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
    if consent(&options.execution, &question(nodes.len(), Some(batches)), output)? == Consent::No {
        return Ok(ExitStatus::Failure);
    }
    let terms = terms(options, cluster, nodes);
    let on_failure = match terms.after_failure {
        AfterFailure::Stop => OnFailure::Stop,
        AfterFailure::Skip | AfterFailure::Continue => OnFailure::Continue,
    };
    let header = Header {
        journal: journal::SCHEMA.to_owned(),
        run: execution::run_info(SPEC.name, PURPOSE, &options.execution),
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
    if consent(&options.execution, &question(terms.nodes.len(), None), output)? == Consent::No {
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
        need: KnownNeed::default(),
        batches: 0,
    };
    site.say(&format!("Journal: {}", path.display()));
    site.output.error_lines(history::begin(&read.header, path, None))?;
    let Some(run) = MaintenanceRun::new(client, &mut site, read, journal) else {
        bail!("{}: the journal is not of a maintenance", path.display());
    };
    let (end, read) = run.carry_out();
    let report = Report::of(end.ending.clone(), &read.header.work, &read.state);
    output.error_lines(history::end(&read.header, &report, None))?;
    let began = read.header.run.began;
    output.figures(|sheet| crate::report::rolling::metrics::tell(sheet, &end.progress, began));
    conclude(&end, path, context.silent, output)
}

/// Tells the end of the run.
fn conclude(
    end: &MaintenanceEnd,
    journal: &Path,
    silent: bool,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let count = |stage| end.progress.at(&stage).len();
    let ended = EndedMaintenance {
        ending: &end.ending,
        done: count(NodeStage::Done),
        skipped: count(NodeStage::Skipped),
        open: end.left.len(),
        left: &end.left,
        journal,
        command: SPEC.name,
        silent,
    };
    let is_marked =
        |node: &str| end.progress.nodes.iter().any(|(name, stage)| name == node && stage.is_open());
    ended.conclude(|node| is_marked(node).then_some("still marked"), output)
}
