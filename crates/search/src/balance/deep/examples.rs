//! Clusters and limits for tests of the deep search.

use super::anneal::Limits;
use htools_ganeti::generate::{ClusterSpec, TemplateMix, cluster};
use htools_ganeti::load::merge::{MergeOptions, finish, merge};
use htools_model::{Cluster, Mib};

/// No limit on moves and data.
pub(super) const NO_LIMITS: Limits = Limits { moves: i64::MAX, data: i64::MAX, data_of_a_move: 1.0 };

/// A generated cluster.
pub(super) fn generated(spec: &ClusterSpec) -> Cluster {
    let mut cluster = merge(cluster(spec), &MergeOptions::default()).expect("no selection");
    finish(&mut cluster, Mib::ZERO);
    cluster
}

/// A cluster of 12 equal nodes with 90 DRBD instances.
pub(super) fn mirrored(seed: u64) -> Cluster {
    generated(&ClusterSpec { fill: 0.4, ..ClusterSpec::new(12, 90, TemplateMix::Drbd, seed) })
}
