//! What is tried on the clusters, in this order.

mod access;
mod allocator;
mod monitoring;
mod placement;
mod power;
mod reading;

use std::path::PathBuf;

use crate::cluster::Cluster;

/// Which cluster a scenario needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Six nodes, sixteen instances, most of them mirrored.
    Mirrored,
    /// Four nodes and instances on shared storage, which move within seconds.
    Shared,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 2] = [Kind::Mirrored, Kind::Shared];

    /// How its directory is called.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Mirrored => "m",
            Kind::Shared => "s",
        }
    }

    /// Settings of such a cluster, see `vcluster help`.
    pub fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Kind::Mirrored => &[],
            Kind::Shared => &[("VCLUSTER_NODES", "4"), ("VCLUSTER_DRBD", "0")],
        }
    }
}

/// One thing that is tried.
pub struct Scenario {
    /// Its name, for `--only`.
    pub name: &'static str,
    /// Where.
    pub kind: Kind,
    /// Whether it leaves the cluster as it was.
    pub only_reads: bool,
    /// What is done.
    pub run: fn(&Cluster) -> anyhow::Result<()>,
}

const fn reads(name: &'static str, run: fn(&Cluster) -> anyhow::Result<()>) -> Scenario {
    Scenario { name, kind: Kind::Mirrored, only_reads: true, run }
}

const fn changes(name: &'static str, run: fn(&Cluster) -> anyhow::Result<()>) -> Scenario {
    Scenario { name, kind: Kind::Mirrored, only_reads: false, run }
}

/// All of them, in order.
pub const ALL: &[Scenario] = &[
    reads("read-rapi", reading::over_rapi),
    reads("read-luxi", reading::over_luxi),
    reads("read-default-socket", reading::default_socket),
    reads("hscan-rapi", reading::hscan_over_rapi),
    reads("hscan-luxi", reading::hscan_over_luxi),
    reads("credentials", access::credentials),
    reads("wrong-password", access::wrong_password),
    reads("certificates", access::certificates),
    changes("silent-node", power::silent_node),
    changes("allocator", allocator::decides),
    changes("monitoring", monitoring::load_of_nodes),
];

/// Our program where the nodes of the cluster see it, which have other files than this
/// machine in some places.
fn program_in_cluster(cluster: &Cluster) -> anyhow::Result<PathBuf> {
    let file = cluster.path("htools");
    std::fs::copy(crate::tools::program(), &file)?;
    Ok(file)
}
