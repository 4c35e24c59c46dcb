//! What the names of capacities mean: the one place that knows what Ganeti calls them, and Pacemaker's users.

use super::index::AttributeIdx;
use super::working_set::WorkingSet;

/// What nodes and instances of Ganeti are measured in.
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
    /// The names of the attributes that mean it: first the one that a Ganeti cluster gets, then what resource agents and
    /// people call it.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            MeasuredCapacity::Memory => &["memory", "hv_memory", "host_memory", "mem", "ram"],
            MeasuredCapacity::Disk => &["disk"],
            MeasuredCapacity::Vcpus => &["vcpus", "cpu", "cpus", "vcpu", "cores"],
        }
    }

    /// The attribute that means it in a cluster: of several, the first that a resource needs, or else that a host has.
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
