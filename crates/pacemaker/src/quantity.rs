//! Meaning of capacity names. Only this module knows the names used by Ganeti and by users of Pacemaker.

use super::index::AttributeIdx;
use super::working_set::WorkingSet;

/// Capacities in which Ganeti measures nodes and instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasuredCapacity {
    /// Memory, in MiB.
    Memory,
    /// Disk, in MiB.
    Disk,
    /// Virtual CPUs.
    Vcpus,
}

impl MeasuredCapacity {
    /// Names of the attributes with this meaning: first the one given to a Ganeti cluster, then those used by resource
    /// agents and people.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            MeasuredCapacity::Memory => &["memory", "hv_memory", "host_memory", "mem", "ram"],
            MeasuredCapacity::Disk => &["disk"],
            MeasuredCapacity::Vcpus => &["vcpus", "cpu", "cpus", "vcpu", "cores"],
        }
    }

    /// The attribute with this meaning in a cluster. Of several, the first that a resource needs is taken, or else the
    /// first.
    pub fn attribute(self, set: &WorkingSet) -> Option<AttributeIdx> {
        let named = |name: &&str| {
            let at = set.attributes.iter().position(|attribute| attribute == name);
            at.map(AttributeIdx::new)
        };
        let known: Vec<AttributeIdx> = self.names().iter().filter_map(named).collect();
        let is_needed =
            |kind: &AttributeIdx| set.resources.iter().any(|resource| resource.utilization.get(*kind) != 0);
        known.iter().copied().find(is_needed).or(known.first().copied())
    }
}
