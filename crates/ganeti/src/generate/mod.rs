//! Made-up clusters, for trying things out, for benchmarks and for tests:
//! random, feasible (every node can take over what it must, N+1) and
//! unbalanced, so that there is something to do.

mod cluster;
pub use htools_model::random;

pub use cluster::cluster;

use htools_model::words;

words!(
    /// Which disk templates the instances have.
    pub TemplateMix, "mix of templates" {
        /// All mirrored by DRBD: a primary and a secondary node each.
        Drbd = "drbd",
        /// All on external storage.
        Ext = "ext",
        /// All on their node's own disks: nothing to move.
        Plain = "plain",
        /// Half DRBD, a quarter external, a quarter plain.
        Mixed = "mixed",
    }
);

/// What cluster to make. The same specification always gives the same cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterSpec {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of instances to place; those that find no room are left out.
    pub instances: usize,
    /// Their disk templates.
    pub templates: TemplateMix,
    /// Number of node groups; nodes are dealt out in turn.
    pub groups: usize,
    /// Whether node sizes differ.
    pub heterogeneous: bool,
    /// The share of nodes that hold most of the instances.
    pub skew: f64,
    /// The mean share of memory in use.
    pub fill: f64,
    /// Whether there are exclusion tags and locations.
    pub tags: bool,
    /// Names the cluster among all of these properties.
    pub seed: u64,
}

impl Default for ClusterSpec {
    fn default() -> Self {
        ClusterSpec::new(0, 0, TemplateMix::Drbd, 1)
    }
}

impl ClusterSpec {
    /// A cluster of these sizes, everything else at its default.
    pub fn new(nodes: usize, instances: usize, templates: TemplateMix, seed: u64) -> Self {
        ClusterSpec {
            nodes,
            instances,
            templates,
            groups: 1,
            heterogeneous: false,
            skew: 0.5,
            fill: 0.55,
            tags: false,
            seed,
        }
    }
}
