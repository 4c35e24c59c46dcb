//! Pace of a plan's execution, from the options: limits, speeds and the deadline.

use anyhow::{Context, bail, ensure};

use super::ExecutionContext;
use crate::execute::RunTerms;
use crate::execute::journal::{self, OnFailure, StreamPace};
use crate::plan::durations::Rates;
use crate::plan::stream::StreamLimits;
use crate::plan::work::Work;
use crate::tools::options::{ExecutionOptions, OutputOptions, one_form};

/// Refuses options that have no effect without others.
///
/// # Errors
/// The first such option.
pub(crate) fn check(options: &ExecutionOptions, output: &OutputOptions) -> anyhow::Result<()> {
    one_form(&[("print-plan", options.prints_document()), ("json", output.json)])?;
    let limited = options.limits != StreamLimits::default();
    // A timetable has limits, too.
    if limited && !options.stream && options.print_plan.is_none() {
        bail!(
            "options --max-parallel, --max-out-per-node, --max-in-per-node, --max-syncs and --max-per-group need --stream"
        );
    }
    if options.on_failure.is_some() && !options.stream {
        bail!("option --on-failure needs --stream");
    }
    if options.stream && !options.exec && options.resume.is_none() && options.print_plan.is_none() {
        bail!("option --stream needs --exec or --print-plan");
    }
    Ok(())
}

/// Refuses `--on-failure=replan` for a tool that cannot replan.
///
/// # Errors
/// If the option is given.
pub(crate) fn never_replans(tool: &str, options: &ExecutionOptions) -> anyhow::Result<()> {
    ensure!(
        options.on_failure != Some(OnFailure::Replan),
        "option --on-failure=replan does not apply to {tool}"
    );
    Ok(())
}

/// Transfer speeds from the options, refined by the journals of `--durations-from`.
///
/// # Errors
/// If a journal cannot be read.
pub(crate) fn rates(options: &ExecutionOptions) -> anyhow::Result<Rates> {
    let mut read = Vec::new();
    for path in &options.durations_from {
        read.push(journal::read(path).context("--durations-from")?);
    }
    let measured: Vec<_> = read.iter().flat_map(journal::Read::measured).collect();
    Ok(options.rates.refined(&measured))
}

/// Pace of a streamed run; none if the run goes by jobsets.
pub(super) fn pace(options: &ExecutionOptions) -> Option<StreamPace> {
    let on_failure = options.on_failure.unwrap_or(OnFailure::Stop);
    options.stream.then_some(StreamPace { limits: options.limits, on_failure })
}

/// Terms of a run other than its plan.
///
/// # Errors
/// See [`rates`].
pub(super) fn terms(context: &ExecutionContext<'_>, work: &Work) -> anyhow::Result<RunTerms> {
    let options = context.execution;
    let seconds = rates(options)?.of(work);
    Ok(RunTerms { seconds, deadline: context.deadline, boot: options.handling.boot })
}
