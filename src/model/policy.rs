//! Instance policies: what sizes a group accepts, and how far it over-commits.

use super::kinds::DiskTemplate;
use super::units::Mib;

/// The size of one instance, as policies state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceSpec {
    /// Memory.
    pub memory: Mib,
    /// Virtual CPUs.
    pub cpus: i64,
    /// Size of one disk.
    pub disk_size: Mib,
    /// Number of disks.
    pub disk_count: i64,
    /// Number of network interfaces.
    pub nic_count: i64,
    /// Weight on the node's spindles.
    pub spindle_use: i64,
}

/// A range of instance sizes: at least `min`, at most `max`, in every dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecRange {
    /// Lower bounds.
    pub min: InstanceSpec,
    /// Upper bounds.
    pub max: InstanceSpec,
}

/// A group's (or the cluster's) instance policy.
#[derive(Debug, Clone, PartialEq)]
pub struct InstancePolicy {
    /// Accepted sizes: one of these ranges must hold. Empty: every size.
    pub ranges: Vec<SpecRange>,
    /// The standard instance.
    pub std: InstanceSpec,
    /// Accepted disk templates, in the order of the source.
    pub disk_templates: Vec<DiskTemplate>,
    /// Most virtual CPUs per physical CPU.
    pub vcpu_ratio: f64,
    /// Most spindle weight per spindle.
    pub spindle_ratio: f64,
}

impl Default for InstancePolicy {
    /// Ganeti's built-in policy, used where the source gives none.
    fn default() -> Self {
        let min = InstanceSpec {
            memory: Mib(128),
            cpus: 1,
            disk_size: Mib(1024),
            disk_count: 1,
            nic_count: 1,
            spindle_use: 1,
        };
        let max = InstanceSpec {
            memory: Mib(32768),
            cpus: 8,
            disk_size: Mib(1_048_576),
            disk_count: 16,
            nic_count: 8,
            spindle_use: 12,
        };
        InstancePolicy {
            ranges: vec![SpecRange { min, max }],
            std: min,
            disk_templates: DiskTemplate::ALL.to_vec(),
            vcpu_ratio: 4.0,
            spindle_ratio: 32.0,
        }
    }
}
