//! Going on with a run that was cut off.

use std::path::Path;

use anyhow::{Context, bail};

use super::console::Console;
use super::{
    Confirmation, Consent, ExecutionStage, Ran, ask, check_resumed, client, conclude, failures, listen,
    read_again, take_back, takes_jobs, violation,
};
use crate::execute::journal::{self, Header};
use crate::execute::signals::Signals;
use crate::execute::{Ending, JobClient, Report, Runner, State};
use crate::model::Cluster;
use crate::tools::ExitStatus;
use crate::tools::options::{ExecutionOptions, LoadOptions};
use crate::tools::output::Output;

/// A tool that goes on with one of its runs.
pub struct Resumption<'a> {
    pub tool: &'static str,
    /// Reading the cluster.
    pub load: &'a LoadOptions,
    /// Carrying plans out.
    pub execution: &'a ExecutionOptions,
    /// Whether standard output is for something else.
    pub silent: bool,
    /// Whether what a failed run has done is taken back.
    pub takes_back: bool,
    /// Why the steps that are left cannot be carried out on the cluster as it is now.
    pub obstacle: fn(&Header, &[usize], &Cluster) -> Option<String>,
}

/// Goes on with the run of a journal.
///
/// # Errors
/// Why it cannot be gone on with, and what went wrong.
pub fn resume(
    resumption: &Resumption<'_>,
    client: &mut dyn JobClient,
    path: &Path,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let Resumption { tool, execution, .. } = *resumption;
    let (journal::Read { header, state, .. }, journal) = journal::open(path)?;
    let cluster = client.cluster().context(tool)?;
    check_resumed(&header, tool, &cluster, client.joins_opcodes(), path)?;
    if state.steps().all(|step| state.is_done(step)) {
        output.error_line(&format!("All {} steps are done already", header.work.steps.len()))?;
        drop(journal);
        let ran = resumption.over(header, Report::of(Ending::Done, &state), path, client);
        return conclude(&ran, resumption.silent, output);
    }
    if let Some(step) = state.steps().find(|step| state.has_failed(*step)) {
        let what = header.work.steps[step].described();
        let failed = format!("{}: step {}, {what}, has failed in this run", path.display(), step + 1);
        drop(journal);
        let report = Report::of(Ending::Failed, &state);
        let ran = resumption.over(header, report, path, client);
        let taken_back = resumption.take_back(&ran, client, output)?;
        bail!("{failed}; let {tool} make a new plan{taken_back}");
    }
    if !execution.yes && ask(&remaining(&header, &state), output)? == Consent::No {
        output.error_line("Nothing was executed.")?;
        return Ok(ExitStatus::Failure);
    }
    let signals = listen(resumption.silent)?;
    let stage = resumption.stage(&signals, 1);
    let mut console = Console::begin(&header.work, &stage, output)?;
    let mut runner = Runner::new(client, &mut console, &header, journal, state);
    let mut found = None;
    let report = match runner.settle() {
        Some(report) => report,
        None => {
            found = resumption.stale(&header, &runner.not_started());
            if found.is_some() { runner.abandon() } else { runner.walk() }
        }
    };
    console.finish(&report);
    if let Some(found) = found {
        bail!(
            "{tool}: the steps that are left do not fit the cluster any more, let {tool} make a new plan: {found}"
        );
    }
    let ran = resumption.over(header, report, path, client);
    if ran.report.ending == Ending::Failed && resumption.takes_back {
        let stage = resumption.stage(&signals, 2);
        let taken_back = take_back(&ran, tool, client, &stage, output)?;
        bail!("{tool}: {}{taken_back}", failures(&ran));
    }
    conclude(&ran, resumption.silent, output)
}

impl Resumption<'_> {
    /// The client that it needs.
    ///
    /// # Errors
    /// If the options name no live cluster.
    pub fn client(&self) -> anyhow::Result<Box<dyn JobClient>> {
        if !takes_jobs(&self.load.source) {
            bail!("{}: --resume needs the cluster: --luxi or --master", self.tool);
        }
        client(&self.load.source)
    }

    /// A run that is over, and the cluster then.
    fn over(&self, header: Header, report: Report, path: &Path, client: &mut dyn JobClient) -> Ran {
        let arrival = Confirmation::of(&header.work, &report, client, self.load);
        Ran { header, report, journal: path.to_owned(), arrival }
    }

    fn stage<'s>(&'s self, signals: &'s Signals, number: usize) -> ExecutionStage<'s> {
        ExecutionStage { options: self.execution, load: self.load, silent: self.silent, signals, number }
    }

    /// Takes back what a run did that had failed before.
    fn take_back(
        &self,
        ran: &Ran,
        client: &mut dyn JobClient,
        output: &mut Output,
    ) -> anyhow::Result<String> {
        if !self.takes_back {
            return Ok(String::new());
        }
        let signals = listen(self.silent)?;
        // the journal of the run is the first
        take_back(ran, self.tool, client, &self.stage(&signals, 2), output)
    }

    /// Why the steps that are left cannot be carried out any more.
    fn stale(&self, header: &Header, steps: &[usize]) -> Option<String> {
        match read_again(self.load) {
            Ok(now) => (self.obstacle)(header, steps, &now),
            Err(error) => Some(format!("{error:#}")),
        }
    }
}

/// What keeps the moves that are left, all inside the group of the run, from being carried out.
pub fn obstacle_in_group(header: &Header, steps: &[usize], now: &Cluster) -> Option<String> {
    violation(&header.work, steps, &header.group, header.ignore_soft_errors, now)
}

fn remaining(header: &Header, state: &State) -> String {
    let left = state.steps().filter(|step| !state.is_done(*step)).count();
    format!("Execute the {left} of {} steps that are left?", header.work.steps.len())
}
