//! Makes a change and follows the cluster until it is at rest.

use std::io::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail, ensure};

use super::HplaceOptions;
use super::carry::ProposedChange;
use super::run::status;
use crate::execute::Ending;
use crate::execute::history::HistoryEvent;
use crate::execute::journal::{self, Journal, JournalForm};
use crate::execute::signals::{SignalWish, Signals};
use crate::model::shown::shown_name;
use crate::pacemaker::cib::change::CibChange;
use crate::pacemaker::execute::past::cluster_id;
use crate::pacemaker::execute::{
    CibClient, CibEvent, CibHeader, CibHost, CibRead, CibRunner, CibSurroundings, CibTask, LocalCluster,
    SCHEMA, TaskState,
};
use crate::pacemaker::pinning::ExpectedPlace;
use crate::pacemaker::{WorkingSet, cib, place, transition};
use crate::report::pacemaker::carried;
use crate::tools::ExitStatus;
use crate::tools::execution::{
    Consent, JournalName, Lock, ask, history, journal_path, tell_cut_off, unwritable,
};
use crate::tools::hint::WithHint;
use crate::tools::interrupts;
use crate::tools::options::ExecutionOptions;
use crate::tools::output::Output;

/// Name of the tool in journals and locks.
const TOOL: &str = "hplace";
/// Default maximum time until the cluster is at rest, in seconds.
const WAIT_LIMIT: u64 = 600;
/// Exit status after SIGTERM or a second SIGINT.
const LEFT: i32 = 1;

/// Makes a change that has been checked.
///
/// # Errors
/// Fails if the run cannot begin or does not succeed.
pub(super) fn carry_out(
    proposed: &ProposedChange<'_>,
    expected: Vec<ExpectedPlace>,
    execution: &ExecutionOptions,
    status: ExitStatus,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    if !execution.yes && ask(&proposed.question(), output)? == Consent::No {
        output.error_line("Nothing was changed.")?;
        return Ok(ExitStatus::Failure);
    }
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let header = CibHeader {
        journal: SCHEMA.to_owned(),
        cluster: cluster_name(&proposed.cib.set),
        began: u64::try_from(began.as_nanos()).unwrap_or(u64::MAX),
        change: proposed.change.clone(),
        was: proposed.outlook.current(),
        expected,
        then: proposed.follow_up.clone(),
        limit: proposed.wait_limit.unwrap_or(WAIT_LIMIT),
    };
    let _lock = lock(&header)?;
    let name = JournalName { tool: TOOL, cluster: &header.cluster, began: header.began };
    let path = journal_path(execution.journal.as_deref(), 1, &name)?;
    let journal = Journal::create(&path, &header).with_context(|| unwritable(&path))?;
    output.error_line(&format!("Journal: {}", path.display()))?;
    let begun = header.begun(&path.display().to_string(), &carried::change(&header.change));
    let begun = HistoryEvent::Begun(begun);
    output.error_lines(history::record(&cluster_id(&header.cluster), TOOL, begun))?;
    let read = CibRead::begin(header)?;
    let (ending, read) = walk(journal, read, false, output)?;
    conclude(&ending, &read, &path, status, output)
}

/// Resumes the run of a journal.
///
/// # Errors
/// Fails if the run cannot be resumed, for example because it is another cluster's, or does not succeed.
pub(super) fn resume(
    options: &HplaceOptions,
    path: &Path,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    ensure!(
        options.cib.file.is_none(),
        "option -x does not apply to --resume, which works on the cluster of this node"
    );
    let (read, journal): (CibRead, Journal) = journal::open(path)?;
    let set = cib::parse(&LocalCluster.document()?, "cibadmin")?;
    let (its, this) = (shown_name(&read.header.cluster), shown_name(&cluster_name(&set)));
    ensure!(
        its == this,
        "{}: the journal belongs to the cluster of nodes {its}; this cluster has the nodes {this}",
        path.display()
    );
    tell_cut_off(&journal, path, output)?;
    if read.next().is_none() {
        output.error_line(&format!("All {} steps were done before", read.tasks.len()))?;
        return end_status();
    }
    let _lock = lock(&read.header)?;
    let left = read.tasks.iter().filter(|state| **state != TaskState::Done).count();
    let question = format!("{left} of {} steps are left. Go on?", read.tasks.len());
    if !options.execution.yes && ask(&question, output)? == Consent::No {
        output.error_line("Nothing was changed.")?;
        return Ok(ExitStatus::Failure);
    }
    let (ending, read) = walk(journal, read, true, output)?;
    let status = if ending == Ending::Done { end_status()? } else { ExitStatus::Success };
    conclude(&ending, &read, path, status, output)
}

/// Exit status of a completed run, from the present state of the cluster.
fn end_status() -> anyhow::Result<ExitStatus> {
    let set = cib::parse(&LocalCluster.document()?, "cibadmin")?;
    let placed = place(&set, set.strategy())?;
    Ok(status(&set, &placed, &transition(&set, set.strategy(), &placed)))
}

fn lock(header: &CibHeader) -> anyhow::Result<Lock> {
    Lock::take(TOOL, &cluster_id(&header.cluster))
}

/// Identifies the cluster by the names of its nodes, because a Pacemaker cluster need not have a name.
fn cluster_name(set: &WorkingSet) -> String {
    let names: Vec<&str> = set.hosts.iter().map(|host| host.name.as_str()).collect();
    names.join(",")
}

fn walk(
    journal: Journal,
    read: CibRead,
    resumed: bool,
    output: &mut Output,
) -> anyhow::Result<(Ending, CibRead)> {
    let signals = Signals::listen(LEFT, |wish| {
        let text = match wish {
            SignalWish::Stop => "Interrupted: the current step is finished, or left where that is safe\n",
            SignalWish::Leave => "Leaving at once\n",
        };
        // Standard error may be closed by now, and the run must still end in order.
        let _ = std::io::stderr().write_all(text.as_bytes());
    });
    let signals = signals.context("cannot prepare for signals")?;
    interrupts::retire();
    let header = read.header.clone();
    let tasks = header.tasks();
    let mut seen = RunView { output, signals: &signals, tasks: &tasks };
    let mut client = LocalCluster;
    let mut runner = CibRunner::new(&mut client, &mut seen, journal, read);
    if resumed && let Err(ending) = runner.resumed() {
        bail!("the run cannot be resumed: {}", ending.told());
    }
    let (ending, read) = runner.walk();
    let ended = HistoryEvent::Ended(read.ended(&ending));
    output.error_lines(history::record(&cluster_id(&header.cluster), TOOL, ended))?;
    Ok((ending, read))
}

/// Shows the progress of a run as lines on standard error.
struct RunView<'a> {
    output: &'a mut Output,
    signals: &'a Signals,
    tasks: &'a [CibTask<'a>],
}

impl CibHost for RunView<'_> {
    fn event(&mut self, event: &CibEvent) {
        let RunView { output, signals, tasks } = self;
        let text = match event {
            CibEvent::Begins(task) => {
                format!("Step {} of {}: {}", task + 1, tasks.len(), tasks[*task])
            }
            CibEvent::WasDone(_) => "This step was done before".to_owned(),
            CibEvent::NoAnswer(problem) => format!("The cluster does not answer: {problem}"),
            CibEvent::Ends(_) => return,
        };
        // The run goes on even if standard error is closed.
        let _ = signals.whole(|| output.error_line(&text));
    }
}

impl CibSurroundings for RunView<'_> {
    fn unanswered(&mut self, why: String) {
        self.event(&CibEvent::NoAnswer(why));
    }

    fn wants_to_stop(&self) -> bool {
        self.signals.wants_to_stop()
    }
}

/// Reports the end of a run and returns the exit status.
fn conclude(
    ending: &Ending,
    read: &CibRead,
    path: &Path,
    status: ExitStatus,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let resume = format!("{TOOL} --resume {} continues the run", path.display());
    let done = read.tasks.iter().filter(|state| **state == TaskState::Done).count();
    let all = read.tasks.len();
    match ending {
        Ending::Done => {
            output.error_line("Done: all resources are as they were planned.")?;
            Ok(status)
        }
        Ending::Interrupted => {
            output.error_line(&format!("Interrupted: {done} of {all} steps are done; {resume}"))?;
            Ok(ExitStatus::Failure)
        }
        Ending::Failed => {
            let task = read.next().unwrap_or_default();
            let why = match read.tasks.get(task) {
                Some(TaskState::Failed(why)) => why.as_str(),
                _ => "",
            };
            let what = read.header.tasks().get(task).map(ToString::to_string).unwrap_or_default();
            let failure = anyhow!("step {} of {all}, {what}: {why}", task + 1);
            Err(match done {
                0 => failure.context("nothing was changed"),
                _ => failure.hint(format!("{}; {resume}", made(read))),
            })
        }
        Ending::Unrecorded(why) => {
            Err(anyhow!("the run stopped because the journal '{}' cannot be written: {why}", path.display())
                .hint(format!("make room; then {resume}")))
        }
        ending => Err(anyhow!("the run stopped: {}", ending.told()).hint(resume)),
    }
}

/// The first change of a run in words, with the command that undoes it.
fn made(read: &CibRead) -> String {
    let change = &read.header.change;
    let back = match change {
        CibChange::Together(_) => {
            format!(
                "{TOOL} --undo removes constraints, {TOOL} --undo evacuate NODE ends the standby of a node"
            )
        }
        _ => format!("{TOOL} --undo undoes it"),
    };
    format!("\"{}\" was done; {back}", carried::change(change))
}
