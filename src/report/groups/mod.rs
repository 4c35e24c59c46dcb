//! Node groups: their state, and plans of moves between them.

pub(crate) mod draw;
pub(crate) mod metrics;
pub(crate) mod plan;
pub(crate) mod status;

use crate::model::{Cluster, GroupIdx};

/// Names of groups, separated by commas.
pub(super) fn group_names(cluster: &Cluster, groups: &[GroupIdx]) -> String {
    groups.iter().map(|g| cluster.group(*g).name.as_str()).collect::<Vec<_>>().join(",")
}
