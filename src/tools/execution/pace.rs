//! Pace of the steps of a plan, by the options: limits, speeds, the window.

use anyhow::{Context, bail, ensure};

use super::ExecutionContext;
use crate::execute::RunTerms;
use crate::execute::journal::{self, OnFailure, StreamPace};
use crate::plan::durations::Rates;
use crate::plan::stream::StreamLimits;
use crate::plan::work::Work;
use crate::tools::options::{ExecutionOptions, OutputOptions, one_form};

/// Refuses options that mean nothing without others.
///
/// # Errors
/// The first that does.
pub(crate) fn check(options: &ExecutionOptions, output: &OutputOptions) -> anyhow::Result<()> {
    one_form(&[("print-plan", options.prints_document()), ("json", output.json)])?;
    let limited = options.limits != StreamLimits::default();
    // a time table has limits, too
    if limited && !options.stream && options.print_plan.is_none() {
        bail!(
            "the limits --max-parallel, --max-out-per-node, --max-in-per-node, --max-syncs and --max-per-group need --stream"
        );
    }
    if options.on_failure.is_some() && !options.stream {
        bail!("--on-failure needs --stream");
    }
    if options.stream && !options.exec && options.resume.is_none() && options.print_plan.is_none() {
        bail!("--stream needs --exec or --print-plan");
    }
    Ok(())
}

/// Refuses to plan anew after a failure, where nothing does.
///
/// # Errors
/// If that is asked for.
pub(crate) fn never_replans(tool: &str, options: &ExecutionOptions) -> anyhow::Result<()> {
    ensure!(options.on_failure != Some(OnFailure::Replan), "--on-failure=replan means nothing to {tool}");
    Ok(())
}

/// Speeds, by the options and the journals that they name.
///
/// # Errors
/// A journal that cannot be read.
pub(crate) fn rates(options: &ExecutionOptions) -> anyhow::Result<Rates> {
    let mut read = Vec::new();
    for path in &options.durations_from {
        read.push(journal::read(path).context("--durations-from")?);
    }
    let measured: Vec<_> = read.iter().flat_map(journal::Read::measured).collect();
    Ok(options.rates.refined(&measured))
}

/// Pace of a run that does not go by jobsets.
pub(super) fn pace(options: &ExecutionOptions) -> Option<StreamPace> {
    let on_failure = options.on_failure.unwrap_or(OnFailure::Stop);
    options.stream.then_some(StreamPace { limits: options.limits, on_failure })
}

/// Terms of a run besides its plan.
///
/// # Errors
/// See [`rates`].
pub(super) fn terms(context: &ExecutionContext<'_>, work: &Work) -> anyhow::Result<RunTerms> {
    let options = context.execution;
    let seconds = rates(options)?.of(work);
    Ok(RunTerms { seconds, deadline: context.deadline, boot: options.handling.boot })
}
