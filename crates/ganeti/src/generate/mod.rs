//! Random clusters for trials, benchmarks and tests. They are feasible (N+1 holds: every node can take over from
//! another one) and unbalanced, so that the tools have something to do.

mod cluster;
pub use htools_model::random;

pub use cluster::cluster;

use htools_model::words;

words!(
    /// Disk templates of the instances.
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

/// Specification of a cluster. The same specification always gives the same cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterSpec {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of instances to place; those that find no room are left out.
    pub instances: usize,
    /// Their disk templates.
    pub templates: TemplateMix,
    /// Number of node groups; nodes are assigned in turn.
    pub groups: usize,
    /// True if nodes differ in size.
    pub heterogeneous: bool,
    /// Share of the nodes that hold most of the instances.
    pub skew: f64,
    /// Mean share of memory in use.
    pub fill: f64,
    /// True if there are exclusion tags and locations.
    pub tags: bool,
    /// Random seed.
    pub seed: u64,
}

impl Default for ClusterSpec {
    fn default() -> Self {
        ClusterSpec::new(0, 0, TemplateMix::Drbd, 1)
    }
}

impl ClusterSpec {
    /// A cluster of these sizes, with defaults for everything else.
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
