//! Totals over all nodes of a cluster.

use crate::model::units::{floor_to_i64, trunc_to_i64};
use crate::model::{Cluster, Mib, Node};
use crate::score::Board;

/// Memory or disk of all nodes together, offline ones included, in MiB. 128 bits hold the sum of any 64-bit amounts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct TotalAmounts {
    /// Capacity.
    pub total: f64,
    /// Use by instances; for disks, everything that is not free.
    pub used: i128,
    /// Free amount.
    pub free: i128,
    /// Amount available to new instances: memory beyond each node's reserve for the failure of another node, or disk
    /// beyond `--min-disk`.
    pub available: i128,
    /// The largest amount available on one node.
    pub most_available: Mib,
}

impl TotalAmounts {
    /// Free amount that must stay free.
    pub(crate) fn reserved(&self) -> i128 {
        self.free - self.available
    }

    /// Share in use, from 0 to 1. It is larger on over-committed nodes, and not a number if there is no capacity.
    pub(crate) fn efficiency(&self) -> f64 {
        self.used as f64 / self.total
    }

    fn add(&mut self, total: f64, used: Mib, free: Mib, available: Mib) {
        self.total += total;
        self.used += i128::from(used.0);
        self.free += i128::from(free.0);
        self.available += i128::from(available.0);
        self.most_available = self.most_available.max(available);
    }
}

/// The processors of all nodes together, offline ones included.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Cpus {
    pub physical: f64,
    /// Virtual CPUs that the policies (or `--max-cpu`) allow.
    pub allowed: i128,
    /// Virtual CPUs in use, the nodes' own included.
    pub used: i128,
    /// The corresponding number of physical CPUs: those in use, divided by the node's ratio of virtual to physical
    /// ones.
    pub used_physical: f64,
}

impl Cpus {
    /// Share of the allowed virtual CPUs in use; infinite if none are allowed.
    pub(crate) fn efficiency(&self) -> f64 {
        self.used as f64 / self.allowed as f64
    }
}

/// The spindles of all nodes together, offline ones included.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct SpindleTotals {
    /// Number of spindles.
    pub total: i128,
    /// Free spindles. They are not tracked without exclusive storage: the number becomes 0 at the first change on the
    /// node.
    pub free: i128,
}

impl SpindleTotals {
    /// Spindles that are not free.
    pub(crate) fn used(&self) -> i128 {
        self.total - self.free
    }

    /// Share that is not free; not a number if there are no spindles.
    pub(crate) fn efficiency(&self) -> f64 {
        self.used() as f64 / self.total as f64
    }
}

/// Totals of a cluster. All nodes count, offline ones included; forthcoming instances do not.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Totals {
    /// The score of all nodes as one population; smaller is better.
    pub score: f64,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of instances that exist.
    pub instances: usize,
    pub memory: TotalAmounts,
    /// Memory in MiB that nodes use themselves or that is unaccounted for.
    pub memory_overhead: i128,
    pub disk: TotalAmounts,
    pub cpus: Cpus,
    pub spindles: SpindleTotals,
}

impl Totals {
    /// Sums up a cluster.
    pub(crate) fn of(cluster: &Cluster) -> Totals {
        let score = Board::new(cluster, &cluster.all_nodes()).score();
        let mut totals = Totals { score, ..Totals::default() };
        cluster.nodes.iter().for_each(|node| totals.add(node));
        totals
    }

    fn add(&mut self, Node { spec, state }: &Node) {
        let ledger = &state.ledger;
        self.nodes += 1;
        self.instances += state.primaries.len();

        let unallocated = ledger.mem_unallocated(spec);
        self.memory.add(spec.mem_total, ledger.mem_instances, unallocated, ledger.mem_available(spec));
        self.memory_overhead += i128::from((spec.mem_unaccounted + spec.mem_node).0);

        let disk = ledger.disk_free;
        let used = Mib(trunc_to_i64(spec.disk_total)) - disk;
        // Compare before subtracting, because an absurd --min-disk wraps.
        let available = if disk < spec.disk_low { Mib::ZERO } else { disk - spec.disk_low };
        self.disk.add(spec.disk_total, used, disk, available);

        self.cpus.physical += spec.cpu_total;
        self.cpus.allowed += i128::from(floor_to_i64(spec.vcpu_ratio * spec.cpu_total));
        self.cpus.used += i128::from(ledger.vcpus);
        self.cpus.used_physical += ledger.vcpus as f64 / spec.vcpu_ratio;

        self.spindles.total += i128::from(spec.spindle_total);
        self.spindles.free += i128::from(ledger.spindles_free);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::merge::{NodeOptions, apply_node_options};
    use htools_testkit::cluster;

    fn pair() -> Cluster {
        let nodes = ["a|4000|500|2500|9000|8000|4|M|u|2", "b|4000|500|3500|9000.5|8000|4|Y|u|3"];
        let instances = ["x|1000|1000|2|running|Y|a|b|drbd||1", "y|300|500|1|running|Y|b||ext||1|1|Y"];
        cluster(&nodes, &instances, &[])
    }

    #[test]
    fn every_node_counts_and_forthcoming_instances_do_not() {
        let totals = Totals::of(&pair());
        assert_eq!((totals.nodes, totals.instances), (2, 1));
        let memory = totals.memory;
        assert_eq!((memory.total, memory.used, memory.free), (8000.0, 1000, 6000));
        assert_eq!((memory.available, memory.reserved()), (5000, 1000));
        assert_eq!((memory.most_available, totals.memory_overhead), (Mib(2500), 1000));
        assert_eq!(memory.efficiency(), 0.125);
        let disk = totals.disk;
        assert_eq!((disk.total, disk.used, disk.free, disk.available), (18000.5, 2000, 16000, 16000));
        assert_eq!((totals.cpus.physical, totals.cpus.allowed, totals.cpus.used), (8.0, 32, 4));
        assert_eq!((totals.cpus.used_physical, totals.cpus.efficiency()), (1.0, 0.125));
        assert_eq!((totals.spindles.total, totals.spindles.used()), (5, 5));
        assert_eq!(totals.spindles.efficiency(), 1.0);
    }

    #[test]
    fn settings_of_the_command_line_count() {
        let mut cluster = pair();
        let options = NodeOptions { max_cpu: Some(1.6), min_disk: 0.9, ..NodeOptions::default() };
        apply_node_options(&mut cluster, &options).unwrap();
        let totals = Totals::of(&cluster);
        assert_eq!((totals.cpus.allowed, totals.cpus.used_physical), (12, 2.5));
        assert_eq!((totals.disk.available, totals.disk.reserved()), (0, 16000));
    }

    #[test]
    fn nothing_at_all() {
        let totals = Totals::of(&cluster(&[], &[], &[]));
        assert_eq!((totals.nodes, totals.score), (0, 0.0));
        assert!(totals.memory.efficiency().is_nan() && totals.cpus.efficiency().is_nan());
        assert!(totals.spindles.efficiency().is_nan());
    }
}
