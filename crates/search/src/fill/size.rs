//! Sizes of the instances with which a cluster is filled.

use super::FillSettings;
use htools_model::units::floor_to_i64;
use htools_model::{Cluster, Disk, FailKind, Instance, InstanceDetails, Mib, Node};

/// The size of an instance with one disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size {
    /// Memory in MiB.
    pub memory: Mib,
    /// Size of the disk in MiB.
    pub disk: Mib,
    /// Virtual CPUs.
    pub vcpus: i64,
    /// Number of physical spindles of the disk.
    pub spindles: i64,
}

/// Amount by which memory shrinks at a time.
const MEMORY_UNIT: Mib = Mib(64);
/// Amount by which the disk shrinks at a time.
const DISK_UNIT: Mib = Mib(256);

impl Size {
    /// The size with one unit less of the resource that `kind` names; `None` if it cannot shrink further.
    pub fn shrunk(self, kind: FailKind) -> Option<Size> {
        match kind {
            FailKind::Mem => {
                let memory = self.memory - MEMORY_UNIT;
                (memory >= MEMORY_UNIT).then_some(Size { memory, ..self })
            }
            FailKind::Disk => {
                let disk = self.disk - DISK_UNIT;
                (disk >= DISK_UNIT).then_some(Size { disk, ..self })
            }
            FailKind::Cpu => {
                let vcpus = self.vcpus.wrapping_sub(1);
                (vcpus >= 1).then_some(Size { vcpus, ..self })
            }
            FailKind::Spindles => {
                let spindles = self.spindles.wrapping_sub(1);
                (spindles >= 1).then_some(Size { spindles, ..self })
            }
            FailKind::N1 | FailKind::Tags | FailKind::Mig | FailKind::DiskCount | FailKind::Internal => None,
        }
    }

    /// The smallest of the sizes reached by shrinking for one reason that is at least `least` and can still
    /// shrink itself.
    pub(super) fn least_shrunk(self, kind: FailKind, least: i64) -> Option<Size> {
        let (amount, unit) = match kind {
            FailKind::Mem => (self.memory.0, MEMORY_UNIT.0),
            FailKind::Disk => (self.disk.0, DISK_UNIT.0),
            FailKind::Cpu => (self.vcpus, 1),
            FailKind::Spindles => (self.spindles, 1),
            FailKind::N1 | FailKind::Tags | FailKind::Mig | FailKind::DiskCount | FailKind::Internal => {
                return None;
            }
        };
        let spare = amount.checked_sub(least.max(2 * unit))?;
        let amount = amount - spare.div_euclid(unit) * unit;
        (spare >= 0).then_some(match kind {
            FailKind::Mem => Size { memory: Mib(amount), ..self },
            FailKind::Disk => Size { disk: Mib(amount), ..self },
            FailKind::Cpu => Size { vcpus: amount, ..self },
            _ => Size { spindles: amount, ..self },
        })
    }

    /// A new instance of this size, with `number` in its name.
    pub(super) fn instance(self, settings: &FillSettings, number: usize) -> Instance {
        Instance::from(InstanceDetails {
            mem: self.memory,
            disk: self.disk,
            disks: [Disk { size: self.disk, spindles: Some(self.spindles) }].into(),
            spindles: Some(self.spindles),
            vcpus: self.vcpus,
            spindle_use: settings.spindle_use,
            ..InstanceDetails::blank(format!("new-{number}"), settings.template)
        })
    }
}

/// For each resource, the largest amount to which sizes are compared. A size beyond it is too large by any
/// amount.
#[derive(Debug, Clone, Copy)]
pub(super) struct Thresholds {
    memory: i64,
    disk: i64,
    vcpus: i64,
    spindles: i64,
}

impl Thresholds {
    /// The thresholds of a cluster. Filling only lowers the resources of nodes.
    pub(super) fn of(cluster: &Cluster) -> Thresholds {
        let mut all = Thresholds { memory: 0, disk: 0, vcpus: 0, spindles: 0 };
        for range in cluster.groups.iter().flat_map(|g| &g.policy.ranges) {
            for spec in [&range.min, &range.max] {
                all.raise(spec.memory.0, spec.disk_size.0, spec.cpus, spec.spindle_use);
            }
        }
        // Under a policy with ranges, a size beyond all of them is refused whatever the nodes have.
        let unlimited = |n: &&Node| cluster.group(n.spec.group).policy.ranges.is_empty();
        for Node { spec, state } in cluster.nodes.iter().filter(unlimited) {
            let ledger = &state.ledger;
            let memory =
                ledger.mem_unallocated(spec).max(ledger.mem_free_planned).max(spec.mem_for_instances());
            let disk = ledger.disk_free.max(ledger.disk_free_planned);
            let vcpus = floor_to_i64(spec.vcpu_ratio * spec.cpu_total);
            let spindles = ledger.spindles_free.max(ledger.spindles_free_planned);
            all.raise(memory.0, disk.0, vcpus, spindles);
        }
        all
    }

    fn raise(&mut self, memory: i64, disk: i64, vcpus: i64, spindles: i64) {
        self.memory = self.memory.max(memory);
        self.disk = self.disk.max(disk);
        self.vcpus = self.vcpus.max(vcpus);
        self.spindles = self.spindles.max(spindles);
    }

    /// Number of times that a size can shrink and still be beyond all limits.
    pub(super) fn idle_steps(&self, size: Size, kind: FailKind) -> i64 {
        let (amount, unit, threshold) = match kind {
            FailKind::Mem => (size.memory.0, MEMORY_UNIT.0, self.memory),
            FailKind::Disk => (size.disk.0, DISK_UNIT.0, self.disk),
            FailKind::Cpu => (size.vcpus, 1, self.vcpus),
            FailKind::Spindles => (size.spindles, 1, self.spindles),
            FailKind::N1 | FailKind::Tags | FailKind::Mig | FailKind::DiskCount | FailKind::Internal => {
                return 0;
            }
        };
        (amount.saturating_sub(threshold).saturating_sub(1) / unit).max(0)
    }

    /// The size after shrinking several times, at most [`idle_steps`](Self::idle_steps).
    pub(super) fn shrunk_by(&self, size: Size, kind: FailKind, steps: i64) -> Size {
        match kind {
            FailKind::Mem => Size { memory: size.memory - Mib(steps * MEMORY_UNIT.0), ..size },
            FailKind::Disk => Size { disk: size.disk - Mib(steps * DISK_UNIT.0), ..size },
            FailKind::Cpu => Size { vcpus: size.vcpus - steps, ..size },
            FailKind::Spindles => Size { spindles: size.spindles - steps, ..size },
            FailKind::N1 | FailKind::Tags | FailKind::Mig | FailKind::DiskCount | FailKind::Internal => size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_least_size_is_the_last_on_the_way_down(amount in -3i64..3000, least in -100i64..3000) {
            let size = Size { memory: Mib(amount), disk: Mib(amount), vcpus: amount, spindles: amount };
            for kind in FailKind::ALL.iter().copied() {
                let amount_of = |size: &Size| match kind {
                    FailKind::Mem => size.memory.0,
                    FailKind::Disk => size.disk.0,
                    FailKind::Cpu => size.vcpus,
                    _ => size.spindles,
                };
                let way = std::iter::successors(Some(size), |size| size.shrunk(kind));
                let last = way.filter(|size| size.shrunk(kind).is_some() && amount_of(size) >= least).last();
                prop_assert_eq!(size.least_shrunk(kind, least), last);
            }
        }
    }
}
