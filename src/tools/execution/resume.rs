//! Resumes a run that was interrupted.

use std::path::Path;

use anyhow::{Context, anyhow, bail};

use super::console::Console;
use super::{
    Confirmation, Consent, ExecutionContext, ExecutionStage, FinishedRun, check_resumed, cleanup, client,
    conclude, consent, failures, history, listen, read_again, take_back, takes_jobs,
};
use crate::execute::journal::{self, Header, Journal, OnFailure};
use crate::execute::signals::Signals;
use crate::execute::{Ending, JobClient, Report, Runner, State};
use crate::model::shown::shown_name;
use crate::plan::graph::StepIdx;
use crate::tools::ExitStatus;
use crate::tools::hint::WithHint;
use crate::tools::output::Output;

/// Resumes the run of a journal.
///
/// # Errors
/// Obstacles to resuming, and failures of the run.
pub(crate) fn resume(
    context: &ExecutionContext<'_>,
    path: &Path,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let mut client = context.client()?;
    resume_with(context, &mut *client, path, output)
}

/// Resumes the run of a journal through a client.
///
/// # Errors
/// Obstacles to resuming, and failures of the run.
pub(crate) fn resume_with(
    context: &ExecutionContext<'_>,
    client: &mut dyn JobClient,
    path: &Path,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let ExecutionContext { tool, execution, .. } = *context;
    let (journal::Read { header, state, .. }, journal) = journal::open(path)?;
    let cluster = client.cluster().context(tool)?;
    check_resumed(&header, tool, &cluster, client.joins_opcodes(), path)?;
    tell_cut_off(&journal, path, output)?;
    if state.steps().all(|step| state.is_done(step)) {
        output.error_line(&format!("All {} steps were done before", header.work.steps.len()))?;
        drop(journal);
        let report = Report::of(Ending::Done, &header.work, &state);
        let finished = context.finished_now(header, report, path, client, output)?;
        return conclude(&finished, context.silent, output);
    }
    let goes_on = header.stream.is_some_and(|pace| pace.on_failure == OnFailure::Continue);
    if let Some(step) = state.steps().find(|step| state.has_failed(*step) && !goes_on) {
        let what = header.work.step(step).described();
        let failed = format!("{}: step {}, {what}, failed in this run", path.display(), step.number());
        drop(journal);
        let report = Report::of(Ending::Failed, &header.work, &state);
        cleanup::tell(&header, &report, path, output)?;
        let finished = context.finished_now(header, report, path, client, output)?;
        let taken_back = context.take_back(&finished, client, output)?;
        return Err(anyhow!("{failed}{taken_back}").hint(new_plan(tool)));
    }
    // A run with `--on-failure=continue` may have half-migrated instances and still go on.
    cleanup::tell(&header, &Report::of(Ending::Interrupted, &header.work, &state), path, output)?;
    if consent(execution, &remaining(&header, &state), output)? == Consent::No {
        return Ok(ExitStatus::Failure);
    }
    let signals = listen(context.silent)?;
    let stage = context.stage(&signals, 1);
    let mut console = Console::begin(&header.work, &stage, output)?;
    let terms = super::pace::terms(context, &header.work)?;
    let mut runner = Runner::new(client, &mut console, &header, journal, state).with(terms);
    let mut found = None;
    let report = match runner.settle() {
        Some(report) => report,
        None => {
            let too_early = runner.started_too_early().map(shown_name);
            let too_early = too_early.map(|name| format!("instance '{name}' was started again"));
            found = too_early.or_else(|| context.stale(&header, &runner.not_started()));
            if found.is_some() { runner.abandon() } else { runner.walk() }
        }
    };
    console.finish(&report, &cleanup::lines(&header, &report, path));
    if let Some(found) = found {
        history::end(&header, &report, None, output)?;
        return Err(
            anyhow!("{tool}: the remaining steps no longer fit the cluster: {found}").hint(new_plan(tool))
        );
    }
    let finished = context.finished_now(header, report, path, client, output)?;
    if finished.report.ending == Ending::Failed && context.takes_back {
        let stage = context.stage(&signals, 2);
        let taken_back = take_back(&finished, client, &stage, output)?;
        bail!("{tool}: {}{taken_back}", failures(&finished));
    }
    conclude(&finished, context.silent, output)
}

/// Warns of a journal whose last line is cut off.
///
/// # Errors
/// If standard error cannot be written.
pub(crate) fn tell_cut_off(journal: &Journal, path: &Path, output: &mut Output) -> anyhow::Result<()> {
    if journal.is_cut_off() {
        output.error_line(&format!(
            "Warning: {}: the last line is cut off; the cluster is asked for the missing state",
            path.display()
        ))?;
    }
    Ok(())
}

impl ExecutionContext<'_> {
    /// Connects to the cluster.
    ///
    /// # Errors
    /// If the options name no live cluster.
    pub(crate) fn client(&self) -> anyhow::Result<Box<dyn JobClient>> {
        if !takes_jobs(&self.load.source) {
            return Err(
                anyhow!("{}: option --resume needs a live cluster", self.tool).hint("use --luxi or --master")
            );
        }
        client(&self.load.source)
    }

    /// Record of a finished run, compared with the cluster as it is now.
    fn finished_now(
        &self,
        header: Header,
        report: Report,
        path: &Path,
        client: &mut dyn JobClient,
        output: &mut Output,
    ) -> anyhow::Result<FinishedRun> {
        let arrival = Confirmation::of(&header, &report, client, self.load);
        history::end(&header, &report, arrival.score(), output)?;
        Ok(FinishedRun { header, report, journal: path.to_owned(), arrival })
    }

    /// Settings of the command's run with this number, from 1.
    pub(crate) fn stage<'s>(&'s self, signals: &'s Signals, number: usize) -> ExecutionStage<'s> {
        ExecutionStage { context: self, signals, number }
    }

    /// Undoes an earlier run that failed, if this undertaking does that.
    fn take_back(
        &self,
        finished: &FinishedRun,
        client: &mut dyn JobClient,
        output: &mut Output,
    ) -> anyhow::Result<String> {
        if !self.takes_back {
            return Ok(String::new());
        }
        let signals = listen(self.silent)?;
        // The journal of the failed run counts as the first.
        take_back(finished, client, &self.stage(&signals, 2), output)
    }

    /// Reason why the remaining steps cannot be executed any more.
    fn stale(&self, header: &Header, steps: &[StepIdx]) -> Option<String> {
        match read_again(&self.load.keeping(header.keep_reserve)) {
            Ok(now) => (self.obstacle)(&header.work, steps, &header.group, header.ignore_soft_errors, &now),
            Err(error) => Some(format!("{error:#}")),
        }
    }
}

fn new_plan(tool: &str) -> String {
    format!("make a new plan with {tool}")
}

fn remaining(header: &Header, state: &State) -> String {
    let left = state.steps().filter(|step| !state.is_done(*step)).count();
    format!("Execute the {left} of {} steps that are left?", header.work.steps.len())
}
