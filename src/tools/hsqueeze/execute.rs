//! `hsqueeze -X`: access to the cluster, and the runs.

use std::path::Path;

use anyhow::{Context, anyhow};

use super::HsqueezeOptions;
use super::planning::Planning;
use super::squeeze_run::{HsqueezeEnd, SqueezeRun};
use crate::execute::JobClient;
use crate::model::Cluster;
use crate::search::squeeze::{Decision, Squeeze};
use crate::tools::ExitStatus;
use crate::tools::execution::{self, ExecutionContext, Lock, listen, violation};
use crate::tools::hint::WithHint;
use crate::tools::output::Output;

/// A connection to the cluster, with the lock that allows changes.
pub(super) struct ClusterAccess {
    client: Box<dyn JobClient>,
    _lock: Lock,
}

/// Connects to the cluster and takes the lock. This must happen before anything is read.
///
/// # Errors
/// If the power cannot be switched, another run is active, or the cluster cannot be reached.
pub(super) fn access(options: &HsqueezeOptions) -> anyhow::Result<ClusterAccess> {
    let tool = super::SPEC.name;
    let mut client = execution::client(&options.load.source)?;
    if options.load.source.rapi.is_some() && options.execution.handling.power_command.is_none() {
        return Err(anyhow!("{tool}: the remote API cannot switch the power of nodes")
            .hint("use --power-command with --exec and --master"));
    }
    let cluster = client.cluster().context(tool)?;
    let lock = Lock::take(tool, &cluster)?;
    Ok(ClusterAccess { client, _lock: lock })
}

/// Settings for the execution of plans.
pub(super) fn context(options: &HsqueezeOptions) -> ExecutionContext<'_> {
    ExecutionContext {
        tool: super::SPEC.name,
        deadline: options.execution.window.end_from_now(),
        typed: &options.output.typed,
        load: &options.load,
        execution: &options.execution,
        silent: options.output.is_silent(&options.load),
        takes_back: true,
        ignore_soft_errors: false,
        detailed_status: options.output.detailed_status,
        obstacle: violation,
    }
}

/// Resumes the run of a journal.
///
/// # Errors
/// Obstacles to resuming, and failures of the run.
pub(super) fn resume(
    options: &HsqueezeOptions,
    path: &Path,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let context = context(options);
    let mut client = context.client()?;
    let cluster = client.cluster().context(context.tool)?;
    let _lock = Lock::take(context.tool, &cluster)?;
    execution::resume_with(&context, &mut *client, path, output)
}

/// Executes the plans; those that power nodes up come first.
///
/// # Errors
/// If signals cannot be handled, or standard output cannot be written.
pub(super) fn execute(
    planning: &Planning<'_>,
    access: &mut ClusterAccess,
    cluster: &Cluster,
    found: &Squeeze,
    output: &mut Output,
) -> anyhow::Result<HsqueezeEnd> {
    output.flush()?;
    let context = context(planning.options);
    let signals = listen(context.silent)?;
    let several = found.has_several_groups();
    let run = SqueezeRun::new(planning, &context, &mut *access.client, &signals, several, output);
    let (up, others): (Vec<_>, Vec<_>) =
        found.changed_groups().partition(|plans| plans[0].decision == Decision::Expand);
    Ok(run.carry_out(cluster, &[up, others].concat()))
}
