//! Execution of a tool's plan: everything between the plan and the exit status.

mod approved;
mod arrival;
mod cleanup;
mod console;
mod fresh;
pub(super) mod history;
mod lock;
mod pace;
mod place;
mod present;
mod proposal;
mod question;
mod resume;
mod saving;
mod undoing;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail, ensure};

pub(super) use approved::ApprovedPlan;
pub(super) use arrival::Confirmation;
pub(super) use cleanup::tell as tell_cleanup;
pub(super) use fresh::{crossing_violation, read_again, violation};
pub(super) use lock::{Lock, LockHeld};
pub(super) use pace::{check as check_pace, never_replans, rates};
pub(super) use place::{
    JournalName, check as check_journal, journal_path, state as state_directory, unwritable,
};
pub(super) use present::shown;
pub(super) use proposal::{Planned, Planner, Proposal, fitting, plan_and_execute, touched_groups};
pub(super) use question::{Consent, ask, consent};
pub(super) use resume::{resume, resume_with, tell_cut_off};
pub(super) use saving::{PlanToSave, options_of, save_plan};
pub(super) use undoing::take_back;

pub(super) use cleanup::lines as cleanup_lines;
pub(super) use console::Console;

use super::ExitStatus;
use super::options::{ExecutionOptions, LoadOptions, SourceOptions, TypedOption};
use super::output::Output;
use crate::execute::job::RunInfo;
use crate::execute::journal::{self, Header, Journal};
use crate::execute::signals::Signals;
use crate::execute::{
    ClusterId, Ending, JobClient, LuxiClient, RapiClient, Report, Runner, State, StepState,
};
use crate::model::Cluster;
use crate::plan::graph::StepIdx;
use crate::plan::work::Work;
use crate::remote::{luxi, rapi};
use crate::tools::hint::WithHint;

/// The client of the cluster that the plan was made for.
///
/// # Errors
/// If the cluster cannot be accessed, or takes no jobs ([`takes_jobs`]).
pub(super) fn client(source: &SourceOptions) -> anyhow::Result<Box<dyn JobClient>> {
    ensure!(takes_jobs(source), "the source of the cluster accepts no jobs");
    if let Some(address) = &source.rapi {
        let addresses = [rapi::Address::new(address.as_ref())];
        let access = rapi::Access::read(&source.rapi_access, &addresses)?;
        let session = rapi::Session::new(&addresses[0], &access, rapi::FetchLimits::default())?;
        return Ok(Box::new(RapiClient::new(session)));
    }
    let socket = source.socket();
    Ok(Box::new(LuxiClient::new(socket, luxi::Timeouts::default())))
}

/// Returns true if jobs can be submitted to the source of the cluster.
pub(super) fn takes_jobs(source: &SourceOptions) -> bool {
    let asks = |address: &String| !rapi::Address::new(address.as_ref()).is_directory();
    source.rapi.as_ref().map_or(source.luxi.is_some(), asks)
}

/// Context of a tool that executes plans or resumes a run.
pub(super) struct ExecutionContext<'a> {
    pub tool: &'static str,
    /// Time by which the last step must have ended.
    pub deadline: Option<SystemTime>,
    /// The options as they were given.
    pub typed: &'a [TypedOption],
    /// Reading the cluster.
    pub load: &'a LoadOptions,
    /// Carrying plans out.
    pub execution: &'a ExecutionOptions,
    /// True if standard output is for something else.
    pub silent: bool,
    /// True if the changes to nodes by a failed run are undone.
    pub takes_back: bool,
    /// True if plans are made with `--ignore-soft-errors`.
    pub ignore_soft_errors: bool,
    /// True if the exit status differs when changes were made (`--detailed-status`).
    pub detailed_status: bool,
    /// Checks whether steps are still possible on the current cluster.
    pub obstacle: WorkCheck,
}

/// Returns a description of the first step that is not possible on the cluster.
///
/// The arguments are the work, the positions of the steps to check, the UUID of the group (empty for several groups),
/// whether `--ignore-soft-errors` was given for the plan, and the cluster.
pub(super) type WorkCheck = fn(&Work, &[StepIdx], &str, bool, &Cluster) -> Option<String>;

/// A plan to execute, and its purpose.
pub(super) struct ExecutionOrder {
    /// Beginning of the comments of the opcodes, before the version: `rebalancing via hbal`.
    pub purpose: String,
    /// UUID of the node group.
    pub group: String,
    /// Score before the first step, if known.
    pub score: Option<f64>,
    pub work: Work,
}

/// Terms on which plans are carried out.
#[derive(Clone, Copy)]
pub(super) struct ExecutionStage<'a> {
    pub context: &'a ExecutionContext<'a>,
    /// Signals that are listened to.
    pub signals: &'a Signals,
    /// Number of this run among those of the command, from 1.
    pub number: usize,
}

pub(super) struct FinishedRun {
    /// The plan and its circumstances, as the journal records them.
    pub header: Header,
    pub report: Report,
    pub journal: PathBuf,
    /// State of the cluster after the run.
    pub arrival: Confirmation,
}

/// Version as opcodes and reasons state it.
fn version() -> String {
    format!("(htools) version {}", env!("CARGO_PKG_VERSION"))
}

/// The reason that jobs of a tool record.
pub(super) fn reason(tool: &str, options: &ExecutionOptions) -> String {
    options.reason.clone().unwrap_or_else(|| format!("{tool} {} called", version()))
}

/// The identity of a run of a tool that begins now, as its jobs record it. `purpose` is the beginning of the opcodes'
/// comments, before the version: `rebalancing via hbal`.
pub(super) fn run_info(tool: &str, purpose: &str, options: &ExecutionOptions) -> RunInfo {
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    RunInfo {
        tool: tool.to_owned(),
        began: u64::try_from(began.as_nanos()).unwrap_or(u64::MAX),
        comment: format!("{purpose} {}", version()),
        reason: reason(tool, options),
        priority: options.priority.map_or(0, |priority| priority.number()),
    }
}

/// Begins to listen to signals; `silent` if standard output is for something else.
///
/// # Errors
/// If the system does not allow it.
pub(super) fn listen(silent: bool) -> anyhow::Result<Signals> {
    console::listen(silent).context("cannot prepare for signals")
}

/// Executes a plan that has passed all checks.
///
/// # Errors
/// If the run cannot begin.
pub(super) fn carry_out(
    order: ExecutionOrder,
    client: &mut dyn JobClient,
    stage: &ExecutionStage<'_>,
    output: &mut Output,
) -> anyhow::Result<FinishedRun> {
    let &ExecutionContext { tool, execution: options, .. } = stage.context;
    let cluster = client.cluster().context(tool)?;
    let header = Header {
        journal: journal::SCHEMA.to_owned(),
        run: run_info(tool, &order.purpose, options),
        after: client.newest().context(tool)?,
        joins_opcodes: client.joins_opcodes(),
        group: order.group,
        ignore_soft_errors: stage.context.ignore_soft_errors,
        keep_reserve: stage.context.load.nodes.keep_reserve,
        stream: pace::pace(options),
        cluster,
        maintenance: None,
        work: order.work,
    };
    let terms = pace::terms(stage.context, &header.work)?;
    let name = JournalName { tool, cluster: &header.cluster.name, began: header.run.began };
    let path = journal_path(options.journal.as_deref(), stage.number, &name)?;
    let mut console = Console::begin(&header.work, stage, output)?;
    let journal = Journal::create(&path, &header).with_context(|| place::unwritable(&path))?;
    if let Some(warning) = history::begin(&header, &path, order.score) {
        console.error_line(&warning);
    }
    console.note(&format!("Journal: {}", path.display()));
    let state = State::new(header.parts());
    let report = Runner::new(client, &mut console, &header, journal, state).with(terms).walk();
    console.finish(&report, &cleanup::lines(&header, &report, &path));
    let arrival = Confirmation::of(&header, &report, client, stage.context.load);
    history::end(&header, &report, arrival.score(), output)?;
    Ok(FinishedRun { header, report, journal: path, arrival })
}

/// Problems of the steps that failed, in one line.
pub(super) fn failures(finished: &FinishedRun) -> String {
    let failed = finished.report.failed(&finished.header.work).map(|(step, title, report)| {
        let why = report.message.as_deref().unwrap_or_default();
        format!("step {step}, {title}: {why}")
    });
    failed.collect::<Vec<_>>().join("; ")
}

/// Checks a journal against the cluster that the options name.
///
/// # Errors
/// The reason that the run cannot be resumed.
pub(super) fn check_resumed(
    header: &Header,
    tool: &str,
    cluster: &ClusterId,
    joins_opcodes: bool,
    path: &Path,
) -> anyhow::Result<()> {
    let path = path.display();
    if header.run.tool != tool {
        bail!("{path}: the journal is of a run of {}, not of {tool}", header.run.tool);
    }
    if header.cluster.uuid != cluster.uuid {
        let (its, this) = (&header.cluster, cluster);
        bail!(
            "{path}: the journal is of a run on cluster {} ({}), but the options name cluster {} ({})",
            its.name,
            its.uuid,
            this.name,
            this.uuid
        );
    }
    if header.joins_opcodes && !joins_opcodes {
        return Err(
            anyhow!("{path}: a run that was begun over LUXI cannot be resumed over RAPI").hint("use --luxi")
        );
    }
    Ok(())
}

/// Reports the end of a run and returns the exit status.
pub(super) fn conclude(
    finished: &FinishedRun,
    silent: bool,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let FinishedRun { header, report, journal, arrival } = finished;
    let tool = &header.run.tool;
    let resume = format!("{tool} --resume {} continues the run", journal.display());
    match &report.ending {
        Ending::Done => match arrival.tell(output)? {
            Some(problem) => bail!("{tool}: {problem}"),
            None => Ok(ExitStatus::Success),
        },
        Ending::OutOfTime => {
            let done = report.count(&[StepState::Done]);
            let left = report.steps.len() - done;
            output.error_line(&format!(
                "The time is up: {done} of {} steps are done, {left} are left; {resume}",
                report.steps.len(),
            ))?;
            Ok(ExitStatus::Success)
        }
        Ending::Interrupted => {
            for line in console::interrupted(&header.work, report) {
                if silent { output.error_line(&line)? } else { output.line(&line)? }
            }
            output.error_line(&format!("With the same --luxi or --master, {resume}"))?;
            Ok(ExitStatus::Success)
        }
        Ending::Failed => {
            bail!("{tool}: Not all jobs completed successfully: {}\nAborting.\n", failures(finished))
        }
        Ending::Lost(why) => {
            let problem = "the run stopped because Ganeti gave no usable answer; jobs may still be running";
            Err(anyhow!("{tool}: {problem}: {why}").hint(resume))
        }
        Ending::Unrecorded(why) => {
            let journal = journal.display();
            let problem = format!("the run stopped because the journal '{journal}' cannot be written: {why}");
            Err(anyhow!("{tool}: {problem}; jobs may still be running")
                .hint(format!("make room; then {resume}")))
        }
        Ending::Contradiction(why) => bail!("{tool}: the run stopped: {}: {why}", journal.display()),
    }
}
