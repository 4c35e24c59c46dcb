//! `hsqueeze -X`: the way to the cluster and the right to change it, and the runs.

use std::path::Path;

use anyhow::{Context, bail};

use super::Options;
use super::campaign::Campaign;
use super::planning::Planning;
use crate::execute::JobClient;
use crate::model::Cluster;
use crate::report::squeeze::Deed;
use crate::search::squeeze::{Decision, Squeeze};
use crate::tools::ExitStatus;
use crate::tools::execution::{self, Lock, Resumption, listen, obstacle_in_group};
use crate::tools::output::Output;

/// The way to the cluster, and the right to change it.
pub struct ClusterAccess {
    client: Box<dyn JobClient>,
    _lock: Lock,
}

/// The way to the cluster; before anything is read.
///
/// # Errors
/// If there is no way to switch the power, another run is at work, or the cluster cannot be
/// reached.
pub fn access(options: &Options) -> anyhow::Result<ClusterAccess> {
    let tool = super::SPEC.name;
    let mut client = execution::client(&options.load.source)?;
    if options.load.source.rapi.is_some() && options.execution.handling.power_command.is_none() {
        bail!(
            "{tool}: the remote API cannot switch the power of nodes: --exec with --master needs --power-command"
        );
    }
    let cluster = client.cluster().context(tool)?;
    let lock = Lock::take(tool, &cluster)?;
    Ok(ClusterAccess { client, _lock: lock })
}

/// Goes on with the run of a journal.
///
/// # Errors
/// Why that is not possible, and what went wrong.
pub fn resume(options: &Options, path: &Path, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let tool = super::SPEC.name;
    let silent = options.is_silent();
    let resumption = Resumption {
        tool,
        load: &options.load,
        execution: &options.execution,
        silent,
        takes_back: true,
        obstacle: obstacle_in_group,
    };
    let mut client = resumption.client()?;
    let cluster = client.cluster().context(tool)?;
    let _lock = Lock::take(tool, &cluster)?;
    execution::resume(&resumption, &mut *client, path, output)
}

/// What was done, and what went wrong.
#[derive(Default)]
pub struct HsqueezeEnd {
    pub deeds: Vec<Deed>,
    /// One line each.
    pub problems: Vec<String>,
    /// Set if the run was asked to stop.
    pub stopped: Option<ExitStatus>,
}

/// Carries plans out: those that bring nodes up first.
///
/// # Errors
/// If signals cannot be handled, or standard output.
pub fn execute(
    planning: &Planning<'_>,
    access: &mut ClusterAccess,
    cluster: &Cluster,
    found: &Squeeze,
    output: &mut Output,
) -> anyhow::Result<HsqueezeEnd> {
    output.flush()?;
    let signals = listen(planning.options.is_silent())?;
    let several = found.plans.len() > 1;
    let campaign = Campaign::new(planning, &mut *access.client, &signals, several, output);
    let (up, others): (Vec<_>, Vec<_>) =
        found.plans.iter().filter(|plan| !plan.is_idle()).partition(|p| p.decision == Decision::Expand);
    Ok(campaign.carry_out(cluster, &[up, others].concat()))
}
