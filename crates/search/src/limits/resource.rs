//! Resources of which every node has a limited amount: what nodes offer, and what the instances need.

use htools_model::{Instance, NodeSpec};

/// A resource of nodes. A placement fits only if the instances on each node need no more than it offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    /// Memory in MiB. Reserves for DRBD instances do not count.
    Memory,
    /// Virtual CPUs by the ratio of the policy.
    Cpus,
    /// Weight on the spindles by the ratio of the policy.
    Spindles,
}

/// More virtual CPUs than any node has.
const MOST_CPUS: i64 = 1 << 50;

/// More spindle weight than any node has; up to this, sums are exact.
pub(crate) const PLAUSIBLE_SPINDLES: f64 = (1u64 << 40) as f64;

impl Resource {
    /// The amount that an instance needs on one of its nodes.
    pub(crate) fn taken(self, instance: &Instance, secondary: bool) -> i64 {
        let is_stored = instance.template.uses_local_storage() && !instance.forthcoming;
        match self {
            Resource::Memory if !secondary => instance.mem_in_use().0,
            Resource::Cpus if !secondary => instance.vcpus_in_use(),
            Resource::Spindles if is_stored => instance.spindle_use,
            _ => 0,
        }
    }

    /// The amount that a node offers to all its instances. It means nothing if the node has no such limit.
    pub(crate) fn offered(self, spec: &NodeSpec) -> i128 {
        match self {
            // On every node, one MiB must stay free.
            Resource::Memory => i128::from(spec.mem_for_instances().0) - 1,
            Resource::Cpus => {
                let (mut below, mut above) = (-MOST_CPUS, MOST_CPUS);
                while below + 1 < above {
                    let middle = below + (above - below) / 2;
                    if spec.exceeds_cpu_ratio(middle) { above = middle } else { below = middle }
                }
                i128::from(below) - i128::from(spec.cpu_node)
            }
            // Weights are whole numbers.
            Resource::Spindles => spec.spindle_limit.floor() as i128,
        }
    }
}

/// Returns false without a ratio, or with absurd numbers of CPUs: then any number of virtual CPUs may be accepted.
pub(crate) fn has_cpu_limit(spec: &NodeSpec) -> bool {
    spec.cpu_total > 0.0 && spec.exceeds_cpu_ratio(MOST_CPUS)
}

/// The greatest common divisor, or the other number if one is 0.
pub(crate) fn common_divisor(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
