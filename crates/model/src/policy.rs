//! Instance policies: the sizes that a group accepts, and the ratios up to which it over-commits.

use super::failure::FailKind;
use super::instance::Instance;
use super::kinds::DiskTemplate;
use super::units::Mib;

/// The size of one instance, as policies state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    /// Maximum virtual CPUs per physical CPU.
    pub vcpu_ratio: f64,
    /// Maximum spindle weight per spindle.
    pub spindle_ratio: f64,
}

impl Default for InstancePolicy {
    /// Ganeti's built-in policy, used if the source gives none.
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

/// Part of a policy that an instance breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyBreach {
    /// Memory outside the first range.
    Memory {
        /// Memory of the instance.
        found: Mib,
        /// Accepted range.
        range: (Mib, Mib),
    },
    /// The size of a disk outside the first range.
    DiskSize {
        /// Size of the disk.
        found: Mib,
        /// Accepted range.
        range: (Mib, Mib),
    },
    /// Virtual CPUs outside the first range.
    Cpus {
        /// Virtual CPUs of the instance.
        found: i64,
        /// Accepted range.
        range: (i64, i64),
    },
    /// Spindles (or, without exclusive storage, spindle weight) outside the first range.
    Spindles {
        /// Spindles of the instance, if known.
        found: Option<i64>,
        /// Accepted range.
        range: (i64, i64),
    },
    /// The number of disks outside the first range.
    DiskCount {
        /// Number of disks of the instance.
        found: i64,
        /// Accepted range.
        range: (i64, i64),
    },
    /// A disk template that the policy does not list.
    Template(DiskTemplate),
}

impl PolicyBreach {
    /// The kind under which the refusal is counted.
    pub fn kind(self) -> FailKind {
        match self {
            PolicyBreach::Memory { .. } => FailKind::Mem,
            PolicyBreach::DiskSize { .. } | PolicyBreach::Template(_) => FailKind::Disk,
            PolicyBreach::Cpus { .. } => FailKind::Cpu,
            PolicyBreach::Spindles { .. } => FailKind::Spindles,
            PolicyBreach::DiskCount { .. } => FailKind::DiskCount,
        }
    }
}

/// Side of a range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Min,
    Max,
}

impl SpecRange {
    /// Checks that an instance is within the range: first all lower bounds, then the upper bounds.
    fn admits(&self, instance: &Instance, exclusive_storage: bool) -> Result<(), PolicyBreach> {
        self.admits_side(instance, exclusive_storage, Bound::Min)?;
        self.admits_side(instance, exclusive_storage, Bound::Max)
    }

    fn admits_side(
        &self,
        instance: &Instance,
        exclusive_storage: bool,
        bound: Bound,
    ) -> Result<(), PolicyBreach> {
        let (min, max) = (&self.min, &self.max);
        let outside = |found: i64, min: i64, max: i64| match bound {
            Bound::Min => found < min,
            Bound::Max => found > max,
        };
        let check = |broken: bool, breach: PolicyBreach| if broken { Err(breach) } else { Ok(()) };

        let mem = instance.mem;
        let breach = PolicyBreach::Memory { found: mem, range: (min.memory, max.memory) };
        check(outside(mem.0, min.memory.0, max.memory.0), breach)?;
        for disk in &instance.disks {
            let range = (min.disk_size, max.disk_size);
            let breach = PolicyBreach::DiskSize { found: disk.size, range };
            check(outside(disk.size.0, range.0.0, range.1.0), breach)?;
        }
        let cpus = (min.cpus, max.cpus);
        let breach = PolicyBreach::Cpus { found: instance.vcpus, range: cpus };
        check(outside(instance.vcpus, cpus.0, cpus.1), breach)?;

        let found = if exclusive_storage { instance.spindles } else { Some(instance.spindle_use) };
        let range = (min.spindle_use, max.spindle_use);
        let breach = PolicyBreach::Spindles { found, range };
        check(found.is_none_or(|n| outside(n, range.0, range.1)), breach)?;

        let (found, range) = (instance.disks.len() as i64, (min.disk_count, max.disk_count));
        let diskless = instance.template == DiskTemplate::Diskless;
        let breach = PolicyBreach::DiskCount { found, range };
        check(!diskless && outside(found, range.0, range.1), breach)
    }
}

impl InstancePolicy {
    /// Checks that the policy accepts an instance on a node with or without exclusive storage. The number of network
    /// interfaces is not checked.
    ///
    /// # Errors
    /// The breach of the first range if no range admits the instance, or else a template that is not listed.
    pub fn accepts(&self, instance: &Instance, exclusive_storage: bool) -> Result<(), PolicyBreach> {
        let mut first = None;
        let fits = self.ranges.iter().any(|range| {
            let verdict = range.admits(instance, exclusive_storage);
            if let Err(breach) = verdict {
                first.get_or_insert(breach);
            }
            verdict.is_ok()
        });
        match first {
            Some(breach) if !fits => Err(breach),
            _ if self.disk_templates.contains(&instance.template) => Ok(()),
            _ => Err(PolicyBreach::Template(instance.template)),
        }
    }
}
