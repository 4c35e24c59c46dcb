//! Number and size of the instances for which room is kept.

use crate::cluster::Cluster;
use crate::instance::{Disk, Instance, InstanceDetails};
use crate::kinds::DiskTemplate;
use crate::units::Mib;

/// Size of the instances for which room is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RoomSize {
    /// Memory.
    pub memory: Mib,
    /// Size of its only disk.
    pub disk: Mib,
    /// Virtual CPUs.
    pub vcpus: i64,
    /// Physical spindles of the disk, and weight on the spindles of a node.
    pub spindles: i64,
    /// Disk template.
    pub template: DiskTemplate,
}

/// Number and size of the instances for which room is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WantedRoom {
    /// Size of each instance.
    pub size: RoomSize,
    /// Number of instances, from 1 to [`WantedRoom::MOST`].
    pub count: i64,
}

/// Room as it is asked for. The rest comes from the cluster's policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RoomRequest {
    /// Memory of each instance.
    pub memory: Mib,
    /// Size of its disk; none for the standard size of the policy.
    pub disk: Option<Mib>,
    /// Its virtual CPUs; none for the standard number of the policy.
    pub vcpus: Option<i64>,
    /// Its disk template; none for that of most instances, or the first of the policy.
    pub template: Option<DiskTemplate>,
    /// Number of instances, from 1 to [`WantedRoom::MOST`].
    pub count: i64,
}

impl RoomRequest {
    /// The request completed from a cluster and its policy. A policy without disk templates means plain disks.
    pub fn on(&self, cluster: &Cluster) -> WantedRoom {
        let policy = &cluster.policy;
        let used = |template: &DiskTemplate| {
            cluster.instances.iter().filter(|instance| instance.template == *template).count()
        };
        // Of equally frequent templates, the first one of the policy is taken.
        let first = policy.disk_templates.iter().copied().rev().max_by_key(used);
        let size = RoomSize {
            memory: self.memory,
            disk: self.disk.unwrap_or(policy.std.disk_size),
            vcpus: self.vcpus.unwrap_or(policy.std.cpus),
            spindles: policy.std.spindle_use,
            template: self.template.or(first).unwrap_or(DiskTemplate::Plain),
        };
        WantedRoom { size, count: self.count }
    }
}

impl WantedRoom {
    /// Largest number of instances for which room can be kept.
    pub const MOST: i64 = 10_000;
}

impl RoomSize {
    /// Instances of this size as one; amounts are limited to the range of 64 bits.
    pub fn together(&self, count: i64) -> Instance {
        let times = |amount: i64| amount.saturating_mul(count);
        let (disk, spindles) = (Mib(times(self.disk.0)), Some(times(self.spindles)));
        Instance::from(InstanceDetails {
            mem: Mib(times(self.memory.0)),
            disk,
            disks: [Disk { size: disk, spindles }].into(),
            spindles,
            vcpus: times(self.vcpus),
            spindle_use: times(self.spindles),
            ..InstanceDetails::blank("room".to_owned(), self.template)
        })
    }
}
