//! Figures of a node that enter the metrics: real values and counts.

use crate::{Ledger, Node, NodeSpec, WORTH_PARTS};

pub use crate::metrics::{Aggregate, Count, LANES, METRICS, Metric, TABLE, lane};

/// [`LANES`], rounded up to whole vector registers.
pub const PADDED_LANES: usize = 16;

/// The real values of one node, padded with zeros.
pub type Lanes = [f64; PADDED_LANES];

/// Values with which a node in the state `ledger` enters deviations and sums. Every quotient is computed from scratch,
/// never updated, so equal states have equal bits.
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

/// The counts over a set of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Counted {
    /// Instances on online nodes that fail N+1.
    pub on_failing: i64,
    /// Tag conflicts on online nodes.
    pub tag_conflicts: i64,
    /// Location costs on online nodes.
    pub location_sum: i64,
    /// Costs of affinity keys on online nodes, in [`WORTH_PARTS`].
    pub key_cost: i64,
    /// Instances on offline nodes.
    pub offline_instances: i64,
    /// Primaries on offline nodes.
    pub offline_primaries: i64,
}

impl Counted {
    /// Contribution of one node in the state `ledger`.
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
            key_cost: ledger.key_cost,
            ..Counted::default()
        }
    }

    /// Contribution of one node in its present state.
    pub fn of_node(node: &Node) -> Counted {
        Counted::of(&node.spec, &node.state.ledger)
    }

    /// The value of a count as it enters the score.
    pub fn value(&self, kind: Aggregate) -> f64 {
        match kind {
            Aggregate::OnlineCount(Count::KeyCost) => self.key_cost as f64 / WORTH_PARTS,
            _ => self.number(kind) as f64,
        }
    }

    fn number(&self, kind: Aggregate) -> i64 {
        match kind {
            Aggregate::OnlineCount(Count::OnFailingNodes) => self.on_failing,
            Aggregate::OnlineCount(Count::TagConflicts) => self.tag_conflicts,
            Aggregate::OnlineCount(Count::LocationSum) => self.location_sum,
            Aggregate::OnlineCount(Count::KeyCost) => self.key_cost,
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
            key_cost: self.key_cost + o.key_cost,
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
            key_cost: self.key_cost - o.key_cost,
            offline_instances: self.offline_instances - o.offline_instances,
            offline_primaries: self.offline_primaries - o.offline_primaries,
        }
    }
}
