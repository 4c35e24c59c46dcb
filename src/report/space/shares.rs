//! Division of a cluster's capacity: in use, available to new instances, and unusable.

use super::Totals;
use crate::model::Mib;
use crate::model::units::trunc_to_i64;

/// A share of the capacity. The three shares add up to the whole, truncated to whole MiB; whole numbers wrap at 64
/// bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CapacityShare {
    /// Virtual CPUs out of those that are allowed.
    pub vcpus: i64,
    /// The corresponding number of physical CPUs.
    pub cpus: f64,
    pub memory: Mib,
    pub disk: Mib,
    pub spindles: i64,
}

impl CapacityShare {
    /// The share in use.
    pub(crate) fn used(totals: &Totals) -> CapacityShare {
        CapacityShare {
            vcpus: totals.cpus.used as i64,
            cpus: totals.cpus.used_physical,
            memory: Mib(totals.memory.used as i64),
            disk: Mib(totals.disk.used as i64),
            spindles: totals.spindles.used() as i64,
        }
    }

    fn capacity(totals: &Totals) -> CapacityShare {
        CapacityShare {
            vcpus: totals.cpus.allowed as i64,
            cpus: totals.cpus.physical,
            memory: Mib(trunc_to_i64(totals.memory.total)),
            disk: Mib(trunc_to_i64(totals.disk.total)),
            spindles: totals.spindles.total as i64,
        }
    }

    fn minus(self, other: CapacityShare) -> CapacityShare {
        CapacityShare {
            vcpus: self.vcpus.wrapping_sub(other.vcpus),
            cpus: self.cpus - other.cpus,
            memory: self.memory - other.memory,
            disk: self.disk - other.disk,
            spindles: self.spindles.wrapping_sub(other.spindles),
        }
    }

    /// The share available to new instances: the difference in use between two states.
    pub(crate) fn pool(before: &Totals, after: &Totals) -> CapacityShare {
        CapacityShare::used(after).minus(CapacityShare::used(before))
    }

    /// The share that is left over when no more instances fit.
    pub(crate) fn unavailable(after: &Totals) -> CapacityShare {
        CapacityShare::capacity(after).minus(CapacityShare::used(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htools_testkit::cluster;

    #[test]
    fn the_three_shares_are_the_capacity() {
        let nodes = ["a|4000|500|3500|9000.5|9000|4|M|u|2", "b|4000.5|500|3500|9000|9000|4|N|u|3"];
        let state = |instances: &[&str]| Totals::of(&cluster(&nodes, instances, &[]));
        let (before, after) = (state(&[]), state(&["x|1000|1000|2|running|Y|a|b|drbd||1"]));
        let (used, pool) = (CapacityShare::used(&before), CapacityShare::pool(&before, &after));
        assert_eq!((used.vcpus, used.cpus, used.memory, used.spindles), (2, 0.5, Mib::ZERO, 5));
        assert_eq!((pool.vcpus, pool.cpus, pool.memory, pool.spindles), (2, 0.5, Mib(1000), 0));
        let rest = CapacityShare::unavailable(&after);
        assert_eq!((rest.vcpus, rest.cpus, rest.memory, rest.spindles), (28, 7.0, Mib(7000), 0));
        assert_eq!(used.disk + pool.disk + rest.disk, Mib(18000));
    }
}
