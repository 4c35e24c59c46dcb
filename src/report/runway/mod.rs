//! Results of `hspace --runway`: the days until capacities are used up.

pub(crate) mod json;
pub(crate) mod text;

use crate::search::forecast::{RunwayEstimate, Series};
use htools_model::words;

words!(
    /// Capacity of a node group that can be used up.
    pub(crate) GroupCapacity, "capacity" {
        /// Memory, in MiB.
        Memory = "memory",
        /// Disk space, in MiB.
        Disk = "disk",
        /// Virtual CPUs.
        Cpu = "cpu",
        /// Instances of shrinking sizes that still fit. It is a remainder, which falls to 0.
        Tiered = "tiered",
    }
);

/// History of the use of a capacity.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UseHistory {
    /// Name of the node group.
    pub group: String,
    pub capacity: GroupCapacity,
    /// The use, or what remains; in the unit of the capacity.
    pub series: Series,
    /// The limit of the use; `None` if it is not known. The remainder has none.
    pub limit: Option<f64>,
}

/// Estimate for one capacity of a group.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunwayRow {
    pub group: String,
    pub capacity: GroupCapacity,
    /// Value at which nothing is left.
    pub limit: Option<f64>,
    pub estimate: RunwayEstimate,
}

impl RunwayRow {
    pub(crate) fn of(history: &UseHistory) -> RunwayRow {
        let UseHistory { group, capacity, series, limit } = history;
        let (limit, estimate) = match capacity {
            GroupCapacity::Tiered => (Some(0.0), RunwayEstimate::falling(series)),
            // An unknown limit is never reached.
            _ => (*limit, RunwayEstimate::rising(series, limit.unwrap_or(f64::NAN))),
        };
        RunwayRow { group: group.clone(), capacity: *capacity, limit, estimate }
    }
}

/// Estimates for a cluster.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClusterRunway {
    /// Name of the cluster in metrics.
    pub cluster: String,
    /// Days of history that were asked for.
    pub days: u64,
    /// By group, then by capacity.
    pub rows: Vec<RunwayRow>,
}

#[cfg(test)]
mod tests;
