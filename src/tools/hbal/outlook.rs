//! `hbal --until-below --forecast`: nodes that are expected to be overloaded soon are no targets.

use std::time::Duration;

use super::HbalOptions;
use super::without::FirstPlan;
use crate::model::{Cluster, NodeIdx};
use crate::search::steady::{LoadOutlook, is_relieved};
use crate::tools::cli::value::shown_time;
use crate::tools::measured::forecast::hourly;
use crate::tools::output::Output;

/// The cluster with nodes closed to instances of the nodes `due`, if the overload ends nevertheless; else as it was.
/// `coming` is the time of the forecast.
///
/// # Errors
/// If the history of the load cannot be read, or no plan can be made.
pub(super) fn close_targets(
    options: &HbalOptions,
    coming: Duration,
    due: &[NodeIdx],
    cluster: Cluster,
    output: &mut Output,
) -> anyhow::Result<Cluster> {
    let Some(from) = &options.load.measured.from else { return Ok(cluster) };
    let names: Vec<&str> = cluster.instances.iter().map(|instance| instance.name.as_str()).collect();
    let found = hourly(from, &names, coming, &options.load, output)?;
    let hours = found.iter().flatten().map(Vec::len).max().unwrap_or(0);
    // Processors that a load of 1 keeps busy.
    let unit = cluster.nodes.iter().find(|node| node.spec.cpu_load_full > 0.0);
    let unit = unit.map_or(1.0, |node| node.spec.cpu_total / node.spec.cpu_load_full);
    let in_unit = |(at, found): (usize, Option<Vec<f64>>)| match found {
        Some(values) => values.iter().map(|processors| processors / unit).collect(),
        None => vec![cluster.instances[at].util.cpu; hours],
    };
    let outlook = LoadOutlook::new(found.into_iter().enumerate().map(in_unit).collect());
    let closed = outlook.closed(&cluster, due);
    if closed.is_empty() {
        return Ok(cluster);
    }
    let mut kept_off = cluster.clone();
    kept_off.keep_out(&closed);
    let plan = FirstPlan::of(options, kept_off.clone(), "forecast", output)?;
    if plan.is_none_or(|plan| is_relieved(&plan.after, due)) {
        return Ok(kept_off);
    }
    output.error_line(&format!(
        "Note: the overload only ends on nodes that are expected to be above the limit within {}",
        shown_time(coming)
    ))?;
    Ok(cluster)
}
