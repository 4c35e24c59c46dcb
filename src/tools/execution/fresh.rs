//! The cluster just before something is done to it.

use std::io;

use crate::model::Cluster;
use crate::plan::checker::{CheckOptions, check, check_passages};
use crate::plan::regroup::jobsets;
use crate::plan::work::Work;
use crate::tools::options::LoadOptions;
use crate::tools::output::Output;
use crate::tools::source;

/// Most changes that are listed.
const SHOWN: usize = 5;

/// The cluster as it is now, with the options applied; what was said at the first
/// reading is not said again.
pub fn read_again(load: &LoadOptions) -> anyhow::Result<Cluster> {
    let mut silence = Output::to(Box::new(io::sink()), Box::new(io::sink()));
    let mut cluster = source::load(load, &mut silence)?;
    // the search does not find what was named and is gone, and says so itself
    let _ = source::apply_node_settings(&mut cluster, load);
    Ok(cluster)
}

/// The first of these steps that must not be carried out on a cluster; `group` is a UUID.
pub fn violation(
    work: &Work,
    steps: &[usize],
    group: &str,
    ignore_soft_errors: bool,
    now: &Cluster,
) -> Option<String> {
    let Some(group) = now.groups.iter().find(|known| known.uuid == group) else {
        return Some(format!("there is no node group '{group}'"));
    };
    let steps = match work.steps_on(now, steps) {
        Ok(steps) => steps,
        Err(unknown) => return Some(unknown.to_string()),
    };
    let nodes = now.nodes_of(group.idx);
    check(now, &nodes, &steps, CheckOptions { ignore_soft_errors }).err().map(|found| found.to_string())
}

/// The first of these moves between groups that must not be carried out on a cluster.
pub fn crossing_violation(work: &Work, steps: &[usize], now: &Cluster) -> Option<String> {
    match work.passages_on(now, steps) {
        Ok(passages) => {
            check_passages(now, &passages, &jobsets(&passages)).err().map(|found| found.to_string())
        }
        Err(unknown) => Some(unknown.to_string()),
    }
}

/// Says how the cluster has changed; `again` if the plan is made anew.
pub fn announce(changes: &[String], again: bool, output: &mut Output) -> io::Result<()> {
    let then = if again { ", so the plan is made anew" } else { "" };
    output.error_line(&format!("The cluster has changed since it was read{then}:"))?;
    for change in changes.iter().take(SHOWN) {
        output.error_line(&format!("  {change}"))?;
    }
    match changes.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => output.error_line(&format!("  and {more} more")),
    }
}
