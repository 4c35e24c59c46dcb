//! The twenty metrics of a set of nodes, and what each counts for.

use crate::model::{Ledger, Node, NodeSpec};

/// How the values of the nodes become one number.
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

/// What is counted.
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
}

/// One metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The name in tables.
    pub name: &'static str,
    /// Its weight in the score.
    pub weight: f64,
    /// How it is computed.
    pub kind: Aggregate,
    /// What it measures, for the manual.
    pub meaning: &'static str,
}

/// Number of metrics.
pub const METRICS: usize = 20;

/// Number of per-node real values that enter deviations and sums.
pub const LANES: usize = 13;

/// [`LANES`], rounded up to whole vector registers.
pub const PADDED_LANES: usize = 16;

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

/// All metrics, in the order in which they are printed and summed up. Names and
/// weights are Ganeti's.
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
];

/// The real values of one node, padded with zeros.
pub type Lanes = [f64; PADDED_LANES];

/// The values with which a node in the state `ledger` enters deviations and
/// sums. Every quotient is formed anew, never updated, so that equal states
/// have equal bits.
pub fn lanes(spec: &NodeSpec, ledger: &Ledger) -> Lanes {
    let mut v = [0.0; PADDED_LANES];
    v[lane::FREE_MEM] = ledger.mem_unallocated(spec).as_f64() / spec.mem_total;
    v[lane::FREE_DISK] = ledger.free_disk_ratio(spec);
    v[lane::RESERVED_MEM] = ledger.mem_reserved.as_f64() / spec.mem_total;
    v[lane::VCPU] = ledger.vcpus as f64 / spec.cpu_total / spec.cpu_speed;
    v[lane::CPU_LOAD] = ledger.load.cpu;
    v[lane::MEM_LOAD] = ledger.load.mem;
    v[lane::DISK_LOAD] = ledger.load.disk;
    v[lane::NET_LOAD] = ledger.load.net;
    v[lane::SPINDLES] = ledger.spindles_used / spec.spindle_limit;
    v[lane::FREE_MEM_PLANNED] = ledger.mem_free_planned.as_f64() / spec.mem_total;
    v[lane::FREE_DISK_PLANNED] = ledger.free_disk_ratio_planned(spec);
    v[lane::VCPU_PLANNED] = ledger.vcpus_planned as f64 / spec.cpu_total / spec.cpu_speed;
    v[lane::SPINDLES_PLANNED] = ledger.spindles_used_planned / spec.spindle_limit;
    v
}

/// The counts to which nodes contribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Counted {
    /// Instances on online nodes that fail N+1.
    pub on_failing: i64,
    /// Tag conflicts on online nodes.
    pub tag_conflicts: i64,
    /// Location costs on online nodes.
    pub location_sum: i64,
    /// Instances on offline nodes.
    pub offline_instances: i64,
    /// Primaries on offline nodes.
    pub offline_primaries: i64,
}

impl Counted {
    /// What one node in the state `ledger` contributes.
    pub fn of(spec: &NodeSpec, ledger: &Ledger) -> Counted {
        let instances = ledger.primaries + ledger.secondaries;
        if spec.offline {
            return Counted {
                offline_instances: instances,
                offline_primaries: ledger.primaries,
                ..Counted::default()
            };
        }
        Counted {
            on_failing: if ledger.n1_fail { instances } else { 0 },
            tag_conflicts: ledger.tag_conflicts,
            location_sum: ledger.location_sum,
            ..Counted::default()
        }
    }

    /// What one node contributes now.
    pub fn of_node(node: &Node) -> Counted {
        Counted::of(&node.spec, &node.state.ledger)
    }

    /// The value of a count.
    pub fn get(&self, kind: Aggregate) -> i64 {
        match kind {
            Aggregate::OnlineCount(Count::OnFailingNodes) => self.on_failing,
            Aggregate::OnlineCount(Count::TagConflicts) => self.tag_conflicts,
            Aggregate::OnlineCount(Count::LocationSum) => self.location_sum,
            Aggregate::OfflineCount(Count::Instances) => self.offline_instances,
            Aggregate::OfflineCount(Count::Primaries) => self.offline_primaries,
            _ => 0,
        }
    }
}

impl std::ops::Add for Counted {
    type Output = Counted;
    fn add(self, o: Counted) -> Counted {
        Counted {
            on_failing: self.on_failing + o.on_failing,
            tag_conflicts: self.tag_conflicts + o.tag_conflicts,
            location_sum: self.location_sum + o.location_sum,
            offline_instances: self.offline_instances + o.offline_instances,
            offline_primaries: self.offline_primaries + o.offline_primaries,
        }
    }
}

impl std::ops::Sub for Counted {
    type Output = Counted;
    fn sub(self, o: Counted) -> Counted {
        Counted {
            on_failing: self.on_failing - o.on_failing,
            tag_conflicts: self.tag_conflicts - o.tag_conflicts,
            location_sum: self.location_sum - o.location_sum,
            offline_instances: self.offline_instances - o.offline_instances,
            offline_primaries: self.offline_primaries - o.offline_primaries,
        }
    }
}
