//! The metrics of the score: Ganeti's twenty with their weights, and one for affinity keys that counts only if asked
//! for.

/// Aggregation of the nodes' values into one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// Population standard deviation (despite the names that end in `_cv`) of
    /// one of the [`LANES`] values of each online node.
    Deviation(usize),
    /// A count over the online nodes.
    OnlineCount(Count),
    /// A count over the offline nodes.
    OfflineCount(Count),
    /// Sum of one of the [`LANES`] values of each online node.
    Sum(usize),
    /// Instances beyond the first of each (location, exclusion tag) pair, over
    /// all online nodes together.
    Spread,
}

/// Quantity that is counted or summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Instances in either role on nodes that fail N+1.
    OnFailingNodes,
    /// Instances in either role.
    Instances,
    /// Primary instances.
    Primaries,
    /// Primaries beyond the first of each exclusion tag.
    TagConflicts,
    /// Location costs.
    LocationSum,
    /// Costs of affinity keys.
    KeyCost,
}

/// One metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The name in tables.
    pub name: &'static str,
    /// Default weight in the score (see [`Weights`](super::Weights)).
    pub weight: f64,
    /// Computation.
    pub kind: Aggregate,
    /// Meaning, for the manual.
    pub meaning: &'static str,
}

/// Number of metrics.
pub const METRICS: usize = 21;

/// The metric of affinity keys, which is not part of Ganeti's score.
pub const AFFINITY: &str = "affinity_keys";

/// Number of per-node real values that enter deviations and sums.
pub const LANES: usize = 13;

/// Positions of a node's values.
pub mod lane {
    /// Unallocated memory over total memory.
    pub const FREE_MEM: usize = 0;
    /// Free disk (or spindles) over the total.
    pub const FREE_DISK: usize = 1;
    /// Reserved memory over total memory.
    pub const RESERVED_MEM: usize = 2;
    /// Virtual over physical CPUs, by speed.
    pub const VCPU: usize = 3;
    /// Processor load.
    pub const CPU_LOAD: usize = 4;
    /// Memory load.
    pub const MEM_LOAD: usize = 5;
    /// Disk load.
    pub const DISK_LOAD: usize = 6;
    /// Network load.
    pub const NET_LOAD: usize = 7;
    /// Spindle weight over the limit.
    pub const SPINDLES: usize = 8;
    /// Free memory, planned view.
    pub const FREE_MEM_PLANNED: usize = 9;
    /// Free disk, planned view.
    pub const FREE_DISK_PLANNED: usize = 10;
    /// Virtual CPUs, planned view.
    pub const VCPU_PLANNED: usize = 11;
    /// Spindle weight, planned view.
    pub const SPINDLES_PLANNED: usize = 12;
}

const fn metric(name: &'static str, weight: f64, kind: Aggregate, meaning: &'static str) -> Metric {
    Metric { name, weight, kind, meaning }
}

/// All metrics in the order in which they are printed and summed. Names and weights are Ganeti's, except for the last
/// one.
pub const TABLE: [Metric; METRICS] = [
    metric(
        "free_mem_cv",
        0.5,
        Aggregate::Deviation(lane::FREE_MEM),
        "Unallocated memory, as a share of the node's total.",
    ),
    metric(
        "free_disk_cv",
        0.5,
        Aggregate::Deviation(lane::FREE_DISK),
        "Free disk, as a share of the total; free spindles with exclusive storage.",
    ),
    metric(
        "n1_cnt",
        1.0,
        Aggregate::OnlineCount(Count::OnFailingNodes),
        "Instances, primary and secondary, of nodes that fail N+1.",
    ),
    metric(
        "reserved_mem_cv",
        1.0,
        Aggregate::Deviation(lane::RESERVED_MEM),
        "Memory reserved for failovers, as a share of the total.",
    ),
    metric(
        "offline_all_cnt",
        4.0,
        Aggregate::OfflineCount(Count::Instances),
        "Instances, primary and secondary, of offline nodes.",
    ),
    metric(
        "offline_pri_cnt",
        16.0,
        Aggregate::OfflineCount(Count::Primaries),
        "Primary instances of offline nodes.",
    ),
    metric(
        "vcpu_ratio_cv",
        0.5,
        Aggregate::Deviation(lane::VCPU),
        "Virtual CPUs for each physical one, divided by the relative speed of the node.",
    ),
    metric(
        "cpu_load_cv",
        1.0,
        Aggregate::Deviation(lane::CPU_LOAD),
        "Processor load of the primary instances.",
    ),
    metric("mem_load_cv", 1.0, Aggregate::Deviation(lane::MEM_LOAD), "Memory load of the primary instances."),
    metric(
        "disk_load_cv",
        1.0,
        Aggregate::Deviation(lane::DISK_LOAD),
        "Disk load of the primary and the secondary instances.",
    ),
    metric(
        "net_load_cv",
        1.0,
        Aggregate::Deviation(lane::NET_LOAD),
        "Network load of the primary instances.",
    ),
    metric(
        "pri_tags_score",
        2.0,
        Aggregate::OnlineCount(Count::TagConflicts),
        "Primary instances on a node beyond the first with the same exclusion tag.",
    ),
    metric(
        "spindles_cv",
        0.5,
        Aggregate::Deviation(lane::SPINDLES),
        "Spindle weight of the instances, as a share of what the policy allows.",
    ),
    metric(
        "free_mem_cv_forth",
        0.5,
        Aggregate::Deviation(lane::FREE_MEM_PLANNED),
        "As free_mem_cv, once forthcoming instances are there.",
    ),
    metric(
        "free_disk_cv_forth",
        0.5,
        Aggregate::Deviation(lane::FREE_DISK_PLANNED),
        "As free_disk_cv, once forthcoming instances are there.",
    ),
    metric(
        "vcpu_ratio_cv_forth",
        0.5,
        Aggregate::Deviation(lane::VCPU_PLANNED),
        "As vcpu_ratio_cv, once forthcoming instances are there.",
    ),
    metric(
        "spindles_cv_forth",
        0.5,
        Aggregate::Deviation(lane::SPINDLES_PLANNED),
        "As spindles_cv, once forthcoming instances are there.",
    ),
    metric(
        "location_score",
        1.0,
        Aggregate::OnlineCount(Count::LocationSum),
        "Location tags that both nodes of an instance have, and desired locations that its primary node lacks.",
    ),
    metric(
        "location_exclusion_score",
        1.0,
        Aggregate::Spread,
        "Instances beyond the first with the same exclusion tag at the same location.",
    ),
    metric(
        "reserved_mem_rtotal",
        0.25,
        Aggregate::Sum(lane::RESERVED_MEM),
        "Memory reserved for failovers, as a share of the total of each node.",
    ),
    metric(
        AFFINITY,
        0.0,
        Aggregate::OnlineCount(Count::KeyCost),
        "What customers' affinity keys and copies of sticky keys are worth on their nodes, negated; counts with --affinity-weight only.",
    ),
];

/// Ganeti's metrics: those whose weights can be chosen by name.
pub fn named() -> impl Iterator<Item = &'static Metric> {
    TABLE.iter().filter(|metric| metric.name != AFFINITY)
}
